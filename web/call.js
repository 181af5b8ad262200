// A call of a function: its name and arguments as they are written, the question it waits on, its result, and the
// subagent that answers it. { node, update() }; what is below it goes into `body`.

import { duration, element, icon, visible, visibleParts, wordsOf } from "./dom.js";
import { ProposalCard } from "./proposal.js";
import { argumentList, brief, changes, resultParts, resultText } from "./values.js";

// With more calls than this side by side, what they found is within their folds.
const FEW = 4;
const STATES = {
  writing: ["is being written", null],
  running: ["is running", null],
  waiting: ["waits for approval", "shield"],
  done: ["done", "check"],
  failed: ["failed", "warning"],
  declined: ["did not run", "cross"],
  stopped: ["stopped", "cross"],
};

export class CallItem {
  // tools: { agentName, proposalTools, picture, openSubthread }
  constructor(call, tools) {
    this.call = call;
    this.tools = tools;
    this.folded = [];
    this.mark = element("span", { class: "call-mark" });
    this.name = element("span", { class: "call-name" });
    this.brief = element("code", { class: "call-brief" });
    this.time = element("span", { class: "call-time" });
    this.said = element("span", { class: "visually-hidden" });
    this.inside = element("div", { class: "call-inside" });
    this.details = element(
      "details",
      { class: "call" },
      element("summary", {}, this.mark, this.name, this.said, this.brief, this.time, icon("chevron")),
      this.inside,
    );
    this.question = element("div", { class: "call-question" });
    this.result = element("div", { class: "call-result" });
    this.body = element("div", { class: "subagent-body" });
    this.node = element("div", { class: "call-item", "data-call": call.id }, this.details, this.question, this.result);
    this.details.addEventListener("toggle", () => this.fill());
    this.update();
  }

  update() {
    const { call, state } = this;
    const [words, mark] = STATES[state];
    this.node.dataset.status = state;
    if (this.marked !== state) {
      this.marked = state;
      this.mark.replaceChildren(mark ? icon(mark) : element("span", { class: "spinner" }));
      this.said.textContent = `, ${words}`;
    }
    this.name.textContent = visible(wordsOf(call.name || "function"));
    this.name.title = call.name;
    const line = call.arguments ? brief(this.confirmed ?? call.arguments) : call.argumentText;
    // While it is written the end is what is new.
    this.brief.textContent = visible(call.arguments ? line.slice(0, 300) : line.slice(-300));
    this.time.textContent = call.seconds >= 1 ? duration(call.seconds) : "";
    this.fill();
    this.showQuestion();
    this.showResult();
    this.showSubagent();
  }

  // What waits below it waits for a person as well.
  get state() {
    return this.call.status === "running" && waitsBelow(this.call) ? "waiting" : this.call.status;
  }

  // The arguments that a person confirmed in place of those that were proposed.
  get confirmed() {
    const { proposal, arguments: proposed } = this.call;
    return changes(proposed, proposal?.edited) ? proposal.edited : null;
  }

  // What is folded away, made when it is looked at.
  fill() {
    const { call } = this;
    if (!this.details.open) return;
    const { confirmed } = this;
    const given = confirmed ?? call.arguments;
    const parts = [
      element("h3", {}, confirmed ? "Arguments as confirmed" : "Arguments"),
      given ? argumentList(given) : resultText(call.argumentText),
    ];
    if (confirmed) {
      const question = element("p", { class: "faint" });
      question.append(visibleParts(call.proposal.question ?? ""));
      parts.push(element("h3", {}, "Proposed"), question, argumentList(call.arguments));
    }
    if (call.response !== undefined) parts.push(element("h3", {}, "Result"), ...this.folded, resultText(call.response || "(nothing)"));
    this.inside.replaceChildren(...parts);
  }

  showQuestion() {
    const { proposal } = this.call;
    if (!proposal) return;
    this.card ??= new ProposalCard(proposal, this.tools.proposalTools(this.call));
    if (!this.card.node.isConnected) this.question.append(this.card.node);
    this.card.update();
  }

  showResult() {
    const { call } = this;
    if (this.shown || call.response === undefined) return;
    this.shown = true;
    const parts = resultParts(call, this.tools);
    const many = call.place.items.filter((item) => item.kind === "call").length > FEW;
    if (many && !call.data?.image) {
      this.folded = parts.splice(0);
      this.fill();
    }
    const { stopped } = call.data ?? {};
    const told = call.items.some((item) => item.kind === "failure");
    if (call.status === "failed" && !told) parts.push(element("p", { class: "call-failure" }, visible(call.response.slice(0, 600))));
    if (call.status === "stopped" && stopped) parts.push(element("p", { class: "call-stopped" }, visible(stopped)));
    this.result.append(...parts);
  }

  showSubagent() {
    const { call } = this;
    if (!call.subthread) return;
    if (!this.subagent) {
      this.subagentName = element("span", { class: "subagent-name" });
      this.subagentState = element("span", { class: "faint" });
      const summary = element("summary", {}, icon("agent"), this.subagentName, this.subagentState, icon("chevron"));
      this.subagent = element("details", { class: "subagent" }, summary, this.body);
      // What is under way is worth seeing; what is long over is there for whoever asks.
      this.subagent.open = ["writing", "running", "waiting"].includes(call.status);
      this.subagent.addEventListener("toggle", () => this.subagent.open && this.openStored());
      this.node.insertBefore(this.subagent, this.result);
    }
    this.subagentName.textContent = visible(this.tools.agentName(call.agent));
    const state = call.over ?? this.state;
    this.subagentState.textContent = state === "running" ? "is working" : STATES[state][0];
  }

  openStored() {
    if (this.call.stored) this.tools.openSubthread(this.call);
  }
}

function waitsBelow(call) {
  return call.items.some((item) => item.kind === "call" && (item.status === "waiting" || waitsBelow(item)));
}
