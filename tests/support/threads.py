"""Thread aggregates in the states that the protocol's tests begin with."""

from typing import Any

from parley.domain.conversation import Conversation, OpenProposal, RunTerms
from parley.domain.decisions import propose
from parley.domain.protocol import accept, finish_turn, new_conversation, open_turn, receive

NOW = 1_000.0
TERMS = RunTerms(turns_per_run=3, inactivity_seconds=60)


def a_new_thread(**changes: Any) -> Conversation:
    """A thread just made: its first message, ``m1``, is claimed by a run that is to be started."""
    given: dict[str, Any] = {
        "thread_id": "thread",
        "user_id": "ann",
        "project_id": "shop",
        "agent_id": "helper",
        "title": "Hello",
        "message_id": "m1",
        "ending": False,
        "policy": "supersede",
        "terms": TERMS,
        "turns_per_run": None,
        "inactivity_seconds": None,
        "now": NOW,
    }
    return new_conversation(**{**given, **changes})


def accepted(
    conversation: Conversation, message_id: str, now: float = NOW, ending: bool = False
) -> Conversation:
    return accept(conversation, message_id, terms=TERMS, ending=ending, now=now)


def received(conversation: Conversation, token: str = "receive") -> Conversation:
    return receive(conversation, conversation.run_id, token)


def opened(conversation: Conversation) -> Conversation:
    """Its claimed message's turn is open."""
    message_id = conversation.run.message_id or ""
    policy = conversation.on_message_while_pending
    return open_turn(
        conversation, conversation.run_id, message_id, last_seq=0, policy=policy, propose_actions=None
    )


def finished(conversation: Conversation, now: float = NOW) -> Conversation:
    """Its open turn is closed with a reply."""
    turn = conversation.turn or 0
    ref = f"{conversation.thread_id}/{turn}"
    return finish_turn(
        conversation, conversation.run_id, turn, reply_ref=ref, summary="", last_seq=0, now=now
    )


def in_a_turn(**changes: Any) -> Conversation:
    return opened(received(a_new_thread(**changes)))


def parked(**changes: Any) -> Conversation:
    """One turn is answered; its run waits on the token ``park``."""
    return received(finished(in_a_turn(**changes)), "park")


def proposed(
    conversation: Conversation,
    proposal_id: str = "p1",
    *,
    expires_at: float = NOW + 100,
    thread_id: str = "thread",
) -> Conversation:
    """A call waits for a decision on the token ``token-of-<proposal>``."""
    entry = OpenProposal(
        proposal_id=proposal_id,
        thread_id=thread_id,
        tool_call_id=f"call-{proposal_id}",
        token=f"token-of-{proposal_id}",
        expires_at=expires_at,
    )
    return propose(conversation, conversation.run_id, conversation.turn, entry)
