"""One text in a model's memory: the tokens that it has read, and the logits of the last pass."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from time import perf_counter_ns
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import Cancelled, DecodeError, ModelFileError
from specchat_engine.llama.batch import PassPart
from specchat_engine.llama.branches import Fork, TreeSequences
from specchat_engine.llama.hidden import HiddenStates
from specchat_engine.llama.library import api
from specchat_engine.llama.logs import native_log
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext, PassResult
from specchat_engine.llama.rollback import Rollback, probe_rollback
from specchat_engine.llama.swap import Swap
from specchat_engine.llama.vision import Vision
from specchat_engine.load_options import Buffers
from specchat_engine.memory.attention import Attention
from specchat_engine.prompt.encoding import common_prefix
from specchat_engine.prompt.images import ImageRun, outside_images, with_images

_INVALID = -1
"""The code for a batch that was not read at all, so that the memory is unchanged."""

_WIDE = 8
"""From this many tokens on llama.cpp multiplies K-quants in tiles, which gives other bits than fewer tokens do. Where
passes have to be exact, prompts are read in passes that are wider, and answers in narrower ones."""

_MEANINGS = {1: "no room in the memory for the batch", 2: "aborted", -1: "invalid batch"}


Passes = Callable[[NativeContext, Sequence[PassPart]], PassResult]
"""Makes a pass over what one text adds: `NativeContext.compute`, or one that adds the parts of other texts."""


class LlamaContext:
    """One sequence of tokens in a model's memory.

    `tokens` mirrors the memory. `busy_ns` is the total time of all passes, including synchronisation and nothing else.
    `rollback_ns` is the total time of checkpoints, cuts and of reading again what a rollback lost. A pass gives at most
    `max_rows` rows of logits. `can_go_back` is False if tokens can only be dropped by reading again from the start.

    `states`, where they were asked for, are the hidden states of the tokens, which heads draft from. `vision`, where a
    projector was loaded, reads images; `tokens` has other ids for them than a text, see `prompt.images`.
    """

    def __init__(
        self, native: NativeContext, texts: list[LlamaContext] | None = None, passes: Passes = NativeContext.compute
    ) -> None:
        """One more text of a context of llama.cpp; `texts` are those that it has, to which it adds itself. What one of
        them begins with is not read again.

        `passes` makes the passes: alone, or together with those of other texts. Raises ModelFileError if it cannot
        decode.
        """
        self._native = native
        self._texts = [] if texts is None else texts
        self._passes = passes
        self._sequence = len(self._texts)
        self._texts.append(self)
        self.tokens: list[int] = []
        self.busy_ns = self.rollback_ns = 0
        self.user: object = None
        self.states: HiddenStates | None = None
        self.vision: Vision | None = None
        self._images: Sequence[ImageRun] = ()
        self._saved_length = 0
        self._last_image = 0  # where the last image ends, or further on
        self.max_leaves: int
        self.can_go_back: bool
        self._tree: TreeSequences | None = None
        self._fork: Fork | None = None
        self._settle()

    @property
    def length(self) -> int:
        """How many tokens the memory holds."""
        return len(self.tokens)

    @property
    def model(self) -> LlamaModel:
        """The model that reads the text."""
        return self._native.model

    @property
    def handle(self) -> Any:
        """llama.cpp's context, None once it is closed."""
        return self._native.handle

    @property
    def capacity(self) -> int:
        """How many tokens the text may have."""
        return self._native.capacity

    @property
    def attention(self) -> Attention:
        """How attention is computed."""
        return self._native.attention

    @property
    def buffers(self) -> Buffers:
        """The size of llama.cpp's context, all of its texts together."""
        return self._native.buffers

    @property
    def threads(self) -> int:
        """How many threads compute a pass, for all texts; a new number holds from the next pass on."""
        return self._native.threads

    @threads.setter
    def threads(self, count: int) -> None:
        self._native.threads = count

    @property
    def reading_threads(self) -> int:
        """How many threads read a prompt."""
        return self._native.reading_threads

    @reading_threads.setter
    def reading_threads(self, count: int) -> None:
        self._native.reading_threads = count

    @property
    def on_gpu(self) -> bool:
        """Whether all layers are on a GPU."""
        return self.model.on_gpu

    @property
    def goes_back_freely(self) -> bool:
        """Whether any number of tokens can be dropped at no cost."""
        return not self._rollback.bounded

    def exchange(self, model: LlamaModel) -> LlamaModel:
        """Computes with another model of the same sizes from now on, with an empty memory; returns the one before.

        Raises ModelFileError if llama.cpp cannot make its context, and DecodeError once it is closed.
        """
        native = self._native
        native.check_open()
        before = self.model
        self.close()
        try:
            native.open(model)
            self._settle()
        except ModelFileError:
            native.open(before)
            self._settle()
            raise
        return before

    def hand_out(self, layers: Sequence[int]) -> HiddenStates:
        """Keeps the states of these layers from now on; see `HiddenStates`."""
        header, size = self.model.header, self._native.size
        depth = api.llama_model_n_layer(self.model.handle)
        self.states = HiddenStates(self.handle, layers, depth=depth, width=header.width, batch_size=size)
        return self.states

    def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        """Reads tokens after those in memory; logits [rows, V] of the last `rows`, overwritten by the next pass.

        Raises DecodeError if the tokens do not fit or llama.cpp reports a failure; the memory is then as before.
        """
        if rows > self.max_rows:
            raise DecodeError(
                f"{rows} rows of logits were asked for, {self.max_rows} are reserved: load with a larger k"
            )
        if rows > 1 and rows - 1 > self._rollback.reach:
            self.checkpoint()
        size = self._native.size
        while len(tokens) > size:
            self._decode(tokens[:size], 0)
            tokens = tokens[size:]
        return self._decode(tokens, rows)

    def advance_tree(self, token: int, tree: Sequence[int], parents: Sequence[int]) -> NDArray[np.float32]:
        """Reads a token and a tree that follows it; logits [n + 1, V], overwritten by the next pass.

        Raises DecodeError as `advance` does, and for a tree with too many leaves.
        """
        rows, start = len(tree) + 1, self._position(self.length)
        branches = TreeSequences(self._native.memory, start + 1, tree, parents)
        if rows > self.max_rows or branches.count > self.max_leaves:
            raise DecodeError(
                f"a tree of {len(tree)} tokens with {branches.count} leaves: {self.max_rows - 1} tokens and "
                f"{self.max_leaves} leaves are reserved"
            )
        self._check_room(rows)
        branches.open(start)
        self._tree = branches
        positions = [start, *(start + 1 + depth for depth in branches.depths)]
        logits = self._compute(PassPart([token, *tree], positions, rows, [range(branches.count), *branches.members]))
        self.tokens.append(token)
        return logits

    def take(self, path: Sequence[int]) -> None:
        """Keeps this path of the tree that was read last. Raises DecodeError if llama.cpp fails to."""
        self._end_tree(path)

    @property
    def can_fork(self) -> bool:
        """Whether the memory has room for a branch."""
        return self.max_leaves > 1

    def fork(self, length: int) -> None:
        """Begins a branch after the first `length` tokens, in place of the one before.

        Raises DecodeError if the memory holds one continuation alone.
        """
        self._native.check_open()
        if not self.can_fork:
            raise DecodeError(f"{self.model.path.name} cannot hold a branch: use --tree 0 with this model")
        self._end_fork()
        self._fork = Fork(self._native.memory, length)

    def advance_both(self, token: int, other: int) -> NDArray[np.float32]:
        """Reads a token after those in memory, and another one at the end of the branch; logits [2, V].

        Raises DecodeError as `advance` does, and without a branch.
        """
        fork = self._fork
        if fork is None:
            raise DecodeError("there is no branch to read a token of")
        self._check_room(2 + len(fork.tokens))
        logits = self._compute(PassPart([token, other], [self.length, fork.end], 2, [(0,), (1,)]))
        self.tokens.append(token)
        fork.tokens.append(other)
        return logits

    def join(self, text: Sequence[int], known: int = 0) -> None:
        """Ends the branch, and keeps the longest beginning of a text that the memory or the branch agrees with.

        The first `known` tokens do. Raises DecodeError if llama.cpp fails to; the memory is then empty.
        """
        fork, rest, own = self._fork, text[known:], self.tokens[known:]
        if fork is None:
            return
        agreed, in_branch = (
            known + common_prefix(tokens, rest) for tokens in (own, [*own[: fork.start - known], *fork.tokens])
        )
        self._end_fork(taken=in_branch > agreed)
        self.rewind(max(agreed, in_branch))

    def checkpoint(self) -> None:
        """Makes sure that `rewind` can return to this length or a longer one at little cost, any number of times.

        `advance` does this itself if more than one row is asked for, since drafted tokens may be dropped. Raises
        DecodeError if llama.cpp cannot save the state.
        """
        if self._rollback.bounded and self._rollback.has_checkpoints and self.tokens:
            begin = perf_counter_ns()
            self._rollback.save(self._position(len(self.tokens)))
            self._saved_length = len(self.tokens)
            self.rollback_ns += perf_counter_ns() - begin

    def see(self, images: Sequence[ImageRun]) -> None:
        """Says where images stand in the texts that are read from now on; their tokens have placeholders there."""
        self._images = images

    @property
    def texts(self) -> list[list[int]]:
        """Returns copies of its text, and of the texts beside it if it can take over from them."""
        return [[*text.tokens] for text in ([self] if self._rollback.bounded else self._texts)]

    def keep(self, tokens: Sequence[int]) -> None:
        """Keeps the longest common prefix with these tokens, or less if the memory cannot go back that far."""
        ids = with_images(tokens, self._images)
        self._forget(common_prefix(self.tokens, ids))

    def read(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> int:
        """Makes the memory hold exactly these tokens, keeping the common prefix or taking over that of another text;
        returns its length.

        Raises Cancelled between two chunks; what was read so far stays, so that the next turn can use it.
        """
        ids = with_images(tokens, self._images)
        common = common_prefix(self.tokens, ids)
        if self.model.exact:
            common = min(common, len(ids) - _WIDE)
            common = common if common >= _WIDE else 0
        self._forget(common)
        self._share(ids)
        known = len(self.tokens)
        for part in self._parts(ids, known):
            if cancelled():
                raise Cancelled("stopped while the prompt was read")
            self._read_part(part)
        return known

    def rewind(self, length: int) -> None:
        """Drops all but the first `length` tokens; reads again whatever else had to be dropped for that.

        Raises DecodeError if llama.cpp fails to do what it did in the trial; the memory is then empty.
        """
        self._end_tree()
        self._end_fork()
        if length >= len(self.tokens):
            return
        begin, busy = perf_counter_ns(), self.busy_ns
        self._check_memory()
        lost = self._forget(length)
        if lost:
            for part in self._parts(lost, 0):
                self._read_part(part)
            api.llama_synchronize(self.handle)
        self.busy_ns = busy
        self.rollback_ns += perf_counter_ns() - begin

    def swap_idle_out(self, busy: Collection[int]) -> None:
        """Makes sure that idle texts beside it cost its passes nothing, if there is main memory for that.

        `busy` has the numbers of the texts that are read, its own too. The others return when they are read on. Texts
        with images stay. So do those of a sliding window, of which a copy has only the last tokens.
        """
        if not self.handle or self.attention.flash != "off" or self._rollback.bounded or self.model.window:
            return
        others = [text for text in self._texts if text._sequence not in busy]
        idle = [text for text in others if text.tokens and not text._swap.is_out]
        if not idle or any(min(text.tokens, default=0) < 0 for text in (self, *idle)):
            return
        if all(text._swap.swap_out() for text in idle) and len(busy) == 1:
            self._swap.swap_out()
            self._swap_in()  # to the first cells, which the others have left

    @property
    def state_bytes(self) -> int:
        """The size of the file that `save` would write, without its header. Raises DecodeError once it is closed."""
        self._native.check_open()
        self._swap_in()
        size: int = api.llama_state_seq_get_size(self.handle, self._sequence)
        return size

    def save(self, path: Path) -> None:
        """Writes the memory to a file. Raises DecodeError if llama.cpp cannot, or once it is closed."""
        self._native.check_open()
        self._swap_in()
        count = len(self.tokens)
        written = api.llama_state_seq_save_file(
            self.handle, os.fsencode(path), self._sequence, (ctypes.c_int32 * count)(*self.tokens), count
        )
        if not written:
            raise DecodeError(f"{path}: the memory of {count} tokens cannot be saved: is there room on the disk?")

    def restore(self, path: Path) -> bool:
        """Restores the memory from a file that the same model wrote with the same options.

        False, with an empty memory, if llama.cpp rejects the file. The caller must make sure that the file is intact.
        Raises DecodeError once it is closed.
        """
        self._native.check_open()
        self.clear()
        self.user = None
        tokens, count = (ctypes.c_int32 * self.capacity)(), ctypes.c_size_t(0)
        read = api.llama_state_seq_load_file(
            self.handle, os.fsencode(path), self._sequence, tokens, self.capacity, ctypes.byref(count)
        )
        if not read:
            self.clear()
            return False
        self.tokens = tokens[: count.value]
        self._last_image = len(self.tokens)
        try:
            self._position(self.length)
        except DecodeError:  # images of another start, whose sizes are not known any more
            self.clear()
            return False
        return True

    def clear(self) -> None:
        """Forgets everything."""
        self._tree = self._fork = None
        self._swap.drop()
        if self.handle:
            if self._native.texts == 1:
                api.llama_memory_clear(self._native.memory, True)
            else:
                api.llama_memory_seq_rm(self._native.memory, self._sequence, -1, -1)
            self._rollback.on_clear()
        self.tokens.clear()
        if self.states:
            self.states.cut(0)

    def close(self) -> None:
        """Frees the memory, that of the texts beside it too; calling it again does nothing."""
        self._native.close()
        self.tokens.clear()
        for text in self._texts:
            text._swap.drop()

    def _share(self, tokens: Sequence[int]) -> None:
        """Takes over the longest beginning of these tokens that another text has in memory."""
        if len(self._texts) == 1 or self._rollback.bounded:
            return
        own = len(self.tokens)
        other = max(self._texts, key=lambda text: common_prefix(text.tokens, tokens))
        common = outside_images(tokens, common_prefix(other.tokens, tokens))
        if other is self or common <= own:
            return
        begin, end = other._position(own), other._position(common)
        if other._swap.is_out:
            if not (other._swap.copy_to(self._sequence) and self._rollback.cut(end)):
                self.clear()
                return
        elif other._rollback.can_cut(end, other.length - common):
            if other._rollback.begin > begin:  # else a hole stays after its own tokens, which llama.cpp does not notice
                self._rollback.cut(0)
                begin = 0
            api.llama_memory_seq_cp(self._native.memory, other._sequence, self._sequence, begin, end)
        else:
            return
        self.tokens += tokens[own:common]
        self._last_image = max(self._last_image, other._last_image)

    def _swap_in(self) -> bool:
        """Brings its memory back; False, with an empty memory, if llama.cpp fails to."""
        if self._swap.is_out:
            self._native.check_open()
        done = self._swap.swap_in()
        if not done:
            self.clear()
        return done

    def _check_memory(self) -> None:
        """Brings its memory back. Raises DecodeError, with an empty memory, if llama.cpp fails to."""
        if not self._swap_in():
            raise DecodeError(f"{self.model.path.name} lost what it had read: ask again")

    def _end_tree(self, path: Sequence[int] = ()) -> None:
        """Leaves a path of the tree in memory, if there is a tree."""
        branches, self._tree = self._tree, None
        if branches is None:
            return
        begin = perf_counter_ns()
        tokens = branches.close(path)
        if tokens is None:
            self._lose_branches()
        if self.states:
            self.states.take(self.length, path)
        self.tokens += tokens
        self.rollback_ns += perf_counter_ns() - begin

    def _end_fork(self, *, taken: bool = False) -> None:
        """Ends the branch, if there is one. If it is `taken` the memory goes on with it."""
        fork, self._fork = self._fork, None
        if fork is None:
            return
        begin = perf_counter_ns()
        if not fork.close(taken=taken):
            self._lose_branches()
        if taken:
            self.tokens[fork.start :] = fork.tokens
        self.rollback_ns += perf_counter_ns() - begin

    def _lose_branches(self) -> NoReturn:
        self.clear()
        raise DecodeError(f"{self.model.path.name} cannot keep one branch of a tree: use --tree 0 with this model")

    def _settle(self) -> None:
        """Finds out how this memory goes back, by a trial unless a text beside it has made one."""
        native = self._native
        self.max_rows = native.max_rows
        self._rollback = Rollback(native.handle, native.memory, native.model.window, self._sequence)
        self._swap = Swap(native.handle, native.memory, self._sequence)
        if self._sequence:
            first = self._texts[0]
            self._rollback.as_found(first._rollback)
            self.can_go_back, self.max_rows, self.max_leaves = first.can_go_back, first.max_rows, first.max_leaves
            return
        try:
            self.can_go_back = probe_rollback(self, self._rollback, native.model.vocabulary.size)
        except DecodeError as error:
            self.close()
            raise ModelFileError(f"{self.model.path}: it does not decode: {error}") from error
        if self.max_rows > 1 and self._rollback.reach and not self._rollback.has_checkpoints:
            self.max_rows = min(self.max_rows, self._rollback.reach + 1)
        self.max_leaves = 1 if self._rollback.bounded else native.leaves
        self.busy_ns = self.rollback_ns = 0

    def _forget(self, length: int) -> list[int]:
        """Goes back to `length` tokens or, if that is impossible, to fewer; returns the tokens lost in between. The
        length is moved to the beginning of an image that it cuts.

        Raises DecodeError if llama.cpp fails; the memory is then empty.
        """
        self._end_tree()
        self._end_fork()
        self._swap_in()
        length = outside_images(self.tokens, length)
        drop = len(self.tokens) - length
        if drop <= 0:
            return []
        ways, position = self._rollback, self._position(length)
        if ways.can_cut(position, drop):
            back, done = length, ways.cut(position)
        elif 0 < ways.saved <= position:
            back, done = self._saved_length, ways.restore()
        else:
            back, done = 0, ways.cut(0)
        if not done:
            self.clear()
            raise DecodeError(f"{self.model.path.name} cannot go back to {length} tokens: use -k 0 with this model")
        lost = self.tokens[back:length]
        del self.tokens[back:]
        if self.states:
            self.states.cut(back)
        return lost

    def _decode(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        self._check_room(len(tokens))
        logits = self._compute(PassPart.chain(tokens, self._position(len(self.tokens)), rows, self._sequence))
        self.tokens += tokens
        if self._rollback.bounded:
            self._rollback.passed(len(tokens))
        return logits

    def _position(self, length: int) -> int:
        """The position of the token after the first `length`: some models give an image fewer positions than tokens."""
        if self.vision is None or not self.vision.saves_positions:
            return length
        saved = index = 0
        end = min(length, self._last_image)
        while (first := next((at for at in range(index, end) if self.tokens[at] < 0), None)) is not None:
            index = first + self.vision.length(self.tokens[first])
            saved += index - first - self.vision.positions(self.tokens[first])
        return length - saved

    def _parts(self, ids: Sequence[int], start: int) -> Iterator[Sequence[int]]:
        """The ids from `start` on in parts that are read in one go: tokens for a pass, or a run of an image."""
        while start < len(ids):
            if ids[start] < 0 and self.vision is not None:
                end = start + self.vision.length(ids[start])
            else:
                limit = min(start + self._native.step, len(ids))
                if self.model.exact and 0 < len(ids) - limit < _WIDE:
                    limit -= _WIDE
                end = next((index for index in range(start + 1, limit) if ids[index] < 0), limit)
            yield ids[start:end]
            start = end

    def _read_part(self, part: Sequence[int]) -> None:
        if part[0] >= 0:
            self._decode(part, 0)
            return
        if self.vision is None:
            raise DecodeError("there is no projector to read an image with: load the model with --mmproj")
        self._check_room(len(part))
        start = len(self.tokens)
        position = self._position(start)
        code, nanoseconds = self._native.compute_image(self.vision, part[0], position, self._sequence)
        self.busy_ns += nanoseconds
        if code != 0:
            self._fail(start, len(part), code)
        self.tokens += part
        self._last_image = len(self.tokens)
        if self._rollback.bounded:
            self._rollback.passed(len(part))

    def _check_room(self, count: int) -> None:
        """Raises DecodeError if the memory cannot take this many more tokens, or once it is closed."""
        self._native.check_open()
        self._check_memory()
        if self.length + count > self.capacity:
            raise DecodeError(f"{self.length + count} tokens do not fit a context of {self.capacity}: use a larger -c")

    def _compute(self, part: PassPart) -> NDArray[np.float32]:
        """Makes a pass over what this text adds; logits [rows, V]."""
        start, count = self.length, len(part.tokens)
        if self.states:
            self.states.expect(count, part.rows)
        made = self._passes(self._native, (part,))
        self.busy_ns += made.nanoseconds
        if made.code != 0:
            self._fail(start, count, made.code)
        if self.states:
            begin = perf_counter_ns()
            self.states.record(start, count)
            self.busy_ns += perf_counter_ns() - begin
        return made.logits[0]

    def _fail(self, length: int, count: int, code: int) -> NoReturn:
        """After a failed pass the memory may hold part of the batch: cuts it, or empties it if a cut is not safe."""
        if (
            self._tree
            or self._fork
            or (code != _INVALID and (self._rollback.bounded or not self._rollback.cut(self._position(length))))
        ):
            self.clear()
        meaning = _MEANINGS.get(code, "failure") if code >= -1 else native_log.last_error() or "fatal error"
        raise DecodeError(f"llama.cpp could not read {count} tokens at {length}: {meaning} (code {code})")
