"""A recorded request, and where ours differs from it on purpose.

A fixture ``request.json`` holds ``label``, ``method``, ``path``, ``headers`` and ``body`` as recorded, and
``differences``: a list of ``{"where": "/body/tools/0/strict", "sent": false, "why": "…"}``. Without ``sent``
we leave the field out.
"""

import json
from pathlib import Path
from typing import Any


def expected_request(fixture: Path) -> dict[str, Any]:
    """What we send: the recording with the differences applied."""
    recorded: dict[str, Any] = json.loads(fixture.read_text())
    for difference in recorded.get("differences", []):
        assert difference["why"]
        *steps, last = difference["where"].strip("/").split("/")
        place: Any = recorded
        for step in steps:
            place = place[_step(place, step)]
        if "sent" in difference:
            place[_step(place, last)] = difference["sent"]
        else:
            del place[_step(place, last)]
    return recorded


def _step(place: Any, step: str) -> Any:
    return int(step) if isinstance(place, list) else step
