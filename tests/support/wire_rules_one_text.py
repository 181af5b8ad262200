"""What the wires of models that complete one text refuse. Sources: the pages named in the wires."""

import json
from typing import Any


def check_text(text: str) -> None:
    """The conversation in one text, which ends where the model goes on."""
    assert text.startswith(("System: ", "Human: ", "Assistant:"))
    assert text.endswith("\n\nAssistant:") or text == "Assistant:"


def check(body: dict[str, Any]) -> None:
    """Raises AssertionError for a request that would be refused, whichever of the three wires it is of."""
    json.dumps(body, allow_nan=False)
    match body:
        case {"inputs": str(text), "parameters": dict(parameters), "stream": True}:
            check_text(text)
            assert 1 <= len(parameters["stop"]) <= 4
            assert all(parameters["stop"])
            assert parameters["return_full_text"] is False
            assert parameters.get("temperature", 1) > 0
            assert 0 < parameters.get("top_p", 0.5) < 1
        case {"model": str(), "prompt": str(text), "options": dict(options), "stream": True}:
            check_text(text)
            assert {"\nHuman:", "\nUser:"} <= {*options["stop"]}
        case {"input": {"prompt": str(text)}, **more}:
            check_text(text)
            assert more == {"stream": True}
        case _:
            raise AssertionError(f"a request of no known wire: {body}")
