// The chat: one conversation, followed live, or the beginning of a new one.

import { address, replace } from "./router.js";
import { duration, element, icon, iconButton } from "./dom.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { History } from "./history.js";
import { Narrator } from "./narrator.js";
import { Pictures } from "./pictures.js";
import { every } from "./ticker.js";
import { rememberSubthread } from "./stored.js";
import { Timeline } from "./timeline.js";
import { engineOf, usualAgent, welcome } from "./welcome.js";

const PHASES = {
  waiting_for_input: "",
  thinking: "Thinking",
  awaiting_approval: "Waiting for approval",
  applying_action: "Working",
  recording_reply: "Thinking",
  continuing_as_new: "Thinking",
  completed: "Ended",
};
// How long a turn is quiet before its length is told, in seconds.
const LONG = 10;
// What the server says and the events do not yet is asked again after a while, in ms.
const AGAIN = 2000;

export function mount(root, context) {
  return new Chat(root, context);
}

class Chat {
  constructor(root, context) {
    this.context = context;
    this.api = context.api;
    this.outbox = context.outbox;
    this.outbox.onChange = () => this.drawOutbox();
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
    this.narrator = new Narrator((text) => context.announce(text));
    this.timeline = new Timeline(this.log, this.itemTools(), { onOlder: () => this.loadOlder() });
    this.timeline.onFollow = (follow) => (this.jump.hidden = follow);
    root.replaceChildren(element("div", { class: "log-frame" }, this.log, this.jump), this.composer.node);
    context.onFailure = (error) => this.failed(error);
    every(1, () => this.tick(), context.signal);
    this.readProviders();
    this.outbox.resume().then(() => this.adopt());
    this.update(context.route);
  }

  update(route) {
    const thread = route.parts[0] ?? null;
    if (this.target && this.target.thread === thread && thread !== null) return;
    this.open(thread, route.query.get("agent"));
  }

  unmount() {
    this.context.feed.follow(null);
    this.outbox.onChange = () => {};
    this.timeline.close();
    this.pictures.close();
    this.sight?.disconnect();
  }

  async readProviders() {
    const answer = await this.api.providers().catch(() => null);
    this.providers = answer?.providers ?? null;
    this.drawAgent();
  }

  // Opening.

  // Show a thread; null is a new one.
  async open(thread, agent = null) {
    // Messages are sent to the conversation in which they were written, wherever the page has gone meanwhile.
    const target = { thread };
    this.target = target;
    this.context.feed.follow(null);
    this.begin(new Conversation(thread));
    this.agentId = agent ?? this.context.menu.threads.get(thread)?.thread.agent_id ?? usualAgent(this.context.agents);
    this.queue = [];
    this.composer.open(thread);
    this.context.title(thread === null ? "New conversation" : (this.context.menu.threads.get(thread)?.thread.title ?? "Conversation"));
    this.drawAll();
    this.composer.focus();
    if (thread === null) return;
    this.log.setAttribute("aria-busy", "true");
    const read = await this.context.attempt(() => Promise.all([this.readStatus(target), this.history.older()]));
    if (this.target !== target) return;
    this.log.removeAttribute("aria-busy");
    if (!read) return;
    this.loaded = true;
    this.followFrom(read[1] ?? 0);
    this.timeline.drawNow();
    this.timeline.watch(!this.history.done || this.history.before !== null);
    this.drawAll();
  }

  begin(conversation) {
    this.conversation = conversation;
    this.history = new History(this.api, conversation);
    this.loaded = conversation.id === null;
    this.loading = false;
    conversation.onUser = (data) => {
      this.outbox.settle(data.client_message_id, data.message_id);
      this.queue = this.queue.filter((entry) => entry.message_id !== data.message_id);
    };
    this.timeline.reset(conversation);
    this.timeline.watch(false);
  }

  followFrom(last) {
    const { conversation } = this;
    const deliver = (event) => {
      conversation.apply(event);
      this.narrator.tell(event, (id) => this.nameOf(id), this.agentId);
      this.timeline.draw();
      if (this.drawsAll(event)) this.drawSoon();
    };
    this.context.feed.follow(conversation.id, last, deliver, () => conversation.busy);
  }

  // Most events are chunks; they change nothing around the conversation.
  drawsAll({ event }) {
    return event !== "StreamMessageChunk" && event !== "FunctionArgumentsChunk";
  }

  async readStatus(target) {
    const accepted = this.outbox.of(target.thread).filter((entry) => entry.state === "accepted");
    const status = await this.api.status(target.thread);
    if (this.target !== target) return status;
    this.agentId = status.agent_id;
    this.queue = status.queue ?? [];
    this.serverPhase = status.phase;
    this.context.title(status.title || "Conversation");
    // What a turn has taken while nobody here was listening.
    const waits = new Set(this.queue.map((entry) => entry.message_id));
    for (const entry of accepted) if (!waits.has(entry.messageId)) this.outbox.settle(entry.id, entry.messageId);
    this.compareLater(target);
    return status;
  }

  // The server's word and the events' may differ for a moment; if they still do, one of them has been missed.
  compareLater(target) {
    clearTimeout(this.comparing);
    const idle = ["waiting_for_input", "completed"].includes(this.serverPhase);
    if (idle && this.queue.length === 0) return;
    this.comparing = setTimeout(() => {
      if (this.target !== target || this.context.signal.aborted) return;
      if (this.conversation.busy && this.queue.length === 0) return;
      this.context.feed.catchUp();
      this.readStatus(target).then(() => this.drawAll(), () => {});
    }, AGAIN);
  }

  async loadOlder() {
    const { target } = this;
    if (this.loading || !this.loaded || target.thread === null) return;
    this.loading = true;
    this.timeline.older.hidden = false;
    await this.context.attempt(() => this.history.older());
    if (this.target !== target) return;
    this.loading = false;
    this.timeline.drawNow();
    this.timeline.watch(!this.history.done || this.history.before !== null);
  }

  // A first message that was under way when the page was left has its thread by now.
  adopt() {
    const entry = this.outbox.entries.find((one) => one.state === "accepted" && one.thread && !one.shown);
    if (entry && this.target.thread === null) this.context.go(address("chat", [entry.thread]));
  }

  // Acting.

  async say(content, text) {
    const { target } = this;
    const agent = this.agentId;
    if (!agent) return;
    this.timeline.follow = true;
    const entry = await this.outbox.send(target, agent, content, text);
    this.sent(entry, target);
  }

  sent(entry, target) {
    if (entry.state !== "accepted") {
      if (entry.status === 401) this.context.attempt(() => Promise.reject(Object.assign(new Error(entry.error), { status: 401 })));
      return;
    }
    this.context.menu.begun(entry.thread, (entry.content.message ?? entry.text).slice(0, 200), entry.agent);
    if (this.target !== target || this.conversation.id === entry.thread) return;
    // The first message has made the thread that is shown.
    replace(address("chat", [entry.thread]));
    this.context.menu.mark({ view: "chat", parts: [entry.thread] });
    this.context.title((entry.content.message ?? entry.text).slice(0, 200));
    this.conversation.id = entry.thread;
    this.composer.thread = entry.thread;
    this.history.before = null;
    this.history.done = true;
    this.followFrom(0);
    this.drawAll();
  }

  async stop() {
    this.composer.stopButton.disabled = true;
    const answer = await this.context.attempt(() => this.api.cancel(this.target.thread));
    if (answer === undefined) this.composer.stopButton.disabled = false;
    this.context.announce("Stopping");
  }

  pick(agent) {
    this.agentId = agent;
    this.drawAll();
    this.composer.focus();
  }

  async decide(proposal, body) {
    const answer = await this.api.decide(proposal.id, body);
    this.context.feed.catchUp();
    return answer;
  }

  // The next thing that waits, or the message.
  decided() {
    const next = this.conversation.pending()[0];
    const card = next && this.cardOf(next);
    if (card) this.timeline.reveal(card.node);
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
    const { thread } = this.target;
    if (error.type === "events_expired") {
      this.open(thread);
      return true;
    }
    if (error.status !== 404 || thread === null || this.conversation.order.length > 0) return false;
    this.context.title("Not found");
    this.log.replaceChildren(
      element(
        "div",
        { class: "empty" },
        icon("chat"),
        element("h2", {}, "There is no such conversation"),
        element("p", {}, "It may belong to somebody else or to another project."),
        element("a", { class: "button", href: "#/chat" }, "Start a new one"),
      ),
    );
    return true;
  }

  // Drawing what is around the conversation.

  drawSoon() {
    if (this.drawing) return;
    this.drawing = true;
    queueMicrotask(() => {
      this.drawing = false;
      this.drawAll();
    });
  }

  drawAll() {
    const { conversation, composer } = this;
    const { phase } = conversation;
    const fresh = conversation.id === null && this.outbox.of(null).length === 0;
    this.drawWelcome(fresh);
    this.drawAgent();
    this.drawOutbox();
    composer.setBusy(!["waiting_for_input", "completed"].includes(phase));
    composer.setOver(phase === "completed");
    this.drawPending();
    composer.setChips(this.suggestions(phase));
    this.drawPhase();
  }

  // A question that waits out of sight.
  drawPending() {
    const pending = this.conversation.pending();
    const card = pending.length > 0 && this.cardOf(pending[0]);
    if (card && card.node !== this.watched) {
      this.watched = card.node;
      this.sight?.disconnect();
      this.sight = new IntersectionObserver(
        (seen) => {
          this.inSight = seen.at(-1).isIntersecting;
          this.drawPending();
        },
        { root: this.log, threshold: 0.5 },
      );
      this.sight.observe(card.node);
    }
    const hidden = pending.length > 1 || (card && !this.inSight);
    this.composer.setPending(hidden ? pending.length : 0, pending[0]?.question ?? "");
  }

  drawPhase() {
    const { conversation } = this;
    const { phase } = conversation;
    const waits = this.waitingEntries().length > 0;
    const starting = phase === "waiting_for_input" && conversation.id !== null && waits;
    this.context.title(document.getElementById("title").textContent, starting ? "Thinking" : PHASES[phase]);
    const since = conversation.last?.startedAt;
    const seconds = since ? this.api.now() - since : 0;
    const quiet = phase === "thinking" || phase === "applying_action" || starting;
    const words = `${PHASES[starting ? "thinking" : phase]} …${seconds > LONG ? ` ${duration(seconds)}` : ""}`;
    this.timeline.drawWorking(quiet && !this.showsItself() ? words : "");
  }

  // Whether the turn's last part moves by itself.
  showsItself() {
    let item = this.conversation.last?.items.at(-1);
    if (this.conversation.last?.status !== "open") return false;
    while (item?.kind === "call" && item.subthread && item.items.length > 0 && item.status === "running") item = item.items.at(-1);
    return (item?.kind === "text" && !item.ended) || (item?.kind === "call" && ["writing", "running"].includes(item.status));
  }

  tick() {
    if (!this.conversation.busy) return;
    this.drawPhase();
    this.drawPending();
  }

  drawWelcome(fresh) {
    if (!fresh) {
      if (this.welcoming) this.log.replaceChildren(this.timeline.column);
      this.welcoming = false;
      return;
    }
    this.welcoming = true;
    const acts = { pick: (agent) => this.pick(agent), start: (one) => this.say({ predefined_message: one.id }, one.title) };
    const held = this.log.contains(document.activeElement);
    this.log.replaceChildren(welcome(this.context.agents, this.agentId, this.providers, acts));
    if (held) this.log.querySelector("[aria-pressed=true]")?.focus();
  }

  drawAgent() {
    const { agents } = this.context;
    const agent = agents.find((one) => one.agent_id === this.agentId);
    const known = agent || !this.agentId ? agents : [...agents, { agent_id: this.agentId, name: this.agentId }];
    this.composer.setAgents(known, this.agentId, this.conversation.id !== null);
    this.composer.setEngine(engineOf(agent, this.providers));
    const { id } = this.conversation;
    const inspect = element("a", { class: "button quiet small", href: id && address("runs", [id]) }, icon("runs"), element("span", {}, "Inspect"));
    this.context.tools(...(id ? [inspect] : []));
  }

  waitingEntries() {
    const own = this.outbox.of(this.conversation.id);
    const known = new Set(own.map((entry) => entry.messageId));
    const others = this.queue
      .filter((entry) => !known.has(entry.message_id) && !own.some((one) => one.id === entry.client_message_id))
      .map((entry) => ({ state: "accepted", text: entry.content ?? this.starterTitle(entry.predefined_message) }));
    return [...others, ...own];
  }

  starterTitle(id) {
    const agent = this.context.agents.find((one) => one.agent_id === this.agentId);
    return agent?.predefined_messages?.find((one) => one.id === id)?.title ?? id ?? "";
  }

  drawOutbox() {
    if (!this.conversation) return;
    const entries = this.waitingEntries();
    if (entries.length > 0 && this.welcoming) this.drawWelcome(false);
    // The first one of an idle thread is about to be taken; those behind a turn wait for it.
    const offset = this.conversation.busy ? 1 : 0;
    const key = JSON.stringify([offset, entries]);
    if (key === this.outboxShown) return;
    this.outboxShown = key;
    this.timeline.drawWaiting(entries.map((entry, place) => [entry, place + offset]), {
      again: async (entry) => this.sent(await this.outbox.again(entry, this.target), this.target),
      discard: (entry) => {
        this.composer.offer(entry.content.message ?? "");
        this.outbox.discard(entry);
        this.drawAll();
      },
    });
  }

  // What a click may send now.
  suggestions(phase) {
    if (phase !== "waiting_for_input" || this.waitingEntries().length > 0) return [];
    const actions = this.conversation.last?.actions ?? [];
    return actions.map(({ label, message }) => ({ label, title: message, act: () => this.say({ message }, message) }));
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
      openSubthread: (call) => this.openSubthread(call),
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

  againAct({ turn }) {
    const asked = turn.items.find((item) => item.kind === "user");
    return asked ? () => this.say({ message: asked.text }, asked.text) : null;
  }

  async openSubthread(call) {
    if (call.reading) return;
    call.reading = true;
    const messages = [];
    let cursor = null;
    do {
      const page = await this.context.attempt(() => this.api.subthread(this.target.thread, call.subthread, cursor));
      if (!page) break;
      messages.push(...page.messages);
      cursor = page.next;
    } while (cursor);
    call.reading = false;
    rememberSubthread(this.conversation, call, messages);
    this.timeline.draw();
  }
}
