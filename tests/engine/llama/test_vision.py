"""Images in a context, compared with libmtmd's own evaluation of the same prompt."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from specchat_engine.errors import DecodeError, SettingError
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.library import api
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.mtmd import has_mtmd, mtmd
from specchat_engine.llama.native import NativeContext
from specchat_engine.llama.vision import Vision
from specchat_engine.prompt.images import Image, with_images
from support.tiny_models import write_tiny_model
from support.vision_models import png, write_mrope_model, write_mrope_projector, write_projector

pytestmark = pytest.mark.skipif(not has_mtmd(), reason="this build of llama.cpp has no libmtmd: make test VISION=1")

ONE, OTHER = Image(png(1)), Image(png(2))


@pytest.fixture(scope="module", params=["rope", "mrope"])
def kit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model and its projector: a tiny llama, and a tiny qwen2vl, whose images take fewer positions than tokens."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "rope":
        return write_tiny_model(folder / "a.gguf", seed=1, sharpness=0.15), write_projector(folder / "mmproj.gguf")
    return write_mrope_model(folder / "a.gguf"), write_mrope_projector(folder / "mmproj.gguf")


@pytest.fixture(scope="module")
def projector(kit: tuple[Path, Path]) -> Path:
    return kit[1]


@pytest.fixture(scope="module")
def model(kit: tuple[Path, Path]) -> Iterator[LlamaModel]:
    model = LlamaModel(kit[0])
    yield model
    model.close()


@pytest.fixture
def vision(model: LlamaModel, projector: Path) -> Iterator[Vision]:
    vision = Vision(model, projector, threads=1)
    yield vision
    vision.close()


@pytest.fixture
def context(model: LlamaModel, vision: Vision) -> Iterator[LlamaContext]:
    context = LlamaContext(NativeContext(model, n_ctx=256, max_rows=4, threads=1))
    context.vision = vision
    yield context
    context.close()


def prompt(context: LlamaContext, *images: Image) -> list[int]:
    """`a`, each image with a `b` after it, and `c`. The context knows where the images are."""
    vocabulary, vision = context.model.vocabulary, context.vision
    assert vision is not None
    tokens, runs = vocabulary.tokenize("a", special=False), []
    for image in images:
        found = vision.tokens(image)
        runs += [run.moved(len(tokens)) for run in found.runs]
        tokens += [*found.tokens, *vocabulary.tokenize("b", special=False)]
    context.see(runs)
    return [*tokens, *vocabulary.tokenize("c", special=False)]


def begin_of_image(context: LlamaContext) -> int:
    """How many tokens of text an image begins with."""
    assert context.vision is not None
    return context.vision.tokens(ONE).runs[0].start


def logits(context: LlamaContext, *images: Image) -> np.ndarray:
    tokens = prompt(context, *images)
    context.read(tokens[:-1], bool)
    return context.advance(tokens[-1:], 1)[0].copy()


def reference(model: LlamaModel, projector: Path, text: bytes, *images: Image) -> np.ndarray:
    """The logits after a text with a marker for each image, all done by libmtmd."""
    library = mtmd()
    params = library.mtmd_context_params_default()
    params.use_gpu, params.warmup, params.n_threads = False, False, 1
    handle = library.mtmd_init_from_file(bytes(projector), model.handle, params)
    native = NativeContext(model, n_ctx=256, max_rows=4, threads=1)
    chunks = library.mtmd_input_chunks_init()
    buffers = [(ctypes.c_uint8 * len(image.data)).from_buffer_copy(image.data) for image in images]
    bitmaps = [library.mtmd_helper_bitmap_init_from_buf(handle, one, len(one), False) for one in buffers]
    given = library.mtmd_input_text(text, len(text), False, False)
    assert not library.mtmd_tokenize(
        handle, chunks, ctypes.byref(given), (ctypes.c_void_p * len(bitmaps))(*bitmaps), len(bitmaps)
    )
    end = ctypes.c_int32(0)
    assert not library.mtmd_helper_eval_chunks(handle, native.handle, chunks, 0, 0, 64, True, ctypes.byref(end))
    pointer = api.llama_get_logits_ith(native.handle, -1)
    found = np.ctypeslib.as_array(pointer, (model.vocabulary.size,)).copy()
    for bitmap in bitmaps:
        library.mtmd_bitmap_free(bitmap)
    library.mtmd_input_chunks_free(chunks)
    native.close()
    library.mtmd_free(handle)
    return found


def test_the_logits_are_those_of_libmtmd(context: LlamaContext, model: LlamaModel, projector: Path) -> None:
    one = reference(model, projector, b"a<__media__>bc", ONE)
    both = reference(model, projector, b"a<__media__>b<__media__>bc", ONE, OTHER)
    np.testing.assert_allclose(logits(context, ONE), one, atol=5e-3)
    np.testing.assert_allclose(logits(context, ONE, OTHER), both, atol=5e-3)
    assert np.abs(one - both).max() > 0.05


def test_what_the_memory_shares_with_the_next_prompt_is_kept(context: LlamaContext) -> None:
    tokens = prompt(context, ONE, OTHER)
    assert context.read(tokens, bool) == 0
    shared = len(prompt(context, ONE)) - 1 + begin_of_image(context)
    tokens = prompt(context, ONE, ONE)
    assert context.read(tokens, bool) == shared
    assert context.length == len(tokens)


def test_an_image_whose_end_was_cut_off_is_read_from_its_beginning(context: LlamaContext) -> None:
    before = logits(context, ONE, OTHER)
    context.rewind(1 + begin_of_image(context) + 2)
    assert context.read(prompt(context, ONE, OTHER)[:-1], bool) == 1 + begin_of_image(context)
    np.testing.assert_allclose(logits(context, ONE, OTHER), before, atol=1e-4)


def test_without_a_word_about_images_placeholders_are_tokens(context: LlamaContext) -> None:
    with_image = logits(context, ONE)
    tokens = prompt(context, ONE)
    context.see(())
    assert context.read(tokens[:-1], bool) == 1 + begin_of_image(context)
    assert np.abs(context.advance(tokens[-1:], 1)[0] - with_image).max() > 0.05


def test_other_images_have_other_ids_and_an_image_always_has_the_same(vision: Vision) -> None:
    ids = [vision.tokens(image).runs[0].ids for image in (ONE, OTHER, Image(png(1)))]
    assert ids[0] == ids[2]
    assert not set(ids[0]) & set(ids[1])
    assert all(-(2**31) <= one < 0 for one in ids[0])


def test_the_embeddings_of_many_images_are_computed_again_when_they_are_needed(context: LlamaContext) -> None:
    expected = logits(context, ONE)
    for seed in range(20):
        context.clear()
        logits(context, Image(png(100 + seed)))
    context.clear()
    np.testing.assert_allclose(logits(context, ONE), expected, atol=1e-5)


def test_an_image_in_memory_is_gone_on_from_after_others_have_taken_its_room(context: LlamaContext) -> None:
    tokens = prompt(context, ONE, OTHER)
    context.read(tokens[:-1], bool)
    expected = context.advance(tokens[-1:], 1)[0].copy()
    assert context.vision is not None
    context.vision.room = 1
    context.vision.tokens(Image(png(100)))
    context.rewind(len(tokens) - 1)
    np.testing.assert_allclose(context.advance(tokens[-1:], 1)[0], expected, atol=1e-4)
    context.clear()
    with pytest.raises(DecodeError, match="no longer available: send the message again"):
        context.read(tokens, bool)
    context.vision.room = 2**15
    context.clear()
    np.testing.assert_allclose(logits(context, ONE, OTHER), expected, atol=1e-4)


def test_an_image_that_does_not_fit_the_context_is_refused_before_llama_sees_it(context: LlamaContext) -> None:
    images = [Image(png(seed)) for seed in range(30)]
    tokens = prompt(context, *images)
    assert len(tokens) > context.capacity
    with pytest.raises(DecodeError, match="do not fit a context of 256"):
        context.read(tokens, bool)
    assert len(with_images(tokens, ())) == len(tokens)


def test_a_damaged_image_is_refused(vision: Vision) -> None:
    with pytest.raises(SettingError, match="an image cannot be read"):
        vision.tokens(Image(png(1)[:80]))


def test_an_image_takes_fewer_positions_than_tokens_only_where_these_are_grids(vision: Vision) -> None:
    first = vision.tokens(ONE).runs[0].ids[0]
    assert (vision.positions(first) < vision.length(first)) == vision.saves_positions


def test_the_memory_is_cut_at_the_right_position_after_an_image(context: LlamaContext) -> None:
    tokens = prompt(context, ONE, OTHER)
    context.read(tokens[:-1], bool)
    expected = context.advance(tokens[-1:], 1)[0].copy()
    for wrong in (3, 7):
        context.rewind(len(tokens) - 1)
        context.advance([tokens[-1], 60, 61, 62][: wrong - 2], 1)
    context.rewind(len(tokens) - 1)
    np.testing.assert_allclose(context.advance(tokens[-1:], 1)[0], expected, atol=1e-4)


def test_a_tree_after_an_image_is_read_at_the_right_positions(context: LlamaContext) -> None:
    tokens = prompt(context, ONE, OTHER)
    context.read(tokens[:-1], bool)
    chain = [context.advance(tokens[-1:], 1)[0].copy(), context.advance([70], 1)[0].copy()]
    context.rewind(len(tokens) - 1)
    found = context.advance_tree(tokens[-1], [70, 71], [-1, -1])[:2].copy()
    context.take([1])
    np.testing.assert_allclose(found, chain, atol=5e-3)
    context.rewind(len(tokens))
    np.testing.assert_allclose(context.advance([70], 1)[0], chain[1], atol=5e-3)
