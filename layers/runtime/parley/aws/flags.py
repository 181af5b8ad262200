"""Feature flags in AWS AppConfig: a freeform JSON profile with Powertools' schema."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.feature_flags import AppConfigStore

from parley.rollout import RuleFlags

KEPT_SECONDS = 60
"""How long a configuration is used before AppConfig is asked for a newer one."""


def appconfig_flags(client: Any, application: str, environment: str, profile: str) -> RuleFlags:
    """The flags of a profile, by names or ids; ``client`` is boto3's ``appconfigdata``."""
    store = AppConfigStore(
        environment=environment,
        application=application,
        name=profile,
        max_age=KEPT_SECONDS,
        boto3_client=client,
    )
    return RuleFlags(store)
