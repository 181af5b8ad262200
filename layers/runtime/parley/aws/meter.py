"""Metrics of model calls in CloudWatch's embedded metric format: a line of the function's log per call."""

from __future__ import annotations

import logging

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from parley.turns.rollout_ports import ModelCall

_log = logging.getLogger("parley.metrics")


class EmfMeter:
    """Implements Meter. Dimensions: service, provider, form; beside them model, purpose, outcome, error class."""

    def __init__(self, namespace: str, service: str | None = None) -> None:
        self._namespace = namespace
        self._service = service

    def model_call(self, call: ModelCall) -> None:
        """See the port. A failed call has a latency too; an interrupted one is a call and no failure."""
        try:
            metrics = EphemeralMetrics(namespace=self._namespace, service=self._service)
            metrics.add_dimension(name="provider", value=call.provider)
            metrics.add_dimension(name="form", value=call.form)
            metrics.add_metadata(key="model", value=call.model)
            metrics.add_metadata(key="purpose", value=call.purpose)
            metrics.add_metadata(key="outcome", value=call.outcome)
            if call.failure:
                metrics.add_metadata(key="error", value=call.failure)
            failed = int(call.outcome == "failed")
            metrics.add_metric(name="ModelCalls", unit=MetricUnit.Count, value=1)
            metrics.add_metric(name="ModelFailures", unit=MetricUnit.Count, value=failed)
            metrics.add_metric(
                name="ModelLatency", unit=MetricUnit.Milliseconds, value=round(call.seconds * 1000, 1)
            )
            if call.usage is not None:
                metrics.add_metric(name="InputTokens", unit=MetricUnit.Count, value=call.usage.input_tokens)
                metrics.add_metric(name="OutputTokens", unit=MetricUnit.Count, value=call.usage.output_tokens)
            metrics.flush_metrics()
        except Exception:  # noqa: BLE001 - a reply is worth more than its measurement
            _log.warning("a model call could not be counted", exc_info=True)
