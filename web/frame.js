// What stands around a conversation: what is being done, what waits, what may be sent with a click, who answers, and
// in place of a conversation that has not begun, the ways to begin one.

import { duration, element, icon } from "./dom.js";
import { address } from "./router.js";
import { engineOf, welcome } from "./welcome.js";

const PHASES = {
  waiting_for_input: "",
  thinking: "Thinking",
  awaiting_approval: "Waiting for approval",
  applying_action: "Working",
  completed: "Ended",
};
// How long a turn takes before its length is told, in seconds.
const LONG = 10;

export class Frame {
  constructor(chat) {
    this.chat = chat;
    this.context = chat.context;
    this.drawn = new Map();
  }

  get conversation() {
    return this.chat.conversation;
  }

  // Another conversation.
  reset() {
    this.drawn.clear();
    this.chat.log.replaceChildren(this.chat.timeline.column);
  }

  close() {
    this.sight?.disconnect();
  }

  tick() {
    if (!this.conversation.busy) return;
    this.drawPhase();
    this.drawPending();
  }

  // Whether a part has to be made anew: what is the same keeps its focus.
  differs(part, key) {
    const text = JSON.stringify(key);
    const differs = this.drawn.get(part) !== text;
    this.drawn.set(part, text);
    return differs;
  }

  draw() {
    const { conversation } = this;
    const { composer } = this.chat;
    const { phase } = conversation;
    const fresh = conversation.id === null && this.chat.outbox.of(null).length === 0;
    this.drawWelcome(fresh);
    this.drawAgent();
    this.drawOutbox();
    composer.setBusy(!["waiting_for_input", "completed"].includes(phase));
    composer.setOver(phase === "completed");
    this.drawPending();
    this.drawSuggestions(phase, fresh);
    this.drawPhase();
  }

  // A question that waits out of sight.
  drawPending() {
    // What nobody can decide any more is over, though the server may tell so a little later.
    const now = this.chat.api.now();
    const pending = this.conversation.pending().filter(({ expiresAt }) => expiresAt > now);
    const card = pending.length > 0 && this.chat.cardOf(pending[0]);
    if (card && card.node !== this.watched) {
      this.watched = card.node;
      this.sight?.disconnect();
      this.sight = new IntersectionObserver(
        (seen) => {
          this.inSight = seen.at(-1).isIntersecting;
          this.drawPending();
        },
        { root: this.chat.log, threshold: 0.5 },
      );
      this.sight.observe(card.node);
    }
    const hidden = pending.length > 1 || (card && !this.inSight);
    this.chat.composer.setPending(hidden ? pending.length : 0, pending[0]?.question ?? "");
  }

  drawPhase() {
    const { conversation } = this;
    const { phase } = conversation;
    const waits = this.chat.following.waiting().some((entry) => entry.state !== "failed");
    const starting = phase === "waiting_for_input" && conversation.id !== null && waits;
    this.context.phase(starting ? "Thinking" : PHASES[phase]);
    const since = conversation.last?.startedAt;
    const seconds = since ? this.chat.api.now() - since : 0;
    const quiet = phase === "thinking" || phase === "applying_action" || starting;
    const words = `${PHASES[starting ? "thinking" : phase]} …${seconds > LONG ? ` ${duration(seconds)}` : ""}`;
    this.chat.timeline.drawWorking(quiet && !this.showsItself() ? words : "", starting);
  }

  // Whether the turn's last part moves by itself.
  showsItself() {
    let item = this.conversation.last?.items.at(-1);
    if (this.conversation.last?.status !== "open") return false;
    while (item?.kind === "call" && item.subthread && item.items.length > 0 && item.status === "running") item = item.items.at(-1);
    return (item?.kind === "text" && !item.ended) || (item?.kind === "call" && ["writing", "running"].includes(item.status));
  }

  drawWelcome(fresh) {
    const { agents, unreadable } = this.context;
    if (!this.differs("welcome", fresh && [this.chat.agentId, agents, unreadable, this.chat.providers])) return;
    if (!fresh) {
      this.chat.log.replaceChildren(this.chat.timeline.column);
      return;
    }
    const held = this.chat.log.contains(document.activeElement);
    this.chat.log.replaceChildren(welcome({ agents, unreadable }, this.chat.agentId, this.chat.providers, (agent) => this.chat.pick(agent)));
    this.chat.log.scrollTop = 0;
    if (held) this.chat.log.querySelector("[aria-pressed=true]")?.focus();
  }

  drawAgent() {
    const { agents } = this.context;
    const agent = agents.find((one) => one.agent_id === this.chat.agentId);
    const known = agent || !this.chat.agentId ? agents : [...agents, { agent_id: this.chat.agentId, name: this.chat.agentId }];
    const { id } = this.conversation;
    if (!this.differs("agent", [id, this.chat.agentId, known, this.chat.providers])) return;
    this.chat.composer.setAgents(known, this.chat.agentId, id !== null);
    this.chat.composer.setEngine(engineOf(agent, this.chat.providers));
    const link = { class: "button quiet small", href: id && address("runs", [id]), "aria-label": "Inspect", title: "What the runs did" };
    this.context.tools(...(id ? [element("a", link, icon("runs"), element("span", {}, "Inspect"))] : []));
  }

  get starters() {
    return this.context.agents.find((one) => one.agent_id === this.chat.agentId)?.predefined_messages ?? [];
  }

  starterTitle(id) {
    return this.starters.find((one) => one.id === id)?.title ?? id ?? "";
  }

  drawOutbox() {
    const entries = this.chat.following.waiting().map((entry) => ({ ...entry, entry, text: entry.text ?? this.starterTitle(entry.starter) }));
    // The first one of an idle thread is about to be taken; those behind a turn wait for it.
    const next = !this.conversation.busy;
    if (!this.differs("outbox", [next, entries])) return;
    this.chat.timeline.drawWaiting(entries, next, {
      again: ({ entry }) => this.chat.outbox.again(entry),
      discard: ({ entry }) => {
        this.chat.composer.offer(entry.content.message ?? "");
        this.chat.outbox.discard(entry);
        this.draw();
      },
    });
  }

  // What a click may send now: to begin with, or as the agent suggests.
  drawSuggestions(phase, fresh) {
    const asked = phase === "waiting_for_input" && this.chat.following.waiting().length === 0;
    const actions = (asked && this.conversation.last?.actions) || [];
    const chips = fresh
      ? this.starters.map(({ id, title, prompt }) => ({ label: title, title: prompt, content: { predefined_message: id }, text: title }))
      : actions.map(({ label, message }) => ({ label, title: message, content: { message }, text: message }));
    if (!this.differs("suggestions", chips)) return;
    this.chat.composer.setChips(chips, ({ content, text }) => this.chat.say(content, text));
  }
}
