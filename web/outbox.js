// Messages that this tab has written and that no turn has taken yet. They are kept over a reload, under the ids with
// which they were sent: sending one again finds what the first try made.

const KEY = "parley.outbox";

export class Outbox {
  constructor(api) {
    this.api = api;
    // Called when something is to be shown differently.
    this.onChange = () => {};
    this.entries = kept().filter((entry) => entry.user === api.user && entry.project === api.project);
    this.line = Promise.resolve();
  }

  // entry: { id, thread, agent, content, text, state, error, messageId }; state: sending | accepted | failed.
  of(thread) {
    return this.entries.filter((entry) => entry.thread === thread);
  }

  // Send a message to a target, { thread }, which is null until the first message has made it. Messages go one after
  // the other. Resolves to the entry, however that ended.
  send(target, agent, content, text) {
    const { user, project } = this.api;
    const entry = { id: freshId(), user, project, thread: target.thread, agent, content, text, state: "sending" };
    this.entries.push(entry);
    this.changed();
    return this.post(entry, target);
  }

  again(entry, target) {
    entry.state = "sending";
    this.changed();
    return this.post(entry, target);
  }

  // Whatever was under way when the page was left.
  resume() {
    return Promise.all(this.entries.filter((entry) => entry.state === "sending").map((entry) => this.post(entry)));
  }

  post(entry, target = { thread: entry.thread }) {
    const sent = this.line.then(async () => {
      try {
        entry.thread ??= target.thread;
        const accepted = await this.api.say(entry.agent, entry.thread, entry.content, entry.id);
        Object.assign(entry, { state: "accepted", error: undefined, messageId: accepted.message_id, thread: accepted.thread_id });
        target.thread = accepted.thread_id;
      } catch (error) {
        Object.assign(entry, { state: "failed", error: error.message, status: error.status });
      }
      this.changed();
      return entry;
    });
    this.line = sent;
    return sent;
  }

  // A turn has taken it.
  settle(clientId, messageId) {
    const before = this.entries.length;
    const taken = (entry) => entry.id === clientId || (entry.messageId && entry.messageId === messageId);
    this.entries = this.entries.filter((entry) => !taken(entry));
    if (this.entries.length !== before) this.changed();
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
