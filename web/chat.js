// The chat: one conversation, followed live, or the beginning of a new one.

import { button, element, icon, iconButton } from "./dom.js";
import { Composer } from "./composer.js";
import { Frame } from "./frame.js";
import { Following } from "./following.js";
import { Narrator } from "./narrator.js";
import { Pictures } from "./pictures.js";
import { address, replace } from "./router.js";
import { every } from "./ticker.js";
import { Timeline } from "./timeline.js";
import { usualAgent } from "./welcome.js";

// Before a conversation that is being read is worth a word, in ms.
const PATIENCE = 400;

export function mount(root, context) {
  return new Chat(root, context);
}

class Chat {
  constructor(root, context) {
    this.context = context;
    this.api = context.api;
    this.outbox = context.outbox;
    this.outbox.onChange = () => this.frame.draw();
    this.outbox.onSent = (entry, target) => this.sent(entry, target);
    this.providers = null;
    this.composer = new Composer({
      send: (text) => this.say({ message: text }, text),
      stop: () => this.stop(),
      pick: (agent) => this.pick(agent),
      showPending: () => this.showPending(),
    });
    this.log = element("div", { id: "log", class: "scroll", role: "log", "aria-live": "off", "aria-label": "Conversation", tabindex: "0" });
    this.jump = iconButton("down", "To the end", () => this.toEnd(), { class: "icon-button round jump", hidden: true });
    this.pictures = new Pictures(this.api);
    this.following = new Following(context, { onEvent: (event) => this.happened(event), onChange: () => this.changed() });
    this.narrator = new Narrator((text) => context.announce(text));
    this.timeline = new Timeline(this.log, this.itemTools(), { onOlder: () => this.loadOlder() });
    this.timeline.onFollow = (follow) => (this.jump.hidden = follow);
    this.frame = new Frame(this);
    root.replaceChildren(element("div", { class: "log-frame" }, this.log, this.jump), this.composer.node);
    context.onFailure = (error) => this.failed(error);
    every(1, () => this.frame.tick(), context.signal);
    this.readProviders();
    this.update(context.route);
    this.resumed = new WeakSet(this.outbox.entries);
    this.outbox.resume();
  }

  update(route) {
    const thread = route.parts[0] ?? null;
    if (this.opened && this.conversation.id === thread && thread !== null) return;
    if (this.opened && thread === null) this.readAgents();
    this.opened = true;
    this.open(thread, route.query.get("agent"));
  }

  unmount() {
    this.following.close();
    this.narrator.close();
    this.outbox.onChange = this.outbox.onSent = () => {};
    this.timeline.close();
    this.pictures.close();
    this.frame.close();
  }

  async readProviders() {
    const answer = await this.api.providers().catch(() => null);
    this.providers = answer?.providers ?? null;
    this.frame.draw();
  }

  // Agents may have come since the page was loaded.
  async readAgents() {
    await this.context.reloadAgents().catch(() => null);
    this.frame.draw();
  }

  // Opening.

  get conversation() {
    return this.following.conversation;
  }

  // Show a thread; null is a new one.
  async open(thread, agent = null) {
    const { menu } = this.context;
    const known = menu.threads.get(thread)?.thread;
    this.agentId = agent ?? known?.agent_id ?? usualAgent(this.context.agents);
    this.pictures.close();
    if (thread === null) this.following.clear(null);
    const read = thread === null ? null : this.context.attempt(() => this.following.open(thread));
    this.frame.reset();
    this.timeline.reset(this.conversation);
    this.timeline.watch(false);
    this.composer.open(thread);
    this.context.title(thread === null ? "New conversation" : known?.title || "Conversation");
    this.log.setAttribute("aria-busy", String(thread !== null));
    this.frame.draw();
    this.composer.focus();
    const late = setTimeout(() => this.timeline.sayAbove("Opening the conversation …"), PATIENCE);
    const opened = await read;
    clearTimeout(late);
    if (!opened) return;
    this.log.setAttribute("aria-busy", "false");
    this.drawRead();
    this.frame.draw();
  }

  // Draw what was read; then look for what lies before it.
  drawRead() {
    this.timeline.drawNow();
    this.timeline.watch(this.following.hasOlder);
  }

  // The server can be reached again.
  revived() {
    const { id } = this.conversation;
    if (id !== null && !this.following.loaded) this.open(id);
    else if (this.unread) this.loadOlder();
    if (!this.providers) this.readProviders();
  }

  happened(event) {
    this.narrator.tell(event, (id) => this.nameOf(id), this.agentId);
    this.timeline.draw();
    // Most events are chunks; they change nothing around the conversation, but that something moves by itself now.
    const chunk = event.event === "StreamMessageChunk" || event.event === "FunctionArgumentsChunk";
    if (!chunk || !this.timeline.working.hidden) this.drawSoon();
  }

  // The status was read.
  changed() {
    const { status } = this.following;
    this.agentId = status.agent_id;
    this.context.title(status.title || "Conversation");
    this.frame.draw();
  }

  async loadOlder() {
    if (this.loading || !this.following.hasOlder) return;
    this.loading = true;
    this.timeline.sayAbove("Loading what came before …");
    const same = await this.context.attempt(() => this.following.older());
    if (same) this.drawRead();
    this.loading = false;
    this.unread = same === undefined;
    if (this.unread) this.timeline.sayAbove(button("Load what came before", () => this.loadOlder(), { class: "button small" }));
  }

  // Acting.

  say(content, text) {
    if (!this.agentId) return;
    this.timeline.follow = true;
    this.outbox.send(this.following.target, this.agentId, content, text);
  }

  sent(entry, target) {
    if (entry.state !== "accepted") {
      if (entry.status === 401) this.context.attempt(() => Promise.reject(Object.assign(new Error(entry.error), { status: 401 })));
      return;
    }
    this.context.menu.begun(entry.thread, (entry.content.message ?? entry.text).slice(0, 200), entry.agent);
    if (this.conversation.id !== null) return;
    // A first message that was under way when the page was left has its thread by now.
    if (this.following.target !== target) {
      if (this.resumed.has(entry)) this.context.go(address("chat", [entry.thread]));
      return;
    }
    replace(address("chat", [entry.thread]));
    this.context.menu.mark({ view: "chat", parts: [entry.thread] });
    this.context.title((entry.content.message ?? entry.text).slice(0, 200));
    this.composer.thread = entry.thread;
    this.following.become(entry.thread);
    this.frame.draw();
  }

  async stop() {
    this.composer.stopButton.disabled = true;
    const answer = await this.context.attempt(() => this.api.cancel(this.conversation.id));
    if (answer === undefined) this.composer.stopButton.disabled = false;
    this.context.announce("Stopping");
  }

  pick(agent) {
    this.agentId = agent;
    this.frame.draw();
    this.composer.focus();
  }

  async decide(proposal, body) {
    const answer = await this.api.decide(proposal.id, body);
    this.context.feed.catchUp();
    return answer;
  }

  // The next thing that waits, or the message.
  decided() {
    const cards = this.conversation.pending().map((proposal) => this.cardOf(proposal));
    const next = cards.find((card) => card?.state === "asking");
    if (next) this.timeline.reveal(next.node);
    else this.composer.focus();
  }

  showPending() {
    const [first] = this.conversation.pending();
    const card = first && this.cardOf(first);
    if (card) this.timeline.reveal(card.node);
  }

  cardOf(proposal) {
    const call = [...this.conversation.last.calls.values()].find((one) => one.proposal === proposal);
    return call && this.timeline.cardOf(call);
  }

  toEnd() {
    this.timeline.follow = true;
    this.timeline.toEnd();
    this.composer.focus();
  }

  // The feed stopped: events that are kept no longer, or a thread that is gone.
  failed(error) {
    const thread = this.conversation.id;
    if (error.type === "events_expired") {
      this.open(thread);
      return true;
    }
    if (thread === null || this.conversation.order.length > 0) return false;
    if (error.status === 404) {
      this.context.title("Not found");
      const start = element("a", { class: "button", href: "#/chat" }, "Start a new one");
      this.instead("There is no such conversation", "It may belong to somebody else or to another project.", start);
    } else if (!this.following.loaded && error.status !== 401) {
      this.instead("This conversation could not be read", error.message, button("Try again", () => this.open(thread)));
    } else return false;
    return true;
  }

  // Something in place of the conversation.
  instead(title, words, way) {
    this.log.setAttribute("aria-busy", "false");
    this.log.replaceChildren(element("div", { class: "empty" }, icon("chat"), element("h2", {}, title), element("p", {}, words), way));
  }

  drawSoon() {
    if (this.drawing) return;
    this.drawing = true;
    queueMicrotask(() => {
      this.drawing = false;
      this.frame.draw();
    });
  }

  // What the items need.

  nameOf(id) {
    return this.context.agents.find((agent) => agent.agent_id === id)?.name ?? id ?? "Agent";
  }

  itemTools() {
    const chat = this;
    return {
      agentName: (id) => this.nameOf(id),
      speakerOf: (item) => this.nameOf(item.place.agent ?? this.agentId),
      picture: (image) => this.pictures.figure(image),
      openSubthread: async (call) => {
        await this.context.attempt(() => this.following.openSubthread(call));
        this.timeline.draw();
      },
      again: (failure) => this.againAct(failure),
      proposalTools: (call) => ({
        decide: (proposal, body) => this.decide(proposal, body),
        decided: () => this.decided(),
        schema: (name) => this.schemaOf(call.place.agent ?? this.agentId, name),
        policy: () => this.context.agents.find((agent) => agent.agent_id === this.agentId)?.on_message_while_pending,
        now: () => this.api.now(),
        get signal() {
          return chat.context.signal;
        },
      }),
    };
  }

  schemaOf(agent, name) {
    const functions = this.context.agents.find((one) => one.agent_id === agent)?.functions;
    return functions?.find((one) => one.name === name)?.parameters;
  }

  // A turn that failed is asked for once more; what failed within it is not.
  againAct({ turn, place }) {
    if (place !== turn) return null;
    const asked = turn.items.find((item) => item.kind === "user");
    return asked ? () => this.say({ message: asked.text }, asked.text) : null;
  }
}
