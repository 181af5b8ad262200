"""Where things lie in the store: partition and sort keys, and the ids that are made from names.

Everything of a thread and its subthreads lies in the root thread's own partition, so that deleting a thread
is one sweep. Sort keys order as strings: numbers are padded. Decision record 1 has the table.
"""

from __future__ import annotations

import hashlib
import uuid
from urllib.parse import quote

_NAMESPACE = uuid.UUID("6f1c2f0e-5a3d-5c59-9d4b-0f2a7c1e8b64")

CONVERSATION = "CONVERSATION"
PROJECT = "PROJECT"
CONNECTION = "CONNECTION"
PROPOSAL = "PROPOSAL"
TICKET = "TICKET"
IMPORTED = "IMPORTED"


def _named(*parts: object) -> str:
    return str(uuid.uuid5(_NAMESPACE, "\x1f".join(str(part) for part in parts)))


def thread_id_for(user_id: str, project_id: str, agent_id: str, client_message_id: str) -> str:
    """The thread that a first message with a client id opens: the same again for a repeated POST."""
    return _named("thread", user_id, project_id, agent_id, client_message_id)


def imported_thread_id(user_id: str, project_id: str, session_id: str) -> str:
    """The thread that an older session becomes, however often it is imported."""
    return _named("import", user_id, project_id, session_id)


def message_id_for(thread_id: str, client_message_id: str) -> str:
    """The message that a client id names within its thread."""
    return _named("message", thread_id, client_message_id)


def model_message_id(thread_id: str, turn: int, step: int) -> str:
    """One id per model call."""
    return _named("model", thread_id, turn, step)


def tool_call_id_for(thread_id: str, turn: int, step: int, call: int) -> str:
    """Our own tool-call id: accepted by every provider (letters, digits, underscore; 29 characters)."""
    return "call_" + uuid.UUID(_named("call", thread_id, turn, step, call)).hex[:24]


def proposal_id_for(thread_id: str, turn: int, step: int, call: int) -> str:
    """The proposal of a call: the same UUID however often the state that records it runs."""
    return _named("proposal", thread_id, turn, step, call)


def subthread_id_for(root_thread_id: str, tool_call_id: str) -> str:
    """The fresh subthread that a call opens."""
    return _named("subthread", root_thread_id, tool_call_id)


def preserved_subthread_id(root_thread_id: str, parent_thread_id: str, function: str) -> str:
    """The one subthread that a function with ``preserve_previous_context`` keeps per parent thread."""
    return _named("preserved", root_thread_id, parent_thread_id, function)


def execution_name(thread_id: str, generation: int, attempt: int) -> str:
    """The name of a run's execution: it alone fixes the run's input."""
    return f"{thread_id}-{generation}-{attempt}"


def subagent_execution_name(thread_id: str, generation: int, attempt: int, tool_call_id: str) -> str:
    """The name of a nested execution (at most 80 characters, as Step Functions wants)."""
    return f"{execution_name(thread_id, generation, attempt)}-{tool_call_id.removeprefix('call_')[:20]}"


def thread_partition(root_thread_id: str) -> str:
    """Partition of a root thread and all below it."""
    return f"THREAD#{root_thread_id}"


def inbox(message_id: str) -> str:
    """An accepted message's body; a small marker once it was applied."""
    return f"INBOX#{message_id}"


def messages(thread_id: str, turn: int | None = None) -> str:
    """Prefix of a thread's messages, or of one turn's."""
    return f"MESSAGE#{thread_id}#" + ("" if turn is None else f"{turn:08d}#")


def message(thread_id: str, turn: int, step: int) -> str:
    """The user's message (step 0) or the assistant's of a step."""
    return f"{messages(thread_id, turn)}{step:04d}#000"


def call_message(thread_id: str, turn: int, step: int, call: int, part: str) -> str:
    """What belongs to one call of a step; ``part`` is one of the constants below."""
    return f"{messages(thread_id, turn)}{step:04d}#{call + 1:03d}{part}"


LINK, PENDING, RESPONSE = "a", "b", "c"
"""Parts of a call, in the order in which they are shown: subthread link, confirmation, response."""


def prompt(thread_id: str, turn: int, step: int) -> str:
    """The prompt of a model call."""
    return f"PROMPT#{thread_id}#{turn:08d}#{step:04d}"


def run_record(generation: int) -> str:
    """A closed run, for the chain of runs."""
    return f"RUN#{generation:08d}"


EVENTS = "EVENT#"


def event(first_seq: int) -> str:
    """An item of the event log, by its first ``seq``."""
    return f"{EVENTS}{first_seq:012d}"


def decision(proposal_id: str, write: str) -> str:
    """The body of one try to decide a proposal; the aggregate names the one that counted."""
    return f"DECISION#{proposal_id}#{write}"


def subthread(subthread_id: str) -> str:
    """A subthread's own record."""
    return f"SUBTHREAD#{subthread_id}"


def proposal_partition(proposal_id: str) -> str:
    """Partition of a proposal's record (sort key ``PROPOSAL``)."""
    return f"PROPOSAL#{proposal_id}"


def project_partition(project_id: str) -> str:
    """Partition of a project: its members, agents and uses."""
    return f"PROJECT#{project_id}"


AGENTS, MEMBERS = "AGENT#", "MEMBER#"


def agent(agent_id: str) -> str:
    """An agent of a project."""
    return f"{AGENTS}{agent_id}"


def member(user_id: str) -> str:
    """A user's role in a project."""
    return f"{MEMBERS}{user_id}"


def agent_use(user_id: str, agent_id: str) -> str:
    """When a user last used an agent."""
    return f"USE#{user_id}#{agent_id}"


def data_partition(project_id: str, pack: str) -> str:
    """Partition of the data that a function pack keeps for a project."""
    return f"DATA#{project_id}#{pack}"


def project_files(project_id: str) -> str:
    """Prefix of the blobs that are a project's workspace files; the path follows."""
    return f"projects/{quote(project_id, safe='')}/files/"


DOCUMENTS = "DOCUMENT#"


def documents_partition(project_id: str) -> str:
    """Partition of a project's knowledge documents."""
    return f"DOCUMENTS#{project_id}"


def document(document_id: str) -> str:
    """A knowledge document."""
    return f"{DOCUMENTS}{document_id}"


def document_texts(project_id: str) -> str:
    """Prefix of the blobs with the texts of a project's documents; the revision follows."""
    return f"projects/{quote(project_id, safe='')}/documents/"


def channel_partition(channel: str) -> str:
    """Partition of a channel's subscribed connections."""
    return f"CHANNEL#{channel}"


def connection_partition(connection_id: str) -> str:
    """Partition of one WebSocket connection."""
    return f"CONNECTION#{connection_id}"


def ticket_partition(ticket: str) -> str:
    """Partition of a one-use socket ticket, by its hash: the ticket itself is never stored."""
    return f"TICKET#{hashlib.sha256(ticket.encode()).hexdigest()}"


def listed_threads(user_id: str, project_id: str) -> str:
    """Index partition of a user's threads in a project."""
    return f"THREADS#{project_id}#{user_id}"


def listed_proposals(project_id: str) -> str:
    """Index partition of a project's pending proposals."""
    return f"PROPOSALS#{project_id}"


DUE_SHARDS = tuple(f"DUE#{digit:x}" for digit in range(16))
"""Index partitions of threads with work to signal: sixteen, so that no one of them runs hot."""


def due_shard(thread_id: str) -> str:
    """The due partition of a thread."""
    return DUE_SHARDS[int(hashlib.sha256(thread_id.encode()).hexdigest()[0], 16)]
