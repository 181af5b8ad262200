"""Cases about nested executions."""

from tests.statemachine.corpus import (
    Case,
    Echoes,
    Raises,
    Returns,
    Stop,
    Succeed,
    call,
    catch,
    each,
    flow,
    nested,
    passing,
    wait_for_token,
)

_CHILD = flow(("T", call("g")))

NESTED = [
    Case(
        name="a nested execution that succeeds",
        rule="sync:2 gives DescribeExecution's answer with Output as JSON. (Start from a running execution)",
        machines={
            "main": flow(
                (
                    "N",
                    nested(ResultSelector={"out.$": "$.Output", "status.$": "$.Status", "name.$": "$.Name"}),
                )
            ),
            "child": _CHILD,
        },
        input={"a": 1},
        functions={"g": [Echoes()]},
        output={"out": {"a": 1}, "status": "SUCCEEDED", "name": "child"},
        states=["N"],
    ),
    Case(
        name="a nested execution that fails",
        rule="The Task fails with States.TaskFailed; its cause is the execution as JSON. (Start from …)",
        machines={
            "main": flow(
                ("N", nested(Catch=[catch("States.TaskFailed")], End=True)),
                ("Caught", passing(Parameters={"e.$": "$.Error", "c.$": "States.StringToJson($.Cause)"})),
                ("Pick", passing(Parameters={"e.$": "$.e", "s.$": "$.c.Status", "inner.$": "$.c.Error"})),
            ),
            "child": _CHILD,
        },
        functions={"g": [Raises("Oops")]},
        output={"e": "States.TaskFailed", "s": "FAILED", "inner": "Oops"},
    ),
    Case(
        name="a nested execution under a name that was used",
        rule="StepFunctions.ExecutionAlreadyExistsException. (Start from a running execution)",
        machines={
            "main": flow(
                ("N", nested()),
                ("Again", nested(Catch=[catch("StepFunctions.ExecutionAlreadyExistsException")], End=True)),
                ("Caught", passing(Result="used")),
            ),
            "child": _CHILD,
        },
        functions={"g": [Returns()]},
        output="used",
        states=["N", "Again", "Caught"],
    ),
    Case(
        name="nested executions side by side, names from the input",
        rule="Each iteration may start its own. (Map state)",
        machines={
            "main": flow(("M", each(("N", nested("$.n", OutputPath="$.Output.n"))))),
            "child": _CHILD,
        },
        input=[{"n": "one"}, {"n": "two"}, {"n": "three"}],
        functions={"g": [Echoes()]},
        output=["one", "two", "three"],
    ),
    Case(
        name="a machine that nests itself",
        rule="$$.StateMachine.Id names the machine that runs. (Accessing the Context object)",
        machines={
            "main": flow(
                (
                    "Deep",
                    {
                        "Type": "Choice",
                        "Choices": [{"Variable": "$.depth", "NumericLessThan": 1, "Next": "Bottom"}],
                        "Default": "Down",
                    },
                ),
                (
                    "Down",
                    {
                        "Type": "Task",
                        "Resource": "arn:aws:states:::states:startExecution.sync:2",
                        "Parameters": {
                            "StateMachineArn.$": "$$.StateMachine.Id",
                            "Name.$": "States.Format('depth-{}', $.depth)",
                            "Input": {"depth.$": "States.MathAdd($.depth, -1)"},
                        },
                        "OutputPath": "$.Output",
                        "End": True,
                    },
                ),
                ("Bottom", passing(Result="bottom")),
            )
        },
        input={"depth": 2},
        output="bottom",
        states=["Deep", "Down"],
    ),
    Case(
        name="stopping the parent stops the child",
        rule="When the execution is stopped, Step Functions stops its sync task too. (Run a Job, .sync)",
        machines={"main": flow(("N", nested())), "child": flow(("T", wait_for_token("g")))},
        functions={"g": [Returns()]},
        signals=[
            Stop(after=("g", 1), error="Enough", cause="stopped"),
            Succeed(("g", 1), refused="TaskTimedOut"),
        ],
        status="ABORTED",
        error="Enough",
        cause="stopped",
        embedded_only="moto does not stop what an execution nests",
    ),
]
