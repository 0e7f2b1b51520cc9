"use strict";

// What is known of a turn at any moment, as pure functions: page.js draws it, and the tests run it without a page.
const Player = (() => {
  const SPEEDS = [1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8];
  const SHORTEST = 6; // seconds that a turn takes at first, where its own speed would be too quick to be seen

  // Sums over the rounds; the entry at n is what stands when n rounds are done.
  function totals(rounds) {
    const sums = [{ tokens: 0, drafted: 0, accepted: 0, rejected: 0, ms: 0 }];
    for (const round of rounds) {
      const last = sums[sums.length - 1];
      sums.push({
        tokens: last.tokens + round.emitted,
        drafted: last.drafted + round.drafted,
        accepted: last.accepted + round.accepted,
        rejected: last.rejected + round.rejected,
        ms: last.ms + round.ms.reduce((sum, part) => sum + part, 0),
      });
    }
    return sums;
  }

  // The figures of the first n rounds; null where there is none.
  function figures(sums, n) {
    const { tokens, drafted, accepted, rejected, ms } = sums[n];
    return {
      tokens,
      rounds: n,
      drafted,
      accepted,
      speed: ms > 0 ? (tokens / ms) * 1000 : null,
      rate: drafted ? accepted / drafted : null,
      alpha: accepted + rejected ? accepted / (accepted + rejected) : null,
      tau: n ? tokens / n : null,
    };
  }

  function duration(rounds) {
    return rounds.length ? rounds[rounds.length - 1].t : 0;
  }

  // How many rounds are done after so many seconds.
  function due(rounds, seconds) {
    let low = 0;
    let high = rounds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rounds[middle].t <= seconds) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // When so many rounds are done.
  function at(rounds, n) {
    return n <= 0 || !rounds.length ? 0 : rounds[Math.min(n, rounds.length) - 1].t;
  }

  // The speed at which a short turn can be followed: a factor of SPEEDS, at most 1.
  function easySpeed(seconds) {
    const slow = SPEEDS.filter((speed) => speed <= 1 && seconds / speed >= SHORTEST);
    return slow.length ? slow[slow.length - 1] : SPEEDS[0];
  }

  // Where a replay stands: { duration, speed, playing, place, since }, with `now` in seconds on any clock.
  function position(head, now) {
    if (!head.playing || now <= head.since) return head.place;
    return Math.min(head.place + (now - head.since) * head.speed, head.duration);
  }

  function moved(head, now, changes) {
    return { ...head, place: position(head, now), since: now, ...changes };
  }

  const stopped = (length, speed) => ({ duration: length, speed, playing: false, place: length, since: 0 });
  const paused = (head, now) => moved(head, now, { playing: false });
  const sought = (head, seconds, now) => moved(head, now, { place: Math.min(Math.max(seconds, 0), head.duration) });
  const atSpeed = (head, speed, now) => moved(head, now, { speed });
  const played = (head, now) =>
    moved(head, now, { playing: true, place: position(head, now) >= head.duration ? 0 : position(head, now) });

  // The word of a ribbon in runs of one glyph: "●●○◆" is [["●", 2], ["○", 1], ["◆", 1]].
  function runs(word) {
    const found = [];
    for (const glyph of word) {
      const last = found[found.length - 1];
      if (last && last[0] === glyph) last[1] += 1;
      else found.push([glyph, 1]);
    }
    return found;
  }

  const number = (value, decimals) => (value === null ? "–" : value.toFixed(decimals));
  const percent = (value) => (value === null ? "–" : `${Math.round(value * 100)} %`);
  const speedText = (value) => number(value, value !== null && value >= 100 ? 0 : 1);
  const factor = (speed) => (speed < 1 ? `1/${Math.round(1 / speed)}` : String(speed));
  const seconds = (value, length) => value.toFixed(length < 10 ? 2 : 1);

  // A round in words, for the line under the ribbon and for those who cannot see it.
  function roundSummary(round, index, count) {
    const [draft, verify, back, other] = round.ms;
    const times = [`draft ${number(draft, 1)}`, `verify ${number(verify, 1)}`];
    if (back >= 0.05) times.push(`going back ${number(back, 1)}`);
    times.push(`other ${number(other, 1)}`);
    const total = number(draft + verify + back + other, 1);
    const source = round.drafted ? `drafted by ${round.source}, ${round.accepted} of ${round.drafted} accepted` : "nothing drafted";
    return `round ${index + 1} of ${count} · ${source} · k ${round.k} (${round.reason}) · ${total} ms: ${times.join(", ")}`;
  }

  return {
    SPEEDS, totals, figures, duration, due, at, easySpeed, position, stopped, played, paused, sought, atSpeed,
    runs, number, percent, speedText, factor, seconds, roundSummary,
  };
})();

if (typeof module !== "undefined") module.exports = Player;
