from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from parley.aws import clients
from parley.aws.secrets import KEPT_SECONDS, SsmSecrets
from parley.clock import MovableClock
from parley.domain.errors import StoreUnavailable
from tests.support.moto_aws import MockedAws


@pytest.fixture
def client(aws: MockedAws) -> Any:
    return clients.ssm(aws.session)


def test_a_secret_is_read_decrypted_and_a_missing_one_is_none(client: Any, clock: MovableClock) -> None:
    client.put_parameter(Name="/parley/test/OPENAI_API_KEY", Value="sk-1", Type="SecureString")
    secrets = SsmSecrets(client, "/parley/test/", clock)
    assert secrets.get("OPENAI_API_KEY") == "sk-1"
    assert secrets.get("OTHER_API_KEY") is None


def test_a_value_and_its_absence_are_kept_for_minutes(client: Any, clock: MovableClock) -> None:
    secrets = SsmSecrets(client, "/parley/kept", clock)
    assert secrets.get("KEY") is None
    client.put_parameter(Name="/parley/kept/KEY", Value="new", Type="SecureString")
    clock.advance(KEPT_SECONDS - 1)
    assert secrets.get("KEY") is None
    clock.advance(1)
    assert secrets.get("KEY") == "new"


def test_a_throttled_read_is_no_absence(client: Any, clock: MovableClock) -> None:
    secrets = SsmSecrets(client, "/parley/test", clock)
    with Stubber(client) as stubber:
        stubber.add_client_error("get_parameter", "ThrottlingException", http_status_code=400)
        with pytest.raises(StoreUnavailable):
            secrets.get("KEY")
        stubber.add_client_error("get_parameter", "AccessDeniedException", http_status_code=400)
        with pytest.raises(ClientError):
            secrets.get("KEY")
