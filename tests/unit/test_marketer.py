"""The marketer pack: its data, its functions, its agents."""

from typing import Any

import pytest

import parley_marketer
from parley.clock import MovableClock
from parley.domain.agents import ClassFunction, SubagentFunction
from parley.domain.documents import content_fault, id_fault, title_of
from parley.prompts.question import confirmation_question
from parley.tools.data import ProjectData
from parley.tools.registry import FunctionRegistry
from parley.turns.function_ports import FunctionCall, FunctionOutcome
from parley_marketer.data import PACK, order_key, product_key
from parley_marketer.orders import IssueRefund
from tests.support.memory_store import MemoryStore


class Shop:
    """A project with the demo's data."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.clock = MovableClock()
        self.functions = FunctionRegistry(self.store, self.clock, ("parley_marketer",))
        self.data = ProjectData(self.store, "demo", PACK)
        parley_marketer.install(self.store, "demo", self.clock)

    def call(self, name: str, key: str = "key-1", **arguments: Any) -> FunctionOutcome:
        return self.functions.call(FunctionCall(name, arguments, "dev", "demo", "a", "t", key))


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_installing_again_changes_nothing(shop: Shop) -> None:
    shop.call("issueRefund", order_id="A-1001")
    before = dict(shop.store.items)
    parley_marketer.install(shop.store, "demo", shop.clock)
    assert shop.store.items == before


def test_an_installation_that_broke_off_is_completed_and_keeps_what_is_there(shop: Shop) -> None:
    shop.call("issueRefund", order_id="A-1001")
    refunded = shop.data.get(order_key("A-1001"))
    shop.data.delete("installed")
    shop.data.delete(product_key(50))
    parley_marketer.install(shop.store, "demo", shop.clock)
    assert shop.data.get(product_key(50)) is not None
    assert shop.data.get(order_key("A-1001")) == refunded


def test_the_data_are_products_1_to_50_and_ten_orders(shop: Shop) -> None:
    assert [entry.value["id"] for entry in shop.data.list("product/")] == list(range(1, 51))
    orders = [entry.value["id"] for entry in shop.data.list("order/")]
    assert (orders[0], orders[-1], len(orders)) == ("A-1001", "A-1010", 10)
    assert len({entry.value["name"] for entry in shop.data.list("product/")}) > 20


@pytest.mark.parametrize("measure", ["revenue", "units", "clicks"])
def test_top_products_come_in_order_as_text_and_table(shop: Shop, measure: str) -> None:
    outcome = shop.call("getTopProducts", limit=5, sortBy=measure)
    table = outcome.additional_data["table_data"]
    column = table["columns"].index(measure)
    figures = [float(row[column]) for row in table["rows"]]
    assert figures == sorted(figures, reverse=True)
    assert len(table["rows"]) == len(outcome.content.splitlines()) - 1 == 5


def test_top_products_have_limits(shop: Shop) -> None:
    assert len(shop.call("getTopProducts").additional_data["table_data"]["rows"]) == 10
    words = "Validation failed: limit must be between 1 and 100"
    assert shop.call("getTopProducts", limit=101).content == words


def test_a_refund_happens_once_and_its_repetition_says_the_same(shop: Shop) -> None:
    first = shop.call("issueRefund", order_id="A-1001", reason="late")
    puts = shop.store.puts
    shop.clock.advance(60)
    assert shop.call("issueRefund", order_id="A-1001", reason="late") == first
    assert shop.store.puts == puts
    assert first.ok
    total = shop.data.get(order_key("A-1001"))
    assert total is not None
    assert total.value["refund"]["amount_cents"] == total.value["total_cents"]


def test_an_order_that_another_action_refunded_is_refused(shop: Shop) -> None:
    shop.call("issueRefund", order_id="A-1001")
    again = shop.call("issueRefund", "key-2", order_id="A-1001")
    assert not again.ok
    assert "already refunded" in again.content


def test_an_unknown_order_is_answered_with_those_that_exist(shop: Shop) -> None:
    outcome = shop.call("issueRefund", order_id="B-7")
    assert not outcome.ok
    assert "A-1001" in outcome.content
    assert "A-1010" in outcome.content


@pytest.mark.parametrize(("amount", "cents"), [("20", 2000), (20.1, 2010), ("0.10", 10), (7, 700)])
def test_amounts_are_exact(shop: Shop, amount: Any, cents: int) -> None:
    assert shop.call("issueRefund", order_id="a-1001", amount=amount).ok
    entry = shop.data.get(order_key("A-1001"))
    assert entry is not None
    assert entry.value["refund"]["amount_cents"] == cents


@pytest.mark.parametrize("amount", [0, -1, "x", 1.234, True, float("nan"), "1e9"])
def test_amounts_that_are_none_are_refused(shop: Shop, amount: Any) -> None:
    assert not shop.call("issueRefund", order_id="A-1001", amount=amount).ok
    entry = shop.data.get(order_key("A-1001"))
    assert entry is not None
    assert entry.value["refund"] is None


def test_prompts_are_told_which_orders_can_be_refunded(shop: Shop) -> None:
    shop.call("issueRefund", order_id="A-1001")
    told = shop.functions.prompt_context(
        ["issueRefund", "getTopProducts"], user_id="dev", project_id="demo", agent_id="a", thread_id="t"
    )
    assert len(told) == 1
    assert told[0].startswith("Orders not yet refunded: A-1002, A-1003")


def test_the_question_reads_well_with_and_without_an_amount() -> None:
    question = IssueRefund.confirmation_question
    assert confirmation_question(question, "issueRefund", {"order_id": "A-1001"}) == (
        "Refund the whole amount for order A-1001?"
    )
    assert confirmation_question(question, "issueRefund", {"order_id": "A-1001", "amount": "5"}) == (
        "Refund 5 for order A-1001?"
    )


def test_labels_change_for_all_products_or_for_none(shop: Shop) -> None:
    outcome = shop.call("changeCustomLabel", products=[1, 2, 2], label="Sale")
    assert outcome.content == "Changed custom_label_0 to 'Sale' for 2 products."
    puts = shop.store.puts
    assert shop.call("changeCustomLabel", products=[1, 2], label="Sale").ok
    missing = shop.call("changeCustomLabel", products=[3, 999], label="Sale")
    assert not missing.ok
    assert "999" in missing.content
    assert shop.store.puts == puts


def test_a_changed_label_is_seen_with_the_product_from_then_on(shop: Shop) -> None:
    best = shop.call("getTopProducts", limit=2)
    assert "custom_label" not in best.content
    first, second = (row[0] for row in best.additional_data["table_data"]["rows"])
    changed = shop.call("changeCustomLabel", products=[first], label="  Sale ", field="custom_label_2")
    seen = shop.call("getTopProducts", limit=2)
    assert [line.endswith(", custom_label_2 'Sale'") for line in seen.content.splitlines()] == [
        False,
        True,
        False,
    ]
    rows = seen.additional_data["table_data"]["rows"]
    assert [row[-1] for row in rows] == ["custom_label_2 'Sale'", ""]
    assert [row[0] for row in rows] == [first, second]
    assert changed.additional_data["table_data"]["rows"] == rows[:1]


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "a\x1bb", "x" * 201])
def test_texts_that_stand_in_lists_are_one_line_with_something_in_it(shop: Shop, text: str) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("changeCustomLabel", {"products": [1], "label": text}),
        ("createTask", {"title": text}),
        ("addNegativeKeywords", {"campaign_id": 1, "keywords": [text]}),
    ]
    for name, arguments in calls:
        outcome = shop.call(name, **arguments)
        assert not outcome.ok
        assert outcome.content.startswith("Validation failed: ")


def test_the_page_is_shown_what_an_action_changed(shop: Shop) -> None:
    def rows(name: str, key: str, **arguments: Any) -> list[list[Any]]:
        return list(shop.call(name, key, **arguments).additional_data["table_data"]["rows"])

    assert rows("editCampaignStatus", "1", campaign_id=3, status="enabled")[2][2] == "enabled"
    campaigns = rows("addNegativeKeywords", "2", campaign_id=3, keywords=["Free", " free ", "used"])
    assert campaigns[2] == [3, "Clearance", "enabled", "Free, used"]
    assert [row[1] for row in rows("createTask", "3", title="First")] == ["First"]
    shop.clock.advance(60)
    assert [row[1] for row in rows("createTask", "4", title="Second")] == ["Second", "First"]
    assert [row[0] for row in rows("duplicateProducts", "5", products=[7, 9])] == [51, 52]
    assert rows("issueRefund", "6", order_id="a-1002", amount="5", reason="late")[0][3:] == ["5.00", "late"]


def test_copies_are_made_once_per_call(shop: Shop) -> None:
    first = shop.call("duplicateProducts", products=[1, 2])
    assert shop.call("duplicateProducts", products=[1, 2]) == first
    assert first.additional_data["copies"] == [51, 52]
    assert shop.call("duplicateProducts", "key-2", products=[3]).additional_data["copies"] == [53]
    assert len(shop.data.list("product/")) == 53


def test_a_task_is_created_once_per_call(shop: Shop) -> None:
    first = shop.call("createTask", title="Call Bob")
    assert shop.call("createTask", title="Call Bob") == first
    assert shop.call("createTask", "key-2", title="Call Bob") != first
    assert len(shop.data.list("task/")) == 2


def test_campaigns_are_paused_and_get_keywords(shop: Shop) -> None:
    assert shop.call("editCampaignStatus", campaign_id=1, status="paused").ok
    shop.call("addNegativeKeywords", campaign_id=1, keywords=["free", "cheap"])
    outcome = shop.call("addNegativeKeywords", campaign_id=1, keywords=["cheap", "used"])
    assert outcome.content.endswith("free, cheap, used.")
    assert not shop.call("editCampaignStatus", campaign_id=9, status="paused").ok


def test_every_function_of_the_agents_exists() -> None:
    classes = {function.name for function in parley_marketer.functions()}
    agents = {agent.agent_id: agent for agent in parley_marketer.agents()}
    for agent in agents.values():
        assert (agent.provider, agent.model) == ("scripted", "demo")
        for function in agent.functions:
            match function.implementation:
                case ClassFunction(class_name=name):
                    assert name in classes
                case SubagentFunction(subagent_id=name):
                    assert name in agents
                case remote:
                    pytest.fail(f"the demo works with no network, and {remote} needs one")


def test_the_documents_are_short_texts_that_a_knowledge_base_takes() -> None:
    documents = parley_marketer.documents()
    assert sorted(documents) == ["campaign-checklist.md", "label-guide.md", "returns-policy.md"]
    for document_id, content in documents.items():
        assert id_fault(document_id) is None
        assert content_fault(content) is None
        assert title_of(document_id, content) != document_id


def test_projects_do_not_share_their_data(shop: Shop) -> None:
    parley_marketer.install(shop.store, "other", shop.clock)
    shop.call("issueRefund", order_id="A-1001")
    entry = ProjectData(shop.store, "other", PACK).get(order_key("A-1001"))
    assert entry is not None
    assert entry.value["refund"] is None
