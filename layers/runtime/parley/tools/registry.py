"""The registered function classes, and how one is called.

Owns where classes come from and what a model is told when a call goes wrong. Infrastructure errors (our own
ParleyError classes, but for a Refusal) pass through: the task that calls is retried, the function is not to blame.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.metadata import entry_points
from typing import Any

from pydantic import ValidationError

from parley.domain.agents import AgentFunction, ClassFunction, ImageModel
from parley.domain.errors import InvalidRequest, ParleyError, Refusal
from parley.tools import builtin
from parley.tools.data import ProjectData
from parley.tools.function import Function, FunctionContext, FunctionFailed, FunctionResult, pack_of
from parley.tools.packs import by_name, from_modules
from parley.tools.remote import RemoteFunctions
from parley.tools.results import clean_content, clean_data
from parley.tools.schema import parameters_of
from parley.tools.settling import check_templates, settle_functions
from parley.tools.validation import validation_failed
from parley.turns.documents import Documents
from parley.turns.files import ProjectFiles
from parley.turns.function_call import wait_for
from parley.turns.function_ports import FunctionCall, FunctionOutcome, FunctionSpec, RemoteCall
from parley.turns.knowledge import ProjectKnowledge
from parley.turns.knowledge_ports import Knowledge
from parley.turns.model_ports import Image, ImageMakers, ImageOptions
from parley.turns.ports import Blobs, Clock, Store

ENTRY_POINTS = "parley.functions"
FACTS_SECONDS = 5.0
"""How long a prompt waits for what a class wants said in it."""
CHECK_SECONDS = 5.0
"""How long a class's own validators may take."""
_LOG = logging.getLogger("parley.functions")


class FunctionRegistry:
    """Implements the Functions port.

    Classes come from the entry points, from ``functions()`` of each of ``modules``, and from
    ``classes``. They are looked for at the first use, once. With ``blobs``, where workspace files lie, there are
    the runtime's own as well; ``image_makers`` make their pictures, ``knowledge`` finds their passages. ``remote``
    calls what runs elsewhere.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        modules: Sequence[str] = (),
        *,
        classes: Iterable[type[Function]] = (),
        blobs: Blobs | None = None,
        image_makers: ImageMakers | None = None,
        knowledge: Knowledge | None = None,
        remote: RemoteFunctions | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._modules = tuple(modules)
        self._given = (*classes, *(builtin.functions() if blobs is not None else ()))
        self._blobs = blobs
        self._image_makers = image_makers
        self._knowledge = knowledge
        self.remote = remote
        self._lock = threading.Lock()
        self._found: dict[str, type[Function]] | None = None
        self._specs: dict[str, FunctionSpec] = {}

    def classes(self) -> dict[str, type[Function]]:
        """All classes by name. Raises PackFailed."""
        with self._lock:
            if self._found is None:
                self._found = by_name([*self._given, *_from_entry_points(), *from_modules(self._modules)])
            return self._found

    def spec(self, class_name: str) -> FunctionSpec | None:
        """See the port."""
        known = self._specs.get(class_name)
        if known is not None:
            return known
        function = self.classes().get(class_name)
        if function is None:
            return None
        # Asked for with every task of a turn, and slow to make.
        self._specs[class_name] = spec = FunctionSpec(
            class_name=class_name,
            description=function.description,
            parameters=parameters_of(function.Arguments),
            requires_user_confirmation=function.requires_user_confirmation,
            confirmation_question=function.confirmation_question,
            time_limit_seconds=function.time_limit_seconds,
        )
        return spec

    def validate(self, class_name: str, arguments: dict[str, Any]) -> str | None:
        """None if the arguments fit the class; otherwise ``Validation failed: …`` naming the field."""
        function = self.classes().get(class_name)
        if function is None:
            return _unknown(class_name)
        read: list[Any] = []

        def check() -> FunctionOutcome:
            read.append(_read(function, arguments))
            return FunctionOutcome("")

        # The validators are a pack's own code, and may hang.
        wait_for(check, class_name, CHECK_SECONDS, CHECK_SECONDS, lambda: True)
        if not read:
            return f"{class_name} did not check its arguments within {CHECK_SECONDS:g} s. Nothing was done."
        return read[0] if isinstance(read[0], str) else None

    def fault(self, function: AgentFunction, arguments: dict[str, Any]) -> str | None:
        """See the port. A class knows more of its arguments than a schema can say."""
        if isinstance(function.implementation, ClassFunction):
            return self.validate(function.implementation.class_name, arguments)
        schema = function.parameters or {}
        if not any(value for word, value in schema.items() if word != "type"):
            return None  # it asks for nothing, and loading what checks it takes a while
        from parley.tools.json_schema import arguments_fault  # noqa: PLC0415 - see there

        return arguments_fault(schema, arguments)

    def settled(self, project_id: str, functions: Sequence[AgentFunction]) -> tuple[AgentFunction, ...]:
        """See the port."""
        for function in functions:
            if isinstance(function.implementation, ClassFunction):
                name = function.implementation.class_name
                if (spec := self.spec(name)) is None:
                    known = f"installed are: {', '.join(sorted(self.classes())[:50])}"
                    words = f"{function.name}: no installed pack has a function class {name}; {known}"
                    raise InvalidRequest("invalid_request", f"functions: {words}.")
                check_templates(function, function.parameters or spec.parameters)
        return settle_functions(functions, project_id, self.remote)

    def call(self, call: FunctionCall | RemoteCall) -> FunctionOutcome:
        """See the port. Raises ParleyError when the store fails."""
        if isinstance(call, RemoteCall):
            if self.remote is None:
                return FunctionOutcome(
                    f"{call.name} runs elsewhere, and nothing is called from here.", ok=False
                )
            return self.remote.call(call)
        function = self.classes().get(call.class_name)
        if function is None:
            return FunctionOutcome(_unknown(call.class_name), ok=False)
        read = _read(function, call.arguments)
        if isinstance(read, str):
            return FunctionOutcome(read, ok=False)
        try:
            result = function(self._context(function, call)).handle(read)
            return _outcome(result)
        except (FunctionFailed, Refusal) as error:
            return FunctionOutcome(clean_content(str(error)) or f"{call.class_name} failed.", ok=False)
        except ParleyError:
            raise
        except BaseException as error:  # a pack may raise anything; the turn goes on
            if not _raised_by_a_function(error):
                raise
            _LOG.exception("function %s failed", call.class_name)
            words = f"{call.class_name} failed with an unexpected error ({type(error).__name__})."
            return FunctionOutcome(words, ok=False)

    def prompt_context(
        self, class_names: Iterable[str], *, user_id: str, project_id: str, agent_id: str, thread_id: str
    ) -> list[str]:
        """What the classes want every prompt that offers them to say. One that fails or is too slow says nothing."""
        paragraphs: list[str] = []
        for name in dict.fromkeys(class_names):
            function = self.classes().get(name)
            if function is None or function.prompt_context is Function.prompt_context:
                continue
            call = FunctionCall(name, {}, user_id, project_id, agent_id, thread_id, idempotency_key="")
            facts = partial(self._facts, function, call)
            # Never asked whether to go on: it is over before a person could want it to be.
            told = wait_for(facts, name, FACTS_SECONDS, FACTS_SECONDS, lambda: True)
            if not told.ok:
                _LOG.warning("prompt_context of %s took more than %g s: left out", name, FACTS_SECONDS)
            elif told.content:
                paragraphs.append(told.content)
        return paragraphs

    def _facts(self, function: type[Function], call: FunctionCall) -> FunctionOutcome:
        try:
            return FunctionOutcome(clean_content(function(self._context(function, call)).prompt_context()))
        except ParleyError:
            raise
        except BaseException as error:  # facts that cannot be read must not stop a turn
            if not _raised_by_a_function(error):
                raise
            _LOG.exception("prompt_context of %s failed", call.class_name)
            return FunctionOutcome("")

    def _context(self, function: type[Function], call: FunctionCall) -> FunctionContext:
        return FunctionContext(
            user_id=call.user_id,
            project_id=call.project_id,
            agent_id=call.agent_id,
            thread_id=call.thread_id,
            idempotency_key=call.idempotency_key,
            data=ProjectData(self._store, call.project_id, pack_of(function)),
            clock=self._clock,
            files=None if self._blobs is None else ProjectFiles(self._blobs, call.project_id),
            imagine=self._imagine(call.images),
            knowledge=self._project_knowledge(call.project_id),
        )

    def _project_knowledge(self, project_id: str) -> ProjectKnowledge | None:
        if self._knowledge is None or self._blobs is None:
            return None
        documents = Documents(self._store, self._blobs, self._clock, project_id)
        return ProjectKnowledge(documents, self._knowledge, project_id)

    def _imagine(self, model: ImageModel | None) -> Callable[[str], Image] | None:
        makers = self._image_makers
        if makers is None or model is None:
            return None
        options = ImageOptions(**model.model_dump(exclude={"provider"}))
        return lambda prompt: makers.image_maker(model.provider).imagine(prompt, options)


def _read(function: type[Function], arguments: dict[str, Any]) -> Any:
    """The arguments as the class's model, or words that say what is wrong with them."""
    try:
        return function.Arguments.model_validate(arguments)
    except ValidationError as error:
        return validation_failed(error, function.Arguments)
    except BaseException as error:  # a pack's own validators may raise anything
        if not _raised_by_a_function(error):
            raise
        _LOG.exception("the arguments of function %s could not be checked", function.name)
        return f"{function.name} failed to check its arguments ({type(error).__name__}). Nothing was done."


def _raised_by_a_function(error: BaseException) -> bool:
    """False for a worker that dies, whose call must not be answered: the one kind that is none of these.

    A call has a thread of its own, so nobody's Ctrl-C arrives there, and nobody cancels a task in it from outside.
    """
    if isinstance(error, Exception | SystemExit | KeyboardInterrupt | BaseExceptionGroup):
        return True
    from asyncio import CancelledError  # noqa: PLC0415 - slow to import, and only what has imported it raises it

    return isinstance(error, CancelledError)


def _outcome(result: object) -> FunctionOutcome:
    if isinstance(result, FunctionResult):
        return FunctionOutcome(clean_content(str(result.content)), True, clean_data(result.additional_data))
    if isinstance(result, str):
        return FunctionOutcome(clean_content(result))
    raise TypeError(f"handle returned {type(result).__name__}, not text or a FunctionResult")


def _unknown(class_name: str) -> str:
    return f"There is no function {class_name!r}."


def _from_entry_points() -> list[type[Function]]:
    found: list[type[Function]] = []
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        load: Callable[[], Iterable[type[Function]]] = entry.load()
        found.extend(load())
    return found
