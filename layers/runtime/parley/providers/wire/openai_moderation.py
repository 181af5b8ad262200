"""OpenAI's moderations: ``POST {base}/moderations`` says which categories of harm a text falls under.

Source: requests recorded from the official SDK and https://platform.openai.com/docs/api-reference/moderations.
"""

from __future__ import annotations

import math
from typing import Any

from parley.domain.errors import StreamCut
from parley.providers.wire.failures import read_json
from parley.providers.wire.openai_chat import decode_error
from parley.providers.wire.shapes import as_list, as_object
from parley.turns.model_ports import Moderated

__all__ = ["decode", "decode_error", "encode", "path"]

MODEL = "omni-moderation-latest"


def path() -> str:
    """The same for every text."""
    return "/moderations"


def encode(text: str) -> dict[str, Any]:
    """The request body."""
    return {"model": MODEL, "input": text}


def decode(body: bytes) -> Moderated:
    """Flagged if any result is. An answer without results says nothing, and nothing is not a pass."""
    value = as_object(read_json(body.decode("utf-8", "replace")))
    results = [result for result in as_list(value.get("results")) if isinstance(result, dict)]
    if not results or not all(isinstance(result.get("flagged"), bool) for result in results):
        raise StreamCut("the moderation gave no result")
    scores: dict[str, float] = {}
    categories: set[str] = set()
    for result in results:
        categories |= {name for name, found in as_object(result.get("categories")).items() if found is True}
        for name, score in as_object(result.get("category_scores")).items():
            if isinstance(score, int | float) and math.isfinite(score):
                scores[name] = max(float(score), scores.get(name, 0.0))
    return Moderated(any(result["flagged"] for result in results), tuple(sorted(categories)), scores)
