"""The places of an engine: each gives one answer at a time, and remembers what it has read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock

from specchat_engine import Engine, Session
from specchat_engine.errors import EngineError
from specchat_engine.prompt.encoding import common_prefix

_GOES_ON = 0.5
"""A prompt that keeps at least this share of what a place has read goes on with it."""


class _Place:
    """A session, and the tokens in its memory as far as they are known."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.tokens: Sequence[int] = ()


class Places:
    """All places of an engine. Any thread may take one."""

    def __init__(self, engine: Engine, *, measures_plain: bool = False) -> None:
        """With `measures_plain` the next answer waits until some plain passes were timed."""
        sessions = [engine.session(seed=0, place=number) for number in range(engine.options.parallel)]
        for session in sessions:
            session.measures_plain = measures_plain
        self.any = sessions[0]
        self.count = len(sessions)
        self._free = [_Place(session) for session in sessions]
        self._guard = Lock()

    @contextmanager
    def taken(self, prompt: Sequence[int]) -> Iterator[Session]:
        """The session of a place, which nobody else has meanwhile. Somebody has to make sure that one is free.

        It is the one that keeps most of this prompt, if the prompt goes on with what it has read. Else it is the one
        that was not used for longest, so that no other conversation has to be read again. After an error that the
        engine did not foresee its memory is emptied.
        """
        place = self._take(prompt)
        place.tokens = ()
        session = place.session
        try:
            yield session
            place.tokens = (*session.prompt_ids, *session.answer_ids)
        except (EngineError, OSError):
            raise
        except Exception:
            with session.pair.lock, suppress(EngineError):
                session.pair.clear()
            raise
        finally:
            with self._guard:
                self._free.append(place)

    def _take(self, prompt: Sequence[int]) -> _Place:
        with self._guard:
            shared = {place: common_prefix(place.tokens, prompt) for place in self._free}
            going_on = [place for place in self._free if shared[place] > _GOES_ON * len(place.tokens)]
            place = max(going_on, key=lambda candidate: shared[candidate], default=self._free[0])
            self._free.remove(place)
            return place
