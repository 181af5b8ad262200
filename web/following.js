// The conversation that is looked at: read from its end, then followed live, its queue beside it. What is shown
// of it is chat.js's business.

import { Conversation } from "./conversation.js";
import { History } from "./history.js";
import { rememberSubthread } from "./stored.js";

// What the server says and the events do not yet is asked again after a while, in ms.
const AGAIN = 2000;

export class Following {
  // onEvent: an event was applied. onChange: something beside the events is different.
  constructor(context, { onEvent, onChange }) {
    Object.assign(this, { context, onEvent, onChange });
    this.api = context.api;
    this.outbox = context.outbox;
    this.clear(null);
  }

  clear(thread) {
    // Messages are sent to the conversation in which they were written, wherever the page has gone meanwhile.
    this.target = { thread };
    this.conversation = new Conversation(thread);
    this.history = new History(this.api, this.conversation);
    this.queue = [];
    this.status = null;
    this.loaded = false;
    clearTimeout(this.comparing);
    this.context.feed.follow(null);
    this.conversation.onUser = (data) => {
      this.outbox.settle(data.client_message_id, data.message_id, this.conversation.id);
      this.queue = this.queue.filter((entry) => entry.message_id !== data.message_id);
    };
  }

  close() {
    clearTimeout(this.comparing);
    this.target = null;
    this.context.feed.follow(null);
  }

  // Read a thread and follow it. Resolves to whether it is there and still the one that is wanted.
  async open(thread) {
    this.clear(thread);
    const { target } = this;
    const [, last] = await Promise.all([this.readStatus(target), this.history.older()]);
    if (this.target !== target) return false;
    this.loaded = true;
    this.follow(last ?? 0);
    return true;
  }

  // A first message has made the thread that is shown.
  become(thread) {
    this.conversation.id = thread;
    this.history.before = null;
    this.history.done = true;
    this.loaded = true;
    this.follow(0);
  }

  follow(last) {
    const { conversation } = this;
    const deliver = (event) => {
      conversation.apply(event);
      this.onEvent(event);
    };
    this.context.feed.follow(conversation.id, last, deliver, () => conversation.busy || this.queue.length > 0 || this.awaited);
  }

  get hasOlder() {
    return this.loaded && (this.history.before !== null || !this.history.done);
  }

  // Resolves to whether the same thread is still looked at.
  async older() {
    const { target } = this;
    await this.history.older();
    return this.target === target;
  }

  async readStatus(target = this.target) {
    const accepted = this.outbox.of(target.thread).filter((entry) => entry.state === "accepted");
    const status = await this.api.status(target.thread);
    if (this.target !== target) return;
    this.status = status;
    this.queue = status.queue ?? [];
    // What a turn has taken while nobody here was listening.
    const waits = new Set(this.queue.map((entry) => entry.message_id));
    for (const entry of accepted) if (!waits.has(entry.messageId)) this.outbox.settle(entry.id, entry.messageId, target.thread);
    this.compareLater(target);
    this.onChange();
  }

  // The server's word and the events' may differ for a moment; if they still do, one of them has been missed.
  compareLater(target) {
    clearTimeout(this.comparing);
    const idle = ["waiting_for_input", "completed"].includes(this.status.phase);
    if (idle && this.queue.length === 0) return;
    this.comparing = setTimeout(() => {
      if (this.target !== target || (this.conversation.busy && this.queue.length === 0)) return;
      this.context.feed.catchUp();
      this.readStatus(target).catch(() => this.compareLater(target));
    }, AGAIN);
  }

  // Messages that no turn has taken yet: of other tabs, then those that were written here.
  waiting() {
    const own = this.outbox.of(this.conversation.id);
    const known = (entry) => own.some((one) => one.messageId === entry.message_id || one.id === entry.client_message_id);
    const others = this.queue.filter((entry) => !known(entry));
    return [...others.map(({ content, predefined_message: id }) => ({ state: "accepted", text: content, starter: id })), ...own];
  }

  // Whether a message was accepted that no turn has taken yet.
  get awaited() {
    return this.outbox.of(this.conversation.id).some((entry) => entry.state === "accepted");
  }

  // The messages of a subagent whose events are kept no longer.
  async openSubthread(call) {
    if (call.reading) return;
    call.reading = true;
    const messages = [];
    let cursor = null;
    try {
      do {
        const page = await this.api.subthread(this.target.thread, call.subthread, cursor);
        messages.push(...page.messages);
        cursor = page.next;
      } while (cursor);
    } finally {
      call.reading = false;
    }
    rememberSubthread(this.conversation, call, messages);
  }
}
