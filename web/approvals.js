// Everything that waits for this person's decision: of their own conversations, and for an approver of the project.

import { ago, clock, element, icon } from "./dom.js";
import { ProposalCard } from "./proposal.js";
import { address } from "./router.js";
import { every } from "./ticker.js";

const REFRESH = 10;

export function mount(root, context) {
  return new Approvals(root, context);
}

class Approvals {
  constructor(root, context) {
    this.context = context;
    this.cards = new Map();
    this.list = element("div", { class: "column approvals" });
    root.append(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Waiting for approval" }, this.list));
    context.title("Waiting for approval");
    this.stop = context.onEvent((event) => event.event.startsWith("Action") && this.refresh());
    every(REFRESH, () => document.visibilityState === "visible" && this.refresh(), context.signal);
    this.refresh();
  }

  update() {}

  revived() {
    this.refresh();
  }

  unmount() {
    this.stop();
  }

  async refresh() {
    const page = await this.context.api.confirmations().catch((error) => this.failed(error));
    if (!page || this.context.signal.aborted) return;
    const found = new Map(page.confirmations.map((one) => [one.proposal_id, one]));
    for (const [id, card] of this.cards) if (!found.has(id) && !card.kept) this.drop(id, card);
    for (const [id, one] of found) if (!this.cards.has(id)) this.add(one);
    this.context.menu.showCount(found.size);
    this.showEmpty(found.size === 0 && this.cards.size === 0);
  }

  failed(error) {
    if (this.cards.size === 0 || error.status === 401) this.context.attempt(() => Promise.reject(error));
    return null;
  }

  add(one) {
    const proposal = {
      id: one.proposal_id,
      name: one.name,
      arguments: one.arguments ?? {},
      question: one.question,
      expiresAt: one.expires_at,
      outcome: null,
    };
    const entry = { kept: false };
    const card = new ProposalCard(proposal, {
      decide: (_, body) => this.decide(entry, proposal, body),
      decided: () => this.focusNext(proposal.id),
      schema: (name) => this.schemaOf(one.agent_id, name),
      now: () => this.context.api.now(),
      signal: this.context.signal,
      byline: this.byline(one),
    });
    entry.card = card;
    this.cards.set(proposal.id, entry);
    this.list.querySelector(".empty")?.remove();
    this.list.append(card.node);
  }

  // What was decided here stays, as what it has become, until the view is left.
  async decide(entry, proposal, body) {
    const answer = await this.context.api.decide(proposal.id, body);
    entry.kept = true;
    if (answer.outcome === "applied") {
      Object.assign(proposal, { outcome: answer.decision, reviewer: this.context.user, edited: body.arguments });
    }
    this.refresh();
    return answer;
  }

  byline(one) {
    const mine = one.user_id === this.context.user;
    const agent = this.context.agents.find((each) => each.agent_id === one.agent_id)?.name ?? one.agent_id;
    const who = mine ? "You asked" : `${one.user_id} asked`;
    const when = element("time", { title: clock(one.created_at) }, ago(one.created_at, this.context.api.now()));
    const link = mine ? element("a", { href: address("chat", [one.root_thread_id]) }, "Open the conversation") : null;
    return element("p", { class: "faint byline" }, `${who} ${agent} · `, when, link ? " · " : "", link);
  }

  schemaOf(agent, name) {
    const functions = this.context.agents.find((one) => one.agent_id === agent)?.functions;
    return functions?.find((one) => one.name === name)?.parameters;
  }

  // Decided elsewhere, or its time is over.
  drop(id, { card }) {
    const held = card.node.contains(document.activeElement);
    this.cards.delete(id);
    card.node.remove();
    if (held) this.focusNext(id);
  }

  focusNext(id) {
    const next = [...this.cards].find(([other, { kept }]) => other !== id && !kept);
    (next?.[1].card.node ?? document.getElementById("main")).focus();
  }

  showEmpty(empty) {
    const shown = this.list.querySelector(".empty");
    if (!empty) shown?.remove();
    else if (!shown) this.list.append(nothing());
  }
}

function nothing() {
  return element(
    "div",
    { class: "empty" },
    icon("shield"),
    element("h2", {}, "Nothing waits for you"),
    element("p", {}, "When an agent wants to do something that needs a person’s approval, it appears here, and in its conversation."),
    element("a", { class: "button", href: "#/chat" }, "Start a conversation"),
  );
}
