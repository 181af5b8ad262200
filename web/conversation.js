// One thread's state, reduced from its events in the order of their seq. No I/O and no elements: what changed is
// collected in `changed`, whoever shows it takes that from there.
//
// A conversation is a list of turns. A turn has items, and a call of a subagent has items of its own:
//   { kind: "user", id, clientId, text, at }
//   { kind: "text", id, text, attempt, ended }
//   { kind: "call", id, name, argumentText, arguments, status, response, data, proposal, agent, subthread, over, items }
//   { kind: "task", id, text }                what a subagent was asked
//   { kind: "failure", id, text, retryable }
//   { kind: "note", id, text }
// A call's status: writing | running | waiting | done | failed | declined | stopped. `over`: how the work of its subagent
//   ended without a reply, failed | stopped.
// A proposal: { id, question, name, arguments, expiresAt, outcome, reviewer, why, automatic, edited }, its outcome null or
//   approved | declined | expired | superseded | cancelled | decided (known from the history alone).

import { Turns } from "./turns.js";

export class Conversation extends Turns {
  constructor(id = null) {
    super();
    this.id = id;
    this.completed = false;
    this.live = track();
    // Called with each user message that has found its turn.
    this.onUser = () => {};
  }

  // Apply the next event of the thread.
  apply(event) {
    this.follow(event, this.live);
  }

  // Apply the events of whole turns that lie before all others.
  applyOlder(events) {
    const own = track();
    for (const event of events) this.follow(event, own);
  }

  // A subthread counts turns of its own: its events belong to the turn of the thread in which it was opened.
  follow(event, where) {
    const handler = this[`on${event.event}`];
    if (!handler) return;
    if (!event.subthread_id) where.turn = this.turn(event.turn);
    if (where.turn) handler.call(this, event.data, where.turn, event, where);
  }

  get last() {
    return this.turns.get(this.order.at(-1));
  }

  get busy() {
    return this.last?.status === "open";
  }

  // What is being done, in the words of the API's phases.
  get phase() {
    if (this.completed) return "completed";
    if (!this.busy) return "waiting_for_input";
    if (this.pending().length > 0) return "awaiting_approval";
    return this.last.applying ? "applying_action" : "thinking";
  }

  // The undecided proposals of the turn that is under way.
  pending() {
    if (!this.busy) return [];
    return [...this.last.calls.values()].map((call) => call.proposal).filter((found) => found && !found.outcome);
  }

  // Events.

  onUserMessage(data, turn, event) {
    this.add(turn, turn, { kind: "user", id: data.message_id, clientId: data.client_message_id, text: data.content, at: event.at });
    this.onUser(data);
  }

  onThreadStart(data, turn, event) {
    this.begin(turn, event);
  }

  onStreamMessageChunk(data, turn, event, where) {
    const item = this.text(data.message_id, turn, event, where);
    const { attempt = 1, offset } = data;
    if (item.ended || attempt < item.attempt) return;
    if (attempt > item.attempt) Object.assign(item, { attempt, text: "", length: 0 });
    // Offsets count code points; what is sent again overlaps what is there.
    const known = offset === undefined ? 0 : Math.max(0, item.length - offset);
    const points = [...data.text];
    if (known >= points.length) return;
    item.text += known > 0 ? points.slice(known).join("") : data.text;
    item.length += points.length - known;
    this.changed.add(item);
  }

  // A retry begins again: what the broken try had written is void.
  onMessageReset(data, turn) {
    const item = turn.texts.get(data.message_id);
    if (item && !item.ended) {
      Object.assign(item, { text: "", length: 0, attempt: data.attempt ?? item.attempt });
      this.changed.add(item);
    }
    for (const call of turn.calls.values()) {
      if (call.message === data.message_id && call.status === "writing") this.remove(turn, call);
    }
  }

  onMessageEnd(data, turn, event, where) {
    const item = this.text(data.message_id, turn, event, where);
    item.ended = true;
    item.finish = data.finish_reason;
    item.usage = data.usage;
    if (data.content) item.text = data.content;
    if (!item.text) this.remove(turn, item);
    this.changed.add(item);
  }

  onFunctionGenerationStart(data, turn, event, where) {
    const call = this.call(data.tool_call_id, turn, event, where);
    call.message = data.message_id;
    if (call.status === "writing") call.argumentText = "";
    if (data.name) call.name = data.name;
    this.changed.add(call);
  }

  onFunctionArgumentsChunk(data, turn, event, where) {
    const call = this.call(data.tool_call_id, turn, event, where);
    if (call.status !== "writing") return;
    call.argumentText += data.text;
    this.changed.add(call);
  }

  onToolCall(data, turn, event, where) {
    const call = this.call(data.tool_call_id, turn, event, where);
    Object.assign(call, { name: data.name, arguments: data.arguments ?? {}, at: event.at });
    if (call.status === "writing") call.status = "running";
    this.changed.add(call);
  }

  onToolResponse(data, turn, event, where) {
    const call = this.call(data.tool_call_id, turn, event, where);
    const declined = call.proposal?.outcome && !["approved", "decided"].includes(call.proposal.outcome);
    Object.assign(call, { name: data.name ?? call.name, response: data.content ?? "", data: data.additional_data ?? {} });
    call.seconds = call.at ? event.at - call.at : undefined;
    call.status = declined ? "declined" : answered(data.ok, call.data);
    if (call.proposal) {
      call.proposal.outcome ??= "cancelled";
      call.proposal.why = call.data.reason;
    }
    this.settleBelow(call, "stopped");
    this.changed.add(call);
  }

  onAgentSubthreadStart(data, turn, event, where) {
    const call = this.call(data.tool_call_id, turn, event, where);
    Object.assign(call, { subthread: data.subthread_id, agent: data.agent_id });
    where.places.set(data.subthread_id, call);
    this.changed.add(call);
  }

  onSubthreadUserMessage(data, turn, event, where) {
    this.add(turn, place(turn, event, where), { kind: "task", id: data.message_id, text: data.content });
  }

  onActionRequiresConfirmation(data, turn, event, where) {
    const call = this.call(data.tool_call_id, turn, event, where);
    call.proposal ??= {
      id: data.proposal_id,
      name: data.name,
      arguments: data.arguments ?? {},
      question: data.question,
      expiresAt: data.expires_at,
      outcome: null,
    };
    if (call.status === "running" || call.status === "writing") call.status = "waiting";
    this.touch(call);
  }

  onActionConfirmed(data, turn) {
    this.decided(turn, data.proposal_id, { outcome: "approved", reviewer: data.reviewer, edited: data.arguments });
    turn.applying = true;
  }

  onActionRejected(data, turn) {
    const outcome = data.reason ?? "declined";
    this.decided(turn, data.proposal_id, { outcome, automatic: data.automaticRejection, reviewer: data.reviewer });
  }

  onThreadEnd(data, turn, event) {
    if (event.subthread_id) return;
    turn.endedAt = event.at;
    this.close(turn, "done");
  }

  onTurnFailed(data, turn, event, where) {
    const failure = { kind: "failure", id: `failed-${event.seq}`, text: data.message, retryable: data.retryable };
    this.add(turn, place(turn, event, where), failure);
    this.end(turn, event, where, "failed");
  }

  onTurnCancelled(data, turn, event, where) {
    const nested = Boolean(event.subthread_id);
    if (!nested) this.add(turn, turn, { kind: "note", id: `note-${event.seq}`, text: "Stopped" });
    this.end(turn, event, where, nested ? "stopped" : "cancelled");
  }

  onProposeActions(data, turn) {
    turn.actions = data.actions ?? [];
    this.changed.add(this);
  }

  onConversationCompleted(data, turn, event) {
    this.add(turn, turn, { kind: "note", id: `note-${event.seq}`, text: "The conversation has ended" });
    this.close(turn, turn.status === "open" ? "done" : turn.status);
    this.completed = true;
  }

  // A turn is over, or with a subthread the work of that subagent: the call that it answered has its response to come.
  end(turn, event, where, status) {
    const over = place(turn, event, where);
    if (over === turn) this.close(turn, status);
    else {
      over.over = status;
      this.settleBelow(over, "stopped");
      this.touch(over);
    }
  }

  // Items.

  begin(turn, event) {
    if (event.subthread_id || turn.status !== "open") return;
    turn.startedAt ??= event.at;
    turn.applying = false;
    this.changed.add(this);
  }

  text(id, turn, event, where) {
    const known = turn.texts.get(id);
    if (known) return known;
    const item = { kind: "text", id, text: "", length: 0, attempt: 1, ended: false, at: event.at };
    this.add(turn, place(turn, event, where), item);
    turn.texts.set(id, item);
    return item;
  }

  call(id, turn, event, where) {
    const known = turn.calls.get(id);
    if (known) return known;
    const item = { kind: "call", id, name: "", argumentText: "", arguments: null, status: "writing", items: [] };
    this.add(turn, place(turn, event, where), item);
    turn.calls.set(id, item);
    return item;
  }

  decided(turn, id, outcome) {
    for (const call of turn.calls.values()) {
      if (call.proposal?.id !== id) continue;
      Object.assign(call.proposal, outcome);
      if (call.status === "waiting") call.status = "running";
      this.touch(call);
    }
  }
}

// What has become of a call that has its response.
export function answered(ok, { stopped } = {}) {
  return ok === false ? (stopped ? "stopped" : "failed") : "done";
}

// Where the events are that come one after the other: the turn, and the call that each subthread answers.
function track() {
  return { turn: null, places: new Map() };
}

// Where an event's items go: the call that opened its subthread, or the turn itself.
function place(turn, event, where) {
  return where.places.get(event.subthread_id) ?? turn;
}
