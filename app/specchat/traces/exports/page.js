// The page around the player: draws a turn once, then shows and hides its rounds.
if (typeof document !== "undefined") (() => {
  const { turns, images } = JSON.parse(document.getElementById("data").textContent);
  const element = (id) => document.getElementById(id);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const now = () => performance.now() / 1000;
  const VIEWS = ["trace", "coloured", "clean"];
  const GLYPHS = { "●": "accepted", "○": "rejected", "·": "discarded", "◆": "correction", "◇": "bonus", "□": "plain" };

  let turn, sums, head, shown, follows, spans, words;

  function made(name, kind, text) {
    const node = document.createElement(name);
    if (kind) node.className = kind;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  function open(index) {
    turn = turns[index];
    sums = Player.totals(turn.rounds);
    const length = Player.duration(turn.rounds);
    head = Player.stopped(length, Player.easySpeed(length));
    element("turn").value = index;
    element("pair").textContent = [turn.pair, turn.rule].filter(Boolean).join(" · ");
    element("question").textContent = turn.question;
    element("question").hidden = !turn.question;
    element("images").replaceChildren(...turn.images.map(image));
    element("images").hidden = !turn.images.length;
    element("figures").textContent = turn.figures;
    element("ending").textContent = [turn.ending, turn.error].filter(Boolean).join(": ");
    element("place").max = length;
    element("speed").value = head.speed;
    spans = turn.rounds.map((round) => answerSpan(round.pieces));
    words = turn.rounds.map(ribbonWord);
    element("answer").replaceChildren(answerSpan(turn.given), ...spans);
    element("ribbon").replaceChildren(...words);
    shown = spans.length;
    follows = false;
    draw();
  }

  function image(sha256) {
    const name = `image ${sha256.slice(0, 12)}`;
    if (!images[sha256]) return made("span", "", `[${name}]`);
    const node = made("img");
    node.src = images[sha256];
    node.alt = name;
    return node;
  }

  // A stroke and an underline begin at the word: the space before it stands outside of them.
  function answerSpan(pieces) {
    const span = made("span");
    for (const [ink, text] of pieces) {
      const piece = made(ink === "rejected" || ink === "discarded" ? "del" : "span");
      const word = text.trimStart();
      piece.append(text.slice(0, text.length - word.length), made("span", word === "⋯" ? `${ink} fold` : ink, word));
      span.append(piece);
    }
    return span;
  }

  function ribbonWord(round, index) {
    const word = made("span");
    word.dataset.round = index;
    for (const [glyph, count] of Player.runs(round.word)) {
      word.append(made("b", GLYPHS[glyph], glyph.repeat(count)));
    }
    return word;
  }

  function draw() {
    const place = Player.position(head, now());
    if (head.playing && place >= head.duration) {
      head = Player.paused(head, now());
      announce("End");
    }
    show(Player.due(turn.rounds, place));
    element("place").value = place;
    element("clock").textContent = `${Player.seconds(place, head.duration)} / ${Player.seconds(head.duration, head.duration)} s`;
    element("place").setAttribute("aria-valuetext", `round ${shown} of ${spans.length}, ${place.toFixed(2)} seconds`);
    element("play").textContent = head.playing ? "Pause" : place >= head.duration ? "Replay" : "Play";
    if (head.playing) requestAnimationFrame(draw);
  }

  function show(count) {
    for (let index = Math.min(shown, count); index < Math.max(shown, count); index += 1) {
      spans[index].classList.toggle("ahead", index >= count);
      words[index].classList.toggle("ahead", index >= count);
    }
    if (words[shown - 1]) words[shown - 1].classList.remove("present");
    shown = count;
    const last = words[shown - 1];
    if (last) {
      last.classList.add("present");
      element("ribbon").scrollTop = last.offsetTop - element("ribbon").clientHeight + last.offsetHeight;
      if (follows) spans[shown - 1].scrollIntoView({ block: "nearest" });
    } else {
      element("ribbon").scrollTop = 0;
    }
    const summary = last && Player.roundSummary(turn.rounds[shown - 1], shown - 1, spans.length);
    element("round-summary").textContent = summary || "before the first round";
    element("ending").hidden = shown < spans.length || !element("ending").textContent;
    drawFigures(Player.figures(sums, shown));
  }

  function drawFigures(figures) {
    element("tokens-per-second").textContent = Player.speedText(figures.speed);
    element("acceptance-rate").textContent = Player.percent(figures.rate);
    element("alpha").textContent = Player.number(figures.alpha, 2);
    element("tau").textContent = Player.number(figures.tau, 2);
    element("tokens").textContent = figures.tokens;
    element("rounds").textContent = figures.rounds;
  }

  function announce(word) {
    element("status").textContent = `${word}: round ${Player.due(turn.rounds, Player.position(head, now()))} of ${spans.length}`;
  }

  function toggle() {
    const starts = !head.playing;
    head = starts ? Player.played(head, now()) : Player.paused(head, now());
    follows = starts && !calm.matches;
    draw();
    announce(starts ? "Playing" : "Paused");
  }

  function seek(seconds) {
    head = Player.sought(head, seconds, now());
    if (!head.playing) draw();
  }

  function step(rounds) {
    head = Player.paused(head, now());
    const count = Player.due(turn.rounds, Player.position(head, now())) + rounds;
    seek(Player.at(turn.rounds, Math.min(Math.max(count, 0), spans.length)));
    announce("Paused");
  }

  function setSpeed(speed) {
    head = Player.atSpeed(head, speed, now());
    element("speed").value = speed;
  }

  function faster(steps) {
    const place = Player.SPEEDS.indexOf(head.speed) + steps;
    setSpeed(Player.SPEEDS[Math.min(Math.max(place, 0), Player.SPEEDS.length - 1)]);
    announce(`Speed ${Player.factor(head.speed)}`);
  }

  function setView(view) {
    element("answer").dataset.view = view;
    document.querySelector(`input[value="${view}"]`).checked = true;
  }

  function openNext(steps) {
    open(Math.min(Math.max(turns.indexOf(turn) + steps, 0), turns.length - 1));
    announce(`Turn ${turns.indexOf(turn) + 1}`);
  }

  const KEYS = {
    " ": toggle,
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    Home: () => seek(0),
    End: () => seek(head.duration),
    "+": () => faster(1),
    "=": () => faster(1),
    "-": () => faster(-1),
    v: () => setView(VIEWS[(VIEWS.indexOf(element("answer").dataset.view) + 1) % VIEWS.length]),
    "[": () => openNext(-1),
    "]": () => openNext(1),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(KEYS, event.key)) return;
    if (event.target.closest("select, input[type=radio]") || (event.key === " " && event.target.closest("button"))) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  element("play").addEventListener("click", toggle);
  element("back").addEventListener("click", () => step(-1));
  element("forth").addEventListener("click", () => step(1));
  element("place").addEventListener("input", (event) => seek(Number(event.target.value)));
  element("speed").addEventListener("change", (event) => setSpeed(Number(event.target.value)));
  element("turn").addEventListener("change", (event) => open(Number(event.target.value)));
  element("views").addEventListener("change", (event) => setView(event.target.value));
  element("ribbon").addEventListener("click", (event) => {
    const word = event.target.closest("[data-round]");
    if (word) seek(Player.at(turn.rounds, Number(word.dataset.round) + 1));
  });
  for (const kind of ["wheel", "touchmove"]) {
    addEventListener(kind, () => { follows = false; }, { passive: true });
  }

  for (const speed of Player.SPEEDS) {
    const option = made("option", "", `${Player.factor(speed)} ×`);
    option.value = speed;
    element("speed").append(option);
  }
  turns.forEach((each, index) => {
    const question = each.question.replace(/\s+/g, " ").trim();
    const option = made("option", "", `${index + 1}. ${question.length > 70 ? `${question.slice(0, 69)}…` : question}`);
    option.value = index;
    element("turn").append(option);
  });
  element("turns").hidden = element("turn-keys").hidden = turns.length < 2;
  open(0);
})();
