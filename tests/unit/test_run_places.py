"""Which turn, model call and tool call a visited state is said to have worked on."""

from parley.turns.ports import StateVisit
from parley.turns.run_places import Place, places

TURN = ["BuildPrompt", "PromptReady", "InvokeModel", "ModelReplied"]
END = ["RecordReply", "TurnDone"]


def visits(*names: str | tuple[str, str] | tuple[str, str, int]) -> list[StateVisit]:
    """A visit per name; a pair has the outcome too, three the call besides."""
    made = []
    for entry in names:
        name, outcome, *call = (entry, "succeeded") if isinstance(entry, str) else entry
        made.append(StateVisit(name, "Task", 0.0, 0.0, outcome, iteration=tuple(call)))
    return made


def of(name: str, entered: list[StateVisit], first_turn: int = 1) -> list[Place]:
    """The places of the visits of one state."""
    found = places(entered, first_turn)
    return [place for visit, place in zip(entered, found, strict=True) if visit.name == name]


def test_each_turn_of_a_run_has_its_own_states_and_receiving_belongs_to_none() -> None:
    entered = visits("Start", "ReceiveMessage", *TURN, *END, "ReceiveMessage", *TURN, *END, "ReceiveMessage")
    assert of("InvokeModel", entered, 4) == [Place(4, 1), Place(5, 1)]
    assert of("RecordReply", entered, 4) == [Place(4), Place(5)]
    assert of("ReceiveMessage", entered, 4) == [Place()] * 3


def test_what_happens_inside_the_map_belongs_to_the_call_of_its_iteration() -> None:
    calls = [("RunTool", "succeeded", 1), ("AwaitConfirmation", "succeeded", 0), ("RunTool", "succeeded", 0)]
    entered = visits(*TURN, "HandleToolCalls", *calls, *TURN, *END)
    assert of("RunTool", entered) == [Place(1, 1, 1), Place(1, 1, 0)]
    assert of("AwaitConfirmation", entered) == [Place(1, 1, 0)]
    assert of("InvokeModel", entered) == [Place(1, 1), Place(1, 2)]
    assert of("HandleToolCalls", entered) == [Place(1, 1)]


def test_a_model_call_that_was_put_off_is_the_same_one() -> None:
    entered = visits(*TURN, "WaitForProvider", "InvokeModel", "ModelReplied", *END)
    assert of("InvokeModel", entered) == [Place(1, 1), Place(1, 1)]


def test_suggestions_belong_to_the_turn_that_they_follow() -> None:
    entered = visits(*TURN, *END, "ProposeActions", "TurnDone", "ReceiveMessage", *TURN)
    assert of("ProposeActions", entered) == [Place(1)]
    assert of("InvokeModel", entered)[-1] == Place(2, 1)


def test_a_run_that_died_goes_on_in_the_turn_and_the_model_call_where_it_was() -> None:
    first = visits("ReceiveMessage", *TURN, "HandleToolCalls", *TURN[:2], ("InvokeModel", "aborted"))
    again = visits("Start", "ReceiveMessage", *TURN, *END)
    assert of("InvokeModel", first + again) == [Place(1, 1), Place(1, 2), Place(1, 2)]
    assert of("RecordReply", first + again) == [Place(1)]


def test_a_failed_turn_is_over_as_a_finished_one_is() -> None:
    entered = visits(*TURN[:2], ("InvokeModel", "failed"), "FailTurn", "TurnDone", "ReceiveMessage", *TURN)
    assert of("FailTurn", entered) == [Place(1)]
    assert of("InvokeModel", entered) == [Place(1, 1), Place(2, 1)]
