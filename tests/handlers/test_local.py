"""What docs/sam-local.md tells to do, as far as it goes without containers."""

import json
import runpy

import pytest

from parley import assets, wiring
from tests.support.deployment import Context
from tests.support.machine import ROOT
from tests.support.moto_aws import mocked_aws
from tests.support.template import source

LOCAL = ROOT / "events" / "local"
VARIABLES = json.loads((LOCAL / "env.json").read_text(encoding="utf-8"))["Parameters"]


def test_sam_local_hands_over_every_variable_that_is_set_for_it() -> None:
    template = source()
    named = set(template["Globals"]["Function"]["Environment"]["Variables"])
    for resource in template["Resources"].values():
        named |= set(resource["Properties"].get("Environment", {}).get("Variables", {}))
    assert VARIABLES.keys() <= named


def test_the_preparation_may_be_repeated_and_lets_a_story_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    with mocked_aws():
        for _ in range(2):
            runpy.run_path(str(LOCAL / "prepare.py"), run_name="__main__")
        monkeypatch.setattr(wiring, "_used", wiring.aws_runtime(VARIABLES))
        event = json.loads((ROOT / "events" / "api-post-chat.json").read_text(encoding="utf-8"))
        answer = assets.handler("on_http.api.handler")(event, Context("ApiFunction"))
        assert answer["statusCode"] == 200
        ticket = json.loads((ROOT / "events" / "socket-authorize.json").read_text(encoding="utf-8"))
        policy = assets.handler("on_socket.authorize.handler")(ticket, Context("SocketAuthorizerFunction"))
        assert policy["principalId"] == "dev"
