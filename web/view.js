// A conversation on the page: events in, elements out. Every element is kept under the id of what it shows, so
// an event that is applied again changes nothing. Text is set as text, never as markup.

const REJECTED = {
  declined: "Declined",
  expired: "Expired: nobody decided in time",
  superseded: "Superseded by a newer message",
  cancelled: "Cancelled",
};

export class View {
  constructor(log, { onDecide }) {
    this.log = log;
    this.onDecide = onDecide;
    this.reset();
  }

  reset() {
    this.log.replaceChildren();
    this.parts = new Map();
    this.threads = new Map();
    this.agents = new Map();
  }

  // The person's own message, before the server has it.
  sending(clientMessageId, text) {
    this.keepingEnd(() => {
      const bubble = this.bubble(this.log, `client:${clientMessageId}`, "mine");
      bubble.classList.add("waiting");
      bubble.textContent = text;
    }, true);
  }

  notSent(clientMessageId) {
    this.take(`client:${clientMessageId}`)?.remove();
  }

  apply(event) {
    const handler = this[`on${event.event}`];
    if (handler) this.keepingEnd(() => handler.call(this, event.data, event));
  }

  // A stored message, for what is older than the event log.
  history(message) {
    const { kind } = message;
    if (kind === "USER_MESSAGE") this.bubble(this.log, message.id, "mine").textContent = message.content;
    else if (kind === "ASSISTANT_MESSAGE" && message.content) {
      this.bubble(this.log, message.id, "theirs").textContent = message.content;
    } else if (kind === "TOOL_RESPONSE") this.note(message.content, message.id, "step");
    else if (kind === "TURN_FAILED") this.note(message.content, message.id, "failure");
  }

  onUserMessage(data) {
    const known = data.client_message_id ? this.take(`client:${data.client_message_id}`) : undefined;
    known?.remove();
    this.bubble(this.log, data.message_id, "mine").textContent = data.content;
  }

  onStreamMessageChunk(data, event) {
    const bubble = this.bubble(this.place(event), data.message_id, "theirs");
    bubble.classList.add("writing");
    const have = bubble.textContent.length;
    // Offsets count code points; what was tried again overlaps what is there.
    const known = data.offset === undefined ? 0 : Math.max(0, [...bubble.textContent].length - data.offset);
    const text = known > 0 ? [...data.text].slice(known).join("") : data.text;
    if (text && !bubble.dataset.ended) bubble.append(text);
    if (have === 0) bubble.normalize();
  }

  onMessageReset(data) {
    const bubble = this.parts.get(data.message_id);
    if (bubble) bubble.textContent = "";
  }

  onMessageEnd(data, event) {
    const bubble = this.bubble(this.place(event), data.message_id, "theirs");
    bubble.classList.remove("writing");
    bubble.dataset.ended = "yes";
    if (data.content) bubble.textContent = data.content;
    if (!bubble.textContent) {
      bubble.remove();
      this.parts.delete(data.message_id);
    }
  }

  onFunctionGenerationStart(data, event) {
    this.step(event, data.tool_call_id, data.name, "…");
  }

  onToolCall(data, event) {
    this.step(event, data.tool_call_id, data.name, `(${listed(data.arguments)})`);
  }

  onToolResponse(data, event) {
    const step = this.step(event, data.tool_call_id, data.name);
    step.classList.add(data.ok === false ? "failed" : "ok");
    step.querySelector(".result").textContent = data.content ?? "";
    const table = tableOf(data.additional_data?.table_data);
    if (table) {
      step.querySelector(".table")?.remove();
      step.append(table);
    }
  }

  onAgentSubthreadStart(data, event) {
    this.agents.set(data.subthread_id, data.agent_id);
    this.container(data.subthread_id, this.threads.get(event.parent_thread_id) ?? this.log);
  }

  onSubthreadUserMessage(data, event) {
    this.note(data.content, data.message_id, "step", this.place(event));
  }

  onActionRequiresConfirmation(data, event) {
    if (this.parts.has(data.proposal_id)) return;
    const card = element("section", "proposal");
    card.setAttribute("aria-label", "Confirmation");
    const question = element("p", "", data.question);
    const shown = element("pre", "", `${data.name}(${listed(data.arguments)})`);
    const buttons = element("div", "buttons");
    for (const [label, approved, style] of [["Confirm", true, ""], ["Cancel", false, "quiet"]]) {
      const button = element("button", style, label);
      button.type = "button";
      button.addEventListener("click", () => this.decide(data.proposal_id, approved, buttons));
      buttons.append(button);
    }
    card.append(question, shown, buttons);
    this.put(this.place(event), data.proposal_id, card);
  }

  onActionConfirmed(data) {
    this.settle(data.proposal_id, data.reviewer ? `Confirmed by ${data.reviewer}` : "Confirmed");
  }

  onActionRejected(data) {
    this.settle(data.proposal_id, REJECTED[data.reason] ?? "Not done");
  }

  onTurnFailed(data, event) {
    const again = data.retryable ? " Trying again may help." : "";
    this.note(`${data.message}${again}`, `failed:${event.seq}`, "failure", this.place(event));
    this.endWriting();
  }

  onTurnCancelled(data, event) {
    this.note("Cancelled", `note:${event.seq}`);
    this.endWriting();
  }

  onRunContinued(data, event) {
    this.note(`The conversation goes on as run ${data.generation}`, `note:${event.seq}`);
  }

  onConversationCompleted(data, event) {
    this.note("The conversation is over", `note:${event.seq}`);
  }

  async decide(proposal, approved, buttons) {
    for (const button of buttons.children) button.disabled = true;
    const done = await this.onDecide(proposal, approved);
    if (!done) for (const button of buttons.children) button.disabled = false;
  }

  settle(proposal, text) {
    const card = this.parts.get(proposal);
    if (!card) return;
    card.querySelector(".buttons")?.replaceWith(element("p", "outcome", text));
  }

  endWriting() {
    for (const bubble of this.log.querySelectorAll(".writing")) bubble.classList.remove("writing");
  }

  // Where an event's elements go: its subthread's container, or the log itself.
  place(event) {
    if (!event.subthread_id) return this.log;
    return this.container(event.subthread_id, this.threads.get(event.parent_thread_id) ?? this.log);
  }

  container(subthread, parent) {
    let container = this.threads.get(subthread);
    if (!container) {
      container = element("div", "subthread");
      container.append(element("p", "name", this.agents.get(subthread) ?? "Subagent"));
      this.threads.set(subthread, container);
      parent.append(container);
    }
    return container;
  }

  step(event, id, name, call) {
    let step = this.parts.get(id);
    if (!step) {
      step = element("div", "step");
      step.append(element("code", "call"), element("div", "result"));
      this.put(this.place(event), id, step);
    }
    if (call !== undefined) step.querySelector(".call").textContent = `${name}${call}`;
    return step;
  }

  bubble(parent, id, style) {
    return this.parts.get(id) ?? this.put(parent, id, element("div", `message ${style}`));
  }

  note(text, id, style = "note", parent = this.log) {
    if (!this.parts.has(id)) this.put(parent, id, element("div", style, text));
  }

  put(parent, id, part) {
    this.parts.set(id, part);
    parent.append(part);
    return part;
  }

  take(id) {
    const part = this.parts.get(id);
    this.parts.delete(id);
    return part;
  }

  // Stay at the end while reading there; leave alone those who have scrolled up.
  keepingEnd(change, always = false) {
    const atEnd = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 60;
    change();
    if (atEnd || always) this.log.scrollTop = this.log.scrollHeight;
  }
}

export function element(name, style = "", text = "") {
  const made = document.createElement(name);
  if (style) made.className = style;
  if (text) made.textContent = text;
  return made;
}

function listed(fields) {
  return Object.entries(fields ?? {})
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(", ");
}

// A table from a list of objects, or from {columns, rows}.
function tableOf(data) {
  const rows = Array.isArray(data) ? data : data?.rows;
  if (!Array.isArray(rows) || rows.length === 0) return null;
  const columns = data.columns ?? Object.keys(rows[0]);
  const table = element("table");
  const head = element("tr");
  for (const column of columns) head.append(element("th", "", String(column.label ?? column.key ?? column)));
  table.append(head);
  for (const row of rows) {
    const line = element("tr");
    columns.forEach((column, number) => {
      const value = Array.isArray(row) ? row[number] : row[column.key ?? column];
      line.append(element("td", "", String(value ?? "")));
    });
    table.append(line);
  }
  const frame = element("div", "table");
  frame.append(table);
  return frame;
}
