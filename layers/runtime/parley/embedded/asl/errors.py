"""The two ways in which a machine fails: its definition is refused, or a state reports an error."""

RUNTIME = "States.Runtime"
DATA_LIMIT = "States.DataLimitExceeded"
TIMEOUT = "States.Timeout"
TASK_FAILED = "States.TaskFailed"
ALL = "States.ALL"
NO_CHOICE_MATCHED = "States.NoChoiceMatched"
RESULT_PATH = "States.ResultPathMatchFailure"
INTRINSIC = "States.IntrinsicFailure"

# "States.ALL can't catch the States.DataLimitExceeded terminal error or Runtime error types"
# (Developer Guide, "Handling errors in Step Functions workflows").
ESCAPES_ALL = frozenset({RUNTIME, DATA_LIMIT})


class DefinitionError(ValueError):
    """A definition has something that this interpreter does not run. Names the state and the field.

    state: the state's name, "" for the machine itself. field: the field, with its place inside if nested.
    """

    def __init__(self, state: str, field: str, reason: str) -> None:
        place = f"state {state!r}" if state else "the machine"
        super().__init__(f"{place}, field {field!r}: {reason}")
        self.state = state
        self.field = field
        self.reason = reason


class StateError(Exception):
    """A state reports an error: its name, as Retry and Catch match it, and its cause in words or JSON."""

    def __init__(self, error: str, cause: str = "") -> None:
        super().__init__(f"{error}: {cause}")
        self.error = error
        self.cause = cause


def matches(error: str, names: frozenset[str]) -> bool:
    """Whether a Retry's or Catch's ErrorEquals `names` take `error`.

    States.Runtime "will always cause the execution to fail", whatever names it; States.TaskFailed stands for
    any error but States.Timeout (same page). It is read as not standing for the two terminal errors either.
    """
    if error == RUNTIME:
        return False
    if error in names:
        return True
    if error in ESCAPES_ALL:
        return False
    return ALL in names or (TASK_FAILED in names and error != TIMEOUT)
