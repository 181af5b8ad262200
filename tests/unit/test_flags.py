"""Feature flags: Powertools' rules from a file and from AppConfig, and what stands when they cannot be read."""

import io
import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from aws_lambda_powertools.utilities.feature_flags.exceptions import ConfigurationStoreError
from botocore.config import Config
from botocore.response import StreamingBody
from botocore.stub import Stubber

from parley.aws.flags import appconfig_flags
from parley.embedded.flags import BadFlags, FileFlags
from parley.rollout import RuleFlags, check_flags
from parley.turns.rollout_ports import NoFlags, PromptFacts

OLD_FOR_OLLAMA = {
    "message_form": {
        "boolean_type": False,
        "default": "messages",
        "rules": {
            "ollama as before": {
                "when_match": "concatenated",
                "conditions": [{"action": "EQUALS", "key": "provider", "value": "ollama"}],
            }
        },
    }
}


def facts(provider: str = "openai", thread: str = "t") -> PromptFacts:
    return PromptFacts(provider, "m", "a", "p", "u", thread)


class Store:
    """A store that gives or raises what a test puts there."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.asked = 0

    def get_configuration(self) -> Any:
        self.asked += 1
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


def flags_in(path: Path, text: str) -> FileFlags:
    path.write_text(text, encoding="utf-8")
    return FileFlags(path)


def test_without_flags_everybody_gets_messages(tmp_path: Path) -> None:
    assert NoFlags().message_form(facts()) == "messages"
    missing = FileFlags(tmp_path / "flags.json")
    missing.check()
    assert missing.message_form(facts()) == "messages"


def test_a_rollout_goes_provider_by_provider(tmp_path: Path) -> None:
    flags = flags_in(tmp_path / "flags.json", json.dumps(OLD_FOR_OLLAMA))
    assert flags.message_form(facts("ollama")) == "concatenated"
    assert flags.message_form(facts("openai")) == "messages"


def test_the_same_flags_may_be_written_in_toml(tmp_path: Path) -> None:
    text = """
        [message_form]
        boolean_type = false
        default = "concatenated"
        [message_form.rules."new for two"]
        when_match = "messages"
        conditions = [{action = "IN", key = "provider", value = ["groq", "openai"]}]
    """
    flags = flags_in(tmp_path / "flags.toml", text)
    assert [flags.message_form(facts(name)) for name in ("groq", "replicate")] == ["messages", "concatenated"]


def test_a_changed_file_counts_from_the_next_prompt_on(tmp_path: Path) -> None:
    path = tmp_path / "flags.json"
    flags = flags_in(path, json.dumps(OLD_FOR_OLLAMA))
    assert flags.message_form(facts("ollama")) == "concatenated"
    path.write_text("{}")
    assert flags.message_form(facts("ollama")) == "messages"
    path.unlink()
    assert flags.message_form(facts("ollama")) == "messages"


def test_a_thread_keeps_its_side_while_the_share_grows() -> None:
    def share(percent: int) -> set[str]:
        conditions = [
            {
                "action": "MODULO_RANGE",
                "key": "thread_percent",
                "value": {"BASE": 100, "START": 0, "END": percent - 1},
            }
        ]
        rule = {"when_match": "concatenated", "conditions": conditions}
        configured = {"message_form": {"boolean_type": False, "default": "messages", "rules": {"some": rule}}}
        flags = RuleFlags(Store(configured))  # type: ignore[arg-type]
        threads = [f"thread-{number}" for number in range(300)]
        return {thread for thread in threads if flags.message_form(facts(thread=thread)) == "concatenated"}

    few, many = share(20), share(60)
    assert few < many
    assert 30 < len(few) < 90
    assert 130 < len(many) < 230


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "[]",
        '{"message_form": {}}',
        '{"message_form": {"default": true}}',
        '{"message_form": {"boolean_type": false, "default": "letters"}}',
    ],
)
def test_a_file_that_cannot_be_used_is_told_at_the_start(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadFlags, match=r"flags\.json"):
        flags_in(tmp_path / "flags.json", text).check()


def test_a_file_that_breaks_later_leaves_what_was_known(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "flags.json"
    flags = flags_in(path, json.dumps(OLD_FOR_OLLAMA))
    assert flags.message_form(facts("ollama")) == "concatenated"
    path.write_text("{")
    assert flags.message_form(facts("ollama")) == "concatenated"
    assert flags.message_form(facts("ollama")) == "concatenated"
    assert caplog.text.count("the last ones stay") == 1


def test_a_source_that_fails_is_left_alone_for_a_while() -> None:
    now = [0.0]
    store = Store(ConfigurationStoreError("no answer"))
    flags = RuleFlags(store, monotonic=lambda: now[0])  # type: ignore[arg-type]
    assert [flags.message_form(facts("ollama")) for _ in range(5)] == ["messages"] * 5
    assert store.asked == 1
    now[0], store.given = 61.0, OLD_FOR_OLLAMA
    assert flags.message_form(facts("ollama")) == "concatenated"


def appconfig() -> tuple[Any, Stubber]:
    client: Any = boto3.client(
        "appconfigdata",
        region_name="eu-central-1",
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=Config(retries={"total_max_attempts": 1}),
    )
    return client, Stubber(client)


def test_appconfig_is_asked_once_a_minute() -> None:
    client, stub = appconfig()
    body = json.dumps(OLD_FOR_OLLAMA).encode()
    wanted = {
        "ApplicationIdentifier": "parley",
        "EnvironmentIdentifier": "live",
        "ConfigurationProfileIdentifier": "flags",
    }
    stub.add_response("start_configuration_session", {"InitialConfigurationToken": "1"}, wanted)
    stub.add_response(
        "get_latest_configuration",
        {
            "NextPollConfigurationToken": "2",
            "Configuration": StreamingBody(io.BytesIO(body), len(body)),
            "ContentType": "application/json",
        },
        {"ConfigurationToken": "1"},
    )
    with stub:
        flags = appconfig_flags(client, "parley", "live", "flags")
        forms = [flags.message_form(facts(name)) for name in ("ollama", "openai", "ollama")]
    assert forms == ["concatenated", "messages", "concatenated"]
    stub.assert_no_pending_responses()


@pytest.mark.parametrize(
    "code", ["ResourceNotFoundException", "AccessDeniedException", "ThrottlingException"]
)
def test_an_appconfig_that_does_not_answer_fails_no_turn(code: str) -> None:
    client, stub = appconfig()
    stub.add_client_error("start_configuration_session", code)
    with stub:
        assert appconfig_flags(client, "parley", "live", "flags").message_form(facts("ollama")) == "messages"


def test_what_is_wrong_with_flags_is_said_in_words() -> None:
    assert check_flags(OLD_FOR_OLLAMA) is None
    assert check_flags({"another": {"default": True}}) is None
    wrong = {"message_form": {"boolean_type": False, "default": "letters"}}
    assert check_flags(wrong) == "message_form must be messages or concatenated, not 'letters'"


def test_the_documented_flags_can_be_used_and_do_what_is_said() -> None:
    documented = documented_json("migration.md", "message_form")
    assert check_flags(documented) is None
    flags = RuleFlags(Store(documented))  # type: ignore[arg-type]
    assert [flags.message_form(facts(name)) for name in ("replicate", "openai")] == [
        "concatenated",
        "messages",
    ]
    threads = [flags.message_form(facts("ollama", f"thread-{number}")) for number in range(400)]
    assert 60 < threads.count("messages") < 140


def documented_json(page: str, key: str) -> Any:
    """The first JSON object of a page that has the key."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    blocks = (json.loads(block.partition("```")[0]) for block in text.split("```json\n")[1:])
    return next(block for block in blocks if key in block)
