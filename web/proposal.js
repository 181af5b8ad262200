// A proposed action: what would be done, in words and with all arguments, and the decision.

import { button, duration, element, icon, visibleParts, wordsOf } from "./dom.js";
import { ArgumentsForm } from "./form.js";
import { every } from "./ticker.js";
import { argumentList, changes } from "./values.js";

const OUTCOMES = {
  approved: ["check", "Confirmed"],
  declined: ["cross", "Declined"],
  expired: ["clock", "Not done: nobody decided in time"],
  superseded: ["cross", "Not done: a newer message took its place"],
  cancelled: ["cross", "Not done: the turn was stopped"],
  decided: ["check", "Decided"],
};
const TOO_LATE = {
  expired: "Too late: the time for this decision is over, and nothing was done.",
  superseded: "Too late: a newer message took its place, and nothing was done.",
  cancelled: "Too late: the turn was stopped, and nothing was done.",
};
const OTHERWISE = {
  supersede: "If you write something else instead, this counts as declined and your message is answered.",
  queue: "What you write meanwhile waits until this is decided.",
  reject: "Until this is decided, no other message is accepted.",
};
const SOON = 300;
// How the API begins what it says of edited arguments.
const REFUSED = /^arguments: (Validation failed: )?/;

export class ProposalCard {
  // proposal: as conversation.js has it. tools: { decide(proposal, body) → answer or throws, schema(), policy(), now(),
  // decided(card), signal, byline? }
  constructor(proposal, tools) {
    this.proposal = proposal;
    this.tools = tools;
    this.state = "asking";
    this.node = element("section", { class: "proposal", tabindex: "-1", "data-proposal": proposal.id });
    this.update();
    if (!proposal.outcome) every(1, () => this.tick(), tools.signal);
  }

  update() {
    const { outcome } = this.proposal;
    const key = outcome ? `${outcome} ${this.proposal.why ?? ""}` : this.over ? "over" : this.state;
    // What a person is typing is not thrown away because something else happened.
    if (key === this.shown) return;
    const held = this.holdsFocus;
    this.shown = key;
    this.node.classList.toggle("settled", Boolean(outcome) || this.over);
    if (outcome) this.showOutcome(outcome);
    else if (this.over) this.showOver();
    else this.ask();
    if (held) this.tools.decided?.(this);
  }

  // A button that is pressed and disabled for it loses the focus; whoever pressed it has not gone elsewhere.
  get holdsFocus() {
    return this.node.contains(document.activeElement) || (this.pressed && document.activeElement === document.body);
  }

  get over() {
    return this.tools.now() >= this.proposal.expiresAt;
  }

  ask() {
    const { proposal } = this;
    const title = `question-${proposal.id}`;
    const question = element(this.tools.byline ? "h2" : "h3", { id: title, class: "proposal-question" });
    question.append(visibleParts(proposal.question || `Run ${wordsOf(proposal.name)}?`));
    this.node.setAttribute("aria-labelledby", title);
    this.left = element("p", { class: "proposal-left" });
    this.error = element("p", { class: "error", role: "alert" });
    this.area = element("div", { class: "proposal-area" });
    const otherwise = OTHERWISE[this.tools.policy?.()];
    this.node.replaceChildren(
      element("div", { class: "proposal-head" }, icon("shield"), element("span", {}, "Needs your approval"), this.left),
      this.tools.byline ?? "",
      question,
      this.area,
      this.error,
      otherwise ? element("p", { class: "faint proposal-hint" }, otherwise) : "",
    );
    this.askPlainly();
    this.tick();
  }

  askPlainly() {
    this.form = null;
    const { proposal } = this;
    this.area.replaceChildren(
      // In its conversation the call stands right above.
      this.tools.byline ? element("p", { class: "proposal-name" }, wordsOf(proposal.name), element("code", {}, proposal.name)) : "",
      argumentList(proposal.arguments),
      element(
        "div",
        { class: "row" },
        button("Confirm", () => this.decide({ approved: true }), { class: "button primary" }),
        button("Cancel", () => this.decide({ approved: false }), { class: "button" }),
        button("Edit", () => this.edit(), { class: "button quiet small", "aria-label": "Edit the arguments" }),
        button("Decline with a reason", () => this.askReason(), { class: "button quiet small" }),
      ),
    );
  }

  edit() {
    this.form = new ArgumentsForm(this.proposal.arguments, this.tools.schema?.(this.proposal.name));
    const confirm = element("button", { type: "submit", class: "button primary" }, "Confirm with these");
    const form = element(
      "form",
      { class: "proposal-form", novalidate: true, "aria-label": "Edit the arguments", onsubmit: (event) => this.submit(event) },
      this.form.node,
      element("div", { class: "row" }, confirm, button("Back", () => this.back())),
    );
    this.area.replaceChildren(form);
    this.form.focus();
  }

  submit(event) {
    event.preventDefault();
    const { value, error } = this.form.read();
    this.error.textContent = error ?? "";
    if (error) return;
    const changed = changes(this.proposal.arguments, value);
    this.decide(changed ? { approved: true, arguments: value } : { approved: true });
  }

  askReason() {
    const id = `reason-${this.proposal.id}`;
    const reason = element("textarea", { id, rows: 2, maxlength: 2000 });
    const decline = async (event) => {
      event.preventDefault();
      await this.decide({ approved: false, reason: reason.value.trim() || undefined });
    };
    const form = element(
      "form",
      { class: "proposal-form", onsubmit: decline },
      element("label", { for: id }, "Why not? The agent gets to read it."),
      reason,
      element(
        "div",
        { class: "row" },
        element("button", { type: "submit", class: "button danger" }, "Decline"),
        button("Back", () => this.back()),
      ),
    );
    this.area.replaceChildren(form);
    reason.focus();
  }

  back() {
    this.error.textContent = "";
    this.askPlainly();
    this.area.querySelector("button").focus();
  }

  async decide(body) {
    if (this.deciding) return;
    this.deciding = true;
    this.pressed = this.node.contains(document.activeElement);
    this.lock(true);
    this.error.textContent = "";
    let answer;
    try {
      answer = await this.tools.decide(this.proposal, body);
    } catch (error) {
      this.deciding = false;
      this.lock(false);
      this.error.textContent = error.status === 404 ? "This does not wait for you any more." : error.message.replace(REFUSED, "");
      this.form?.mark(error.message);
      const place = this.form?.node ?? this.area;
      const wrong = place.querySelector("[aria-invalid=true]") ?? place.querySelector("input, textarea, select, button");
      if (this.pressed) wrong?.focus();
      return;
    }
    this.deciding = false;
    if (this.proposal.outcome) this.update();
    else this.answered(answer, body);
  }

  // The event that tells everybody comes a moment later; until then this tab shows what it was answered.
  answered({ outcome, decision }, body) {
    const mine = outcome === "applied" || (outcome === "duplicate" && decision === (body.approved ? "approved" : "declined"));
    const words = mine
      ? `${OUTCOMES[decision][1]} …`
      : (TOO_LATE[outcome] ?? `Somebody else decided before: ${OUTCOMES[decision]?.[1].toLowerCase() ?? decision}.`);
    const held = this.holdsFocus;
    this.shown = this.state = "answered";
    this.node.replaceChildren(element("p", { class: "proposal-outcome", role: "status" }, words));
    if (held) this.tools.decided?.(this);
  }

  lock(locked) {
    for (const control of this.node.querySelectorAll("button, input, textarea, select")) control.disabled = locked;
  }

  showOutcome(outcome) {
    const { reviewer, why, edited, arguments: proposed } = this.proposal;
    const [mark, words] = OUTCOMES[outcome] ?? ["cross", outcome];
    const by = reviewer ? ` by ${reviewer}` : "";
    // A question speaks of the arguments that were proposed: of others it would say what is not so.
    const changed = changes(proposed, edited);
    const about = element("span", { class: changed ? "" : "faint" });
    about.append(visibleParts(changed || this.asked(outcome)));
    const reason = element("q", {});
    reason.append(visibleParts(typeof why === "string" ? why : ""));
    this.node.removeAttribute("aria-labelledby");
    this.node.replaceChildren(
      element("p", { class: `proposal-outcome ${outcome}` }, icon(mark), element("span", {}, `${words}${by}${changed ? ", with other arguments" : ""}`), why ? reason : "", about),
    );
  }

  // Where only messages are left it is not known what was decided.
  asked(outcome) {
    const { question } = this.proposal;
    return question && outcome === "decided" ? `Proposed: ${question}` : (question ?? "");
  }

  showOver() {
    this.node.replaceChildren(element("p", { class: "proposal-outcome" }, icon("clock"), OUTCOMES.expired[1]));
  }

  tick() {
    if (this.proposal.outcome || this.state === "answered") return;
    // A clock that was wrong and is put right gives the question back.
    this.update();
    const left = this.proposal.expiresAt - this.tools.now();
    if (left <= 0) return;
    // Far away it would only flicker.
    const text = `${duration(left > SOON ? Math.ceil(left / 60) * 60 : left)} left`;
    if (this.left.textContent !== text) this.left.textContent = text;
    this.left.classList.toggle("soon", left <= SOON);
  }
}
