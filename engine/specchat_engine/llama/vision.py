"""Reads images for a target, with the projector that belongs to it ("mmproj"): an image becomes embeddings.

They are computed when the target reads them, once for each image, and kept while the image is in use.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections import OrderedDict, deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import DecodeError, HeaderError, ModelFileError, SettingError
from specchat_engine.gguf.header import GgufHeader
from specchat_engine.gguf.reader import read_file
from specchat_engine.llama.library import api
from specchat_engine.llama.logs import last_words, native_log
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.mtmd import BUILD_WITH, has_mtmd, mtmd
from specchat_engine.prompt.images import Image, ImageRun, ImageTokens, ids_of
from specchat_engine.settings import AUTO

_ARCHITECTURE: Final = "clip"
_ORDER: Final = ("f16", "bf16", "q8_0", "f32")
_PRECISION: Final = re.compile(r"(?:^|[-_.])(f16|bf16|f32|q\d_\w+)$")


def read_projector(path: Path) -> GgufHeader:
    """The header of a projector for images. Raises ModelFileError or HeaderError for anything else."""
    header = read_file(path)
    if header.architecture != _ARCHITECTURE:
        raise HeaderError(f"{path} is a model and no projector: name the mmproj file that belongs to the model")
    if header.metadata.get("clip.has_vision_encoder") is not True:
        raise HeaderError(f"{path} is a projector for sound alone: it reads no images")
    return header


def projector_beside(model: Path) -> Path | None:
    """The projector that lies in a model's folder, None if there is none.

    Its name has `mmproj` in it, and otherwise says nothing or a part of the model's name. Of several precisions F16 is
    taken, then BF16.
    """
    stem = _letters(model.stem)
    try:
        projectors = [path for path in model.parent.glob("*.gguf") if "mmproj" in path.name.lower() and path.is_file()]
    except OSError:
        return None
    fitting = [path for path in projectors if path != model and (_bare(path) in ("", "model") or _bare(path) in stem)]
    return min(fitting, key=_rank, default=None)


def _bare(path: Path) -> str:
    """What the name of a projector says of its model."""
    return _letters(_PRECISION.sub("", path.stem.lower().replace("mmproj", "")))


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _rank(path: Path) -> tuple[int, int, str]:
    """The name with most of the model's name comes first, then the usual precision."""
    match = _PRECISION.search(path.stem.lower())
    precision = match[1] if match else "f16"
    return -len(_bare(path)), _ORDER.index(precision) if precision in _ORDER else len(_ORDER), path.name


_MOST_SIZES: Final = 2**16
"""Parts of images whose sizes are known. Those in memory have to be among them, also if others are read meanwhile."""

_LEAST_ROOM: Final = 2**15
_FORGOTTEN: Final = "an image is no longer available: send the message again"

_MOST_EMBEDDINGS: Final = 16
"""Parts of images whose embeddings are kept. The largest take 64 MB each; those of others are computed again."""


@dataclass(slots=True)
class _Chunk:
    """A part of an image that libmtmd encodes as one: how many embeddings and positions it has, and the embeddings,
    once they were computed. The handle is None once the image was forgotten."""

    handle: Any
    count: int
    positions: int
    embeddings: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    tokens: ImageTokens
    chunks: tuple[_Chunk, ...]


class Vision:
    """A projector, loaded for one model. Close it before the model.

    One thread at a time may use it: whoever holds the engine's lock.
    """

    def __init__(self, model: LlamaModel, path: Path, *, threads: int) -> None:
        self.path = path
        self.placeholder = _placeholder(model)
        self._model = model
        self._threads = threads
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._chunks: dict[int, _Chunk] = {}
        self._encoded_last: deque[_Chunk] = deque()
        self.saves_positions = False
        """Whether runs may take fewer positions than they have ids."""
        self.room = _LEAST_ROOM
        """How many tokens the images may have that can be read: as many as fit all memories together, or more."""
        self._mtmd: Any = None
        self._handle: Any = None

    def open(self) -> None:
        """Loads the file, unless it is loaded; the first image does this too.

        Raises NativeLibraryError without libmtmd, and ModelFileError for a file that is not a projector of this model.
        """
        if self._handle:
            return
        read_projector(self.path)
        self._mtmd = mtmd()
        model, path = self._model, self.path
        model.vocabulary.check_open()
        params = self._mtmd.mtmd_context_params_default()
        params.use_gpu = not model.on_cpu
        params.n_threads = self._threads
        params.print_timings = params.warmup = False
        last_words.about(path, model.path)
        native_log.clear()
        self._handle = self._mtmd.mtmd_init_from_file(os.fsencode(path), model.handle, params)
        if not self._handle:
            reason = native_log.last_error() or "llama.cpp gives no reason"
            raise ModelFileError(f"{path} cannot be used with {model.path.name}: {reason}; use the model's own mmproj")
        if not self._mtmd.mtmd_support_vision(self._handle):
            self.close()
            raise ModelFileError(f"{path} reads no images: leave it out, or name the model's projector for images")
        self.saves_positions = self._mtmd.mtmd_decode_use_mrope(self._handle)

    def tokens(self, image: Image) -> ImageTokens:
        """What an image is in a prompt. Raises SettingError for one that cannot be read, and what `open` raises."""
        self.open()
        known = self._known.get(image.digest)
        if known is None:
            known = self._known[image.digest] = self._tokenized(image)
            for run, chunk in zip(known.tokens.runs, known.chunks, strict=True):
                self._chunks.pop(run.ids[0], None)
                self._chunks[run.ids[0]] = chunk
            self._make_room()
        self._known.move_to_end(image.digest)
        return known.tokens

    def length(self, first: int) -> int:
        """How many ids a run has that begins with this one. Raises DecodeError for an image that was never seen."""
        return self._chunk(first).count

    def positions(self, first: int) -> int:
        """How many positions that run takes: fewer in models whose positions have several dimensions (M-RoPE)."""
        return self._chunk(first).positions

    def decode(self, context: Any, first: int, start: int, sequence: int, most: int) -> int:
        """Reads the run that begins with this id into a context, from position `start` on; llama.cpp's code.

        At most `most` embeddings go into a pass. Raises DecodeError if it cannot be computed.
        """
        chunk = self._chunk(first)
        if chunk.handle is None:
            raise DecodeError(_FORGOTTEN)
        if self._mtmd.mtmd_decode_use_non_causal(self._handle, chunk.handle):
            most = api.llama_n_ubatch(context)
            if chunk.count > most:
                raise DecodeError(
                    f"an image of {chunk.count} tokens is read in one pass, which takes {most}: raise --ubatch-size"
                )
        end = ctypes.c_int32(0)
        code: int = self._mtmd.mtmd_helper_decode_image_chunk(
            self._handle,
            context,
            chunk.handle,
            self._encoded(chunk).ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
            start,
            sequence,
            most,
            ctypes.byref(end),
            self._mtmd.mtmd_helper_post_decode_callback(),
            None,
        )
        return code

    def close(self) -> None:
        """Frees it; calling it again does nothing."""
        while self._known:
            _forget(self._known.popitem()[1], self._mtmd)
        if self._handle:
            self._mtmd.mtmd_free(self._handle)
            self._handle = None

    def _tokenized(self, image: Image) -> _Known:
        """An image as tokens and chunks."""
        library = self._mtmd
        native_log.clear()
        data = (ctypes.c_uint8 * len(image.data)).from_buffer_copy(image.data)
        bitmap = library.mtmd_helper_bitmap_init_from_buf(self._handle, data, len(data), False)
        chunks = library.mtmd_input_chunks_init()
        try:
            part = library.mtmd_input_part(None, bitmap)
            parts = (ctypes.POINTER(library.mtmd_input_part) * 1)(ctypes.pointer(part))
            if not bitmap or library.mtmd_tokenize_from_parts(self._handle, chunks, parts, 1, False):
                reason = native_log.last_error() or "its format is unknown"
                raise SettingError(f"an image cannot be read: {reason}; use a PNG or a JPEG")
            return self._taken(image, chunks)
        finally:
            library.mtmd_input_chunks_free(chunks)
            if bitmap:
                library.mtmd_bitmap_free(bitmap)

    def _taken(self, image: Image, chunks: Any) -> _Known:
        library = self._mtmd
        tokens: list[int] = []
        runs: list[ImageRun] = []
        taken: list[_Chunk] = []
        for index in range(library.mtmd_input_chunks_size(chunks)):
            chunk = library.mtmd_input_chunks_get(chunks, index)
            count: int = library.mtmd_input_chunk_get_n_tokens(chunk)
            if library.mtmd_input_chunk_get_type(chunk) == library.MTMD_INPUT_CHUNK_TYPE_TEXT:
                size = ctypes.c_size_t(0)
                text_tokens = library.mtmd_input_chunk_get_tokens_text(chunk, ctypes.byref(size))
                tokens += text_tokens[: size.value]
                continue
            ids = ids_of(image.digest, len(runs), count)
            runs.append(ImageRun(len(tokens), ids, self.placeholder))
            taken.append(_Chunk(library.mtmd_input_chunk_copy(chunk), count, library.mtmd_input_chunk_get_n_pos(chunk)))
            tokens += [self.placeholder] * count
        return _Known(ImageTokens(tuple(tokens), tuple(runs)), tuple(taken))

    def _encoded(self, chunk: _Chunk) -> NDArray[np.float32]:
        """The embeddings [n, width] of a chunk."""
        if chunk.embeddings is None:
            native_log.clear()
            if self._mtmd.mtmd_encode_chunk(self._handle, chunk.handle):
                raise DecodeError(
                    f"llama.cpp could not encode an image: {native_log.last_error() or 'no reason given'}"
                )
            pointer = self._mtmd.mtmd_get_output_embd(self._handle)
            width = api.llama_model_n_embd_inp(self._model.handle)
            block = (ctypes.c_float * (chunk.count * width)).from_address(ctypes.addressof(pointer.contents))
            chunk.embeddings = np.frombuffer(block, np.float32).reshape(chunk.count, width).copy()
            self._encoded_last.append(chunk)
            if len(self._encoded_last) > _MOST_EMBEDDINGS:
                self._encoded_last.popleft().embeddings = None
        return chunk.embeddings

    def _chunk(self, first: int) -> _Chunk:
        if first not in self._chunks:
            raise DecodeError(_FORGOTTEN)
        return self._chunks[first]

    def _make_room(self) -> None:
        """Forgets the images that were used longest ago, as far as there are too many; not the last one."""
        while len(self._known) > 1 and sum(len(known.tokens.tokens) for known in self._known.values()) > self.room:
            _forget(self._known.popitem(last=False)[1], self._mtmd)
        while len(self._chunks) > _MOST_SIZES:
            del self._chunks[next(iter(self._chunks))]


def _forget(known: _Known, library: Any) -> None:
    for chunk in known.chunks:
        library.mtmd_input_chunk_free(chunk.handle)
        chunk.handle = None


def projector_for(target: Path, choice: str, head: str = "") -> tuple[Path | None, str]:
    """The projector that a target is to be loaded with, and why it sees no images if there is none.

    `choice` is a file, "none", or "auto" for one in the target's folder; that is left out beside a `head`, which needs
    hidden states that images do not give.
    """
    if choice not in (AUTO, "none"):
        return Path(choice), ""
    path = projector_beside(target) if choice == AUTO else None
    if choice == "none":
        return None, "images are turned off: load the model with --mmproj auto, or a file"
    if path is None:
        return None, f"{target.name} has no projector for images beside it: name one with --mmproj FILE"
    if head:
        return None, f"images and the head {head} exclude each other: load the model with --head none"
    if not has_mtmd():
        return None, f"{path.name} reads images with libmtmd, which this build of llama.cpp leaves out: {BUILD_WITH}"
    return path, ""


def _placeholder(model: LlamaModel) -> int:
    """A control token that is never written: nobody drafts it, and penalties for it change nothing."""
    vocabulary = model.vocabulary
    begin, controls = vocabulary.special["bos"], np.flatnonzero(vocabulary.silent)
    if begin in controls:
        return begin
    return int(controls[0]) if len(controls) else 0
