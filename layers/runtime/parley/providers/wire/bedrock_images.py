"""Images by Bedrock's models: the bodies of boto3's ``invoke_model``.

``InvokeModel`` hands a body on as it is, so its form is the model's: that of Amazon's own (Titan Image Generator,
Nova Canvas), or that of Stability's. Source: a request recorded from boto3, and
https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html.
"""

from __future__ import annotations

import re
from typing import Any

from parley.domain.errors import ProviderRejectedRequest, ProviderUnavailable, StreamCut
from parley.providers.wire.failures import read_json
from parley.providers.wire.image_bytes import image_of_base64
from parley.providers.wire.shapes import as_list, as_object
from parley.turns.model_ports import Image, ImageOptions

_SIZE = re.compile(r"(\d+)x(\d+)")
_GENERATION = "imageGenerationConfig"


def encode(prompt: str, options: ImageOptions) -> dict[str, Any]:
    """The body. Amazon's models know sizes and quality, Stability's know aspect ratios."""
    settings = dict(options.settings)
    if "stability." in options.model:
        ratio = {"aspect_ratio": options.aspect_ratio} if options.aspect_ratio else {}
        return {"prompt": prompt, **ratio, **settings}
    generation: dict[str, Any] = {"numberOfImages": 1}
    if size := _SIZE.fullmatch(options.size or ""):
        generation |= {"width": int(size[1]), "height": int(size[2])}
    if options.quality:
        generation["quality"] = options.quality
    generation |= as_object(settings.pop(_GENERATION, None))
    return {
        "taskType": "TEXT_IMAGE",
        "textToImageParams": {"text": prompt},
        _GENERATION: generation,
        **settings,
    }


def decode(body: bytes) -> Image:
    """``images[0]`` in base64. Why there is none, Amazon says in ``error`` and Stability in ``finish_reasons``."""
    answer = as_object(read_json(body.decode("utf-8", "replace")))
    reason = next((words for words in as_list(answer.get("finish_reasons")) if isinstance(words, str)), None)
    if reason is not None and reason.lower().startswith("inference error"):
        raise ProviderUnavailable(reason)
    refusal = answer.get("error") or reason
    if refusal:
        raise ProviderRejectedRequest(str(refusal))
    for image in as_list(answer.get("images")):
        if isinstance(image, str):
            return image_of_base64(image)
    raise StreamCut("the answer holds no image")
