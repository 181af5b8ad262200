// Messages that this tab has written and that no turn has taken yet. They are kept over a reload, under the ids with
// which they were sent: sending one again finds what the first try made.

const KEY = "parley.outbox";
// As the API's errors count them: no answer at all, or one of a server that is away.
const UNREACHED = [0, 502, 503, 504];

export class Outbox {
  constructor(api) {
    this.api = api;
    // Called when something is to be shown differently, and when a message was accepted or refused.
    this.onChange = () => {};
    this.onSent = () => {};
    this.targets = new WeakMap();
    this.entries = kept().filter((entry) => entry.user === api.user && entry.project === api.project);
    this.line = Promise.resolve();
    this.posting = new Set();
    const targets = new Map();
    for (const entry of this.entries) {
      const { group, thread } = entry;
      if (!targets.has(group)) targets.set(group, { group, thread });
      this.targets.set(entry, targets.get(group));
    }
  }

  // entry: { id, thread, agent, content, text, state, error, messageId }; state: sending | accepted | failed.
  of(thread) {
    return this.entries.filter((entry) => entry.thread === thread);
  }

  // Send a message to a target, { thread }, which is null until the first message has made it. Messages go one after
  // the other; how it ended is told to onSent.
  send(target, agent, content, text) {
    const { user, project } = this.api;
    target.group ??= freshId();
    const { group, thread } = target;
    const entry = { id: freshId(), user, project, group, thread, agent, content, text, state: "sending" };
    this.entries.push(entry);
    this.targets.set(entry, target);
    this.changed();
    this.post(entry);
  }

  again(entry) {
    entry.state = "sending";
    this.changed();
    this.post(entry);
  }

  // The server can be reached again: what only failed because it could not is sent now.
  revive() {
    for (const entry of this.entries) if (entry.state === "failed" && UNREACHED.includes(entry.status)) this.again(entry);
  }

  // Whatever was under way when the page was left.
  resume() {
    for (const entry of this.entries) if (entry.state === "sending") this.post(entry);
  }

  post(entry) {
    if (this.posting.has(entry)) return;
    this.posting.add(entry);
    const target = this.targets.get(entry);
    this.line = this.line.then(async () => {
      try {
        entry.thread ??= target.thread;
        const accepted = await this.api.say(entry.agent, entry.thread, entry.content, entry.id);
        Object.assign(entry, { state: "accepted", error: undefined, messageId: accepted.message_id, thread: accepted.thread_id });
        target.thread = accepted.thread_id;
      } catch (error) {
        Object.assign(entry, { state: "failed", error: error.message, status: error.status });
      }
      this.posting.delete(entry);
      this.changed();
      this.onSent(entry, target);
    });
  }

  // A turn of that thread has taken a message; that may be known before the answer to its POST.
  settle(clientId, messageId, thread) {
    const entry = this.entries.find((one) => one.id === clientId || (one.messageId && one.messageId === messageId));
    if (!entry) return;
    this.entries = this.entries.filter((other) => other !== entry);
    const target = this.targets.get(entry);
    Object.assign(entry, { state: "accepted", thread });
    target.thread = thread;
    this.changed();
    this.onSent(entry, target);
  }

  discard(entry) {
    this.entries = this.entries.filter((other) => other !== entry);
    this.changed();
  }

  changed() {
    keep(this.entries);
    this.onChange();
  }
}

function freshId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  // Without https a browser has no randomUUID.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
  } catch {
    return [];
  }
}

function keep(entries) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(entries));
  } catch {
    // A browser without room: they are then lost with a reload, not before.
  }
}
