// Turns out of stored messages, in the shape that conversation.js makes out of events.

import { answered } from "./conversation.js";

// Add messages of a thread, oldest first, that lie before all that is there. A turn may come in two parts.
export function remember(conversation, messages) {
  const parts = new Map();
  for (const message of messages) {
    if (!parts.has(message.turn)) parts.set(message.turn, []);
    parts.get(message.turn).push(message);
  }
  for (const [number, found] of parts) {
    const stored = [...found, ...(conversation.turns.get(number)?.stored ?? [])];
    conversation.forget(number);
    const turn = conversation.turn(number);
    turn.stored = stored;
    stored.forEach((message) => put(conversation, turn, turn, message));
    conversation.close(turn, "done");
  }
}

// Add a subthread's messages, oldest first, below the call that it answered.
export function rememberSubthread(conversation, call, messages) {
  const asked = messages.find((message) => message.id === `${call.id}-request`);
  const own = messages.filter((message) => !asked || message.turn === asked.turn);
  own.forEach((message) => put(conversation, call.turn, call, message));
  call.stored = false;
  conversation.settleBelow(call, "stopped");
  conversation.changed.add(call);
}

function put(conversation, turn, place, message) {
  const { kind, id, content } = message;
  const at = message.timestamp;
  if (kind === "USER_MESSAGE") {
    conversation.add(turn, place, { kind: place === turn ? "user" : "task", id, text: content, at });
  } else if (kind === "ASSISTANT_MESSAGE" || kind === "ASSISTANT_TOOL_CALL") {
    if (content) conversation.add(turn, place, { kind: "text", id, text: content, ended: true, at });
    for (const asked of message.tool_calls ?? []) putCall(conversation, turn, place, asked, at);
  } else if (kind === "TURN_FAILED") {
    conversation.add(turn, place, { kind: "failure", id, text: content, retryable: false });
  } else if (kind === "TURN_CANCELLED") {
    if (place === turn) conversation.add(turn, place, { kind: "note", id, text: "Stopped" });
  } else {
    const call = turn.calls.get(message.metadata?.tool_call_id);
    if (call) describe(call, message);
  }
}

function putCall(conversation, turn, place, { tool_call_id: id, name, arguments: given }, at) {
  const call = { kind: "call", id, name, argumentText: "", arguments: given ?? {}, status: "running", items: [], at };
  conversation.add(turn, place, call);
  turn.calls.set(id, call);
}

function describe(call, { kind, id, content, ok, metadata, timestamp, additional_data: data }) {
  if (kind === "AGENT_SUBTHREAD") {
    // Its messages are read when somebody opens it.
    Object.assign(call, { subthread: metadata.subthread_id, agent: metadata.agent_id, stored: true });
  } else if (kind === "PENDING_USER_CONFIRMATION") {
    const { name, arguments: given, expires_at: expiresAt } = metadata;
    call.proposal = { id, name, arguments: given ?? {}, question: content, expiresAt, outcome: "decided" };
  } else if (kind === "TOOL_RESPONSE") {
    const seconds = call.at ? timestamp - call.at : undefined;
    if (call.proposal) call.proposal.why = data?.reason;
    Object.assign(call, { response: content, data: data ?? {}, status: answered(ok, data), seconds });
  }
}
