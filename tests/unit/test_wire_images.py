"""Images and moderations: what is encoded, and what an answer holds."""

import json
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.domain.errors import ProviderError, ProviderRejectedRequest, StreamCut
from parley.providers.wire import (
    gemini_images,
    huggingface_images,
    openai_images,
    openai_moderation,
    openrouter_images,
)
from parley.providers.wire.image_bytes import image_at, image_of
from parley.providers.wire.protocol import ImageLink
from parley.turns.model_ports import Image, ImageOptions
from tests.support.pictures import BASE64, JPEG, PNG, WEBP

FIXTURES = Path(__file__).parents[1] / "providers" / "fixtures"
WIRES = [gemini_images, huggingface_images, openai_images, openrouter_images]
RED = Image(PNG, "image/png")
WISHES = ImageOptions("m", size="512x256", aspect_ratio="2:1", quality="low", settings={"seed": 1})


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def gemini(*parts: dict[str, Any], **more: Any) -> bytes:
    return body({"candidates": [{"content": {"parts": list(parts)}, **more}]})


def openrouter(delta: dict[str, Any], finish: str | None = "stop") -> bytes:
    return b"data: " + body({"choices": [{"delta": delta, "finish_reason": finish}]}) + b"\n\n"


def test_a_provider_is_told_what_it_has_words_for() -> None:
    assert openai_images.encode("a cube", WISHES) == {
        "model": "m",
        "prompt": "a cube",
        "size": "512x256",
        "quality": "low",
        "seed": 1,
    }
    assert gemini_images.encode("a cube", WISHES)["generationConfig"] == {
        "responseModalities": ["TEXT", "IMAGE"],
        "imageConfig": {"aspectRatio": "2:1"},
        "seed": 1,
    }
    assert huggingface_images.encode("a cube", WISHES)["parameters"] == {
        "width": 512,
        "height": 256,
        "seed": 1,
    }
    assert huggingface_images.encode("a cube", ImageOptions("m", size="auto"))["parameters"] == {}
    assert openrouter_images.encode("a cube", WISHES)["image_config"] == {
        "aspect_ratio": "2:1",
        "size": "512x256",
        "quality": "low",
    }
    assert "image_config" not in openrouter_images.encode("a cube", ImageOptions("m"))


@pytest.mark.parametrize(
    ("wire", "answer"),
    [
        (openai_images, body({"data": [{"b64_json": BASE64}], "output_format": "jpeg"})),
        (
            gemini_images,
            gemini({"text": "Here:"}, {"inlineData": {"mimeType": "image/jpeg", "data": BASE64}}),
        ),
        (huggingface_images, PNG),
        (
            openrouter_images,
            b": OPENROUTER PROCESSING\n\n"
            + openrouter({"images": [{"image_url": {"url": f"data:image/jpeg;base64,{BASE64}"}}]})
            + b"data: [DONE]\n\n",
        ),
    ],
    ids=["openai", "gemini", "huggingface", "openrouter"],
)
def test_an_image_is_what_its_bytes_are_whatever_it_is_called(wire: ModuleType, answer: bytes) -> None:
    assert wire.decode(answer) == RED


def test_a_thought_is_not_the_image() -> None:
    draft = {"inlineData": {"data": "AAAA"}, "thought": True}
    assert gemini_images.decode(gemini(draft, {"inlineData": {"data": BASE64}})) == RED


def test_an_address_is_followed_later() -> None:
    link = ImageLink("https://files.example/x.png")
    assert openai_images.decode(body({"data": [{"url": link.url}]})) == link
    assert openrouter_images.decode(openrouter({"images": [{"image_url": {"url": link.url}}]})) == link
    assert image_at(f"data:;charset=utf-8;base64,{BASE64}") == RED


@pytest.mark.parametrize(
    ("wire", "answer", "words"),
    [
        (gemini_images, gemini({"text": "I cannot draw that."}), "I cannot draw that."),
        (gemini_images, gemini(finishReason="IMAGE_SAFETY"), "IMAGE_SAFETY"),
        (gemini_images, gemini(finishReason="NO_IMAGE"), "NO_IMAGE"),
        (gemini_images, body({"promptFeedback": {"blockReason": "SAFETY"}}), "SAFETY"),
        (openrouter_images, openrouter({"content": "I cannot draw that."}), "I cannot draw that."),
    ],
)
def test_a_model_that_will_not_draw_is_not_asked_again(wire: ModuleType, answer: bytes, words: str) -> None:
    with pytest.raises(ProviderRejectedRequest, match=words):
        wire.decode(answer)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"{}",
        b"<html>",
        b'{"error": "loading"}',
        b'{"data": [{"b64_json": "!"}]}',
        body({"data": [{"b64_json": "AAAA"}]}),
        gemini(),
        gemini({"inlineData": {"data": "not base64"}}),
        openrouter({"images": [{"image_url": {"url": "data:image/png;base64,AAAA"}}]}),
        openrouter({"images": [{"image_url": {"url": f"data:image/png;base64,{BASE64}"}}]}, finish=None),
    ],
)
def test_an_answer_without_an_image_is_no_success(wire: ModuleType, answer: bytes) -> None:
    with pytest.raises(StreamCut):
        wire.decode(answer)


@pytest.mark.parametrize(
    ("data", "media_type"),
    [(PNG, "image/png"), (JPEG, "image/jpeg"), (WEBP, "image/webp"), (b"GIF89a..", "image/gif")],
)
def test_images_are_told_by_their_first_bytes(data: bytes, media_type: str) -> None:
    assert image_of(data) == Image(data, media_type)


@given(st.binary(max_size=40), st.sampled_from(WIRES))
def test_any_bytes_are_an_image_or_a_provider_error(answer: bytes, wire: ModuleType) -> None:
    with suppress(ProviderError):
        assert isinstance(wire.decode(answer), Image | ImageLink)


def test_a_moderation_names_the_categories_and_all_scores() -> None:
    told = openai_moderation.decode((FIXTURES / "openai_moderation" / "flagged.json").read_bytes())
    assert told.flagged
    assert told.categories == ("violence",)
    assert told.scores["violence"] == 0.93
    assert len(told.scores) == 13


def test_a_text_that_no_result_flags_may_pass() -> None:
    told = openai_moderation.decode(body({"results": [{"flagged": False, "categories": {"hate": False}}]}))
    assert (told.flagged, told.categories) == (False, ())


def test_one_flagged_result_of_several_is_enough() -> None:
    results = [
        {"flagged": False, "categories": {}, "category_scores": {"hate": 0.4}},
        {"flagged": True, "categories": {"hate": True}, "category_scores": {"hate": 0.2, "odd": "x"}},
    ]
    told = openai_moderation.decode(body({"results": results}))
    assert (told.flagged, told.categories, dict(told.scores)) == (True, ("hate",), {"hate": 0.4})


@pytest.mark.parametrize(
    "answer",
    [b"", b"{}", b'{"results": []}', b'{"results": [{}]}', b'{"results": [{"flagged": null}]}', b"[]"],
)
def test_a_moderation_that_says_nothing_is_no_pass(answer: bytes) -> None:
    with pytest.raises(StreamCut):
        openai_moderation.decode(answer)
