// What lies before the live events: older events page by page, and stored messages where events are kept no longer.

import { remember } from "./stored.js";

// Large: a person who scrolls feels that turns come in above, and hardly how many.
const PAGE = 400;
const BEYOND = 10 ** 11;

// Walks a thread backwards. Whole turns only: the events of one are applied in order, from its first.
export class History {
  constructor(api, conversation) {
    this.api = api;
    this.conversation = conversation;
    this.rest = [];
    this.before = BEYOND;
    this.cursor = null;
    this.done = false;
    this.begun = false;
  }

  // Add the newest turns that are not there yet. The first call gives the last seq of the log.
  async older() {
    let last;
    while (this.before !== null) {
      const page = await this.api.eventsBefore(this.conversation.id, this.before, PAGE);
      last ??= page.next;
      this.before = page.previous;
      this.rest.unshift(...page.events);
      const from = this.before === null ? 0 : secondTurn(this.rest);
      if (from === -1) continue;
      const whole = this.rest.splice(from);
      // The newest go on with the events that follow, the others are complete.
      if (this.begun) this.conversation.applyOlder(whole);
      else whole.forEach((event) => this.conversation.apply(event));
      this.begun ||= whole.length > 0;
      if (this.before === null) this.reachStart();
      if (whole.length > 0) return last;
    }
    if (!this.done) await this.olderMessages();
    return last;
  }

  // The log's start. What was before it, if its events have expired or there never were any, is in the messages.
  reachStart() {
    const { conversation } = this;
    const oldest = conversation.turns.get(conversation.order[0]);
    const whole = !oldest || oldest.items.some((item) => item.kind === "user");
    this.below = oldest ? oldest.number + (whole ? 0 : 1) : Infinity;
    if (!whole && conversation.order.length > 1) conversation.forget(oldest.number);
    this.done = this.below <= 1;
  }

  async olderMessages() {
    while (!this.done) {
      const page = await this.api.newestMessages(this.conversation.id, this.cursor);
      this.cursor = page.next;
      this.done = page.next === null;
      const older = page.messages.filter((message) => message.turn < this.below).reverse();
      if (older.length === 0) continue;
      remember(this.conversation, older);
      return;
    }
  }
}

// Where the second turn among the events begins; -1 if there is none. Subthreads count turns of their own.
function secondTurn(events) {
  const first = events.find((event) => !event.subthread_id)?.turn;
  return first === undefined ? -1 : events.findIndex((event) => !event.subthread_id && event.turn > first);
}
