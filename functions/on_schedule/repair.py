"""Repair: every minute, and at once when an execution ended badly."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from parley import wiring
from parley.turns.repair import Repaired, repair_due, repair_execution


def handler(event: dict[str, Any], context: Any) -> dict[str, int]:
    """An EventBridge schedule, or a "Step Functions Execution Status Change" whose execution it looks at."""
    name = event.get("detail", {}).get("name")
    done = Repaired()
    try:
        repair_execution(wiring.runtime(), name, done) if name else repair_due(wiring.runtime(), done)
    finally:
        wiring.count_repairs(done)
    return asdict(done)
