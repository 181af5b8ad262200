// Where a person writes: the message, what may be sent with a click, and the way to stop what is being done.

import { button, element, icon, iconButton, visible } from "./dom.js";
import { draftOf, keepDraft } from "./drafts.js";

const LONGEST = 32000;
const NEARLY = 31000;

export class Composer {
  // acts: { send(text), stop(), pick(agentId), showPending() }
  constructor(acts) {
    this.acts = acts;
    this.field = element("textarea", {
      id: "message",
      rows: 1,
      "aria-label": "Message",
      "aria-describedby": "composer-hint",
      placeholder: "Write a message",
      oninput: () => this.typed(),
      onkeydown: (event) => this.key(event),
    });
    this.stopButton = iconButton("stop", "Stop", acts.stop, { id: "stop", class: "icon-button round", hidden: true });
    this.sendButton = element("button", { type: "submit", id: "send", class: "icon-button round primary", "aria-label": "Send", title: "Send (Enter)" }, icon("send"));
    this.agent = element("select", { id: "agent", "aria-label": "Agent", onchange: () => acts.pick(this.agent.value) });
    this.engine = element("span", { class: "engine" });
    this.chips = element("div", { class: "chips", role: "group", "aria-label": "Suggestions" });
    this.pending = element("div", { class: "pending-bar", hidden: true });
    this.hint = element("span", { id: "composer-hint", class: "visually-hidden" }, "Enter sends, Shift and Enter breaks the line.");
    this.count = element("span", { class: "faint", role: "status" });
    const submit = (event) => {
      event.preventDefault();
      this.submit();
    };
    this.form = element(
      "form",
      { id: "composer", class: "composer", onsubmit: submit },
      this.field,
      element("div", { class: "composer-foot" }, this.agent, this.engine, this.hint, this.count, this.stopButton, this.sendButton),
    );
    this.node = element("div", { class: "dock" }, element("div", { class: "column" }, this.pending, this.chips, this.form));
    // A finger has no Shift: there Enter breaks the line, and the button sends.
    this.enterSends = matchMedia("(pointer: fine)").matches || !matchMedia("(pointer: coarse)").matches;
  }

  // Begin with what was written and not sent before, in a thread or for a new one.
  open(thread) {
    this.thread = thread ?? "new";
    this.field.value = draftOf(this.thread) ?? "";
    this.grow();
  }

  submit() {
    const text = this.field.value;
    if (!text.trim() || this.field.disabled || [...text].length > LONGEST) return;
    this.field.value = "";
    this.typed();
    this.acts.send(text);
  }

  // Put a text there for a person to go on with, unless they have begun another.
  offer(text) {
    if (!this.field.value) this.field.value = text;
    this.typed();
  }

  key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || !this.enterSends) return;
    event.preventDefault();
    this.submit();
  }

  typed() {
    keepDraft(this.thread, this.field.value || null);
    this.grow();
    const length = this.field.value.length > NEARLY ? [...this.field.value].length : 0;
    this.count.textContent = length > NEARLY ? `${length.toLocaleString()} of ${LONGEST.toLocaleString()} characters` : "";
    this.count.classList.toggle("error", length > LONGEST);
  }

  grow() {
    const { field } = this;
    if (CSS.supports("field-sizing", "content")) return;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  }

  // agents to choose from while the thread is not begun; afterwards the one that it has.
  setAgents(agents, current, fixed) {
    const choice = fixed ? agents.filter((agent) => agent.agent_id === current) : agents;
    this.agent.replaceChildren(...choice.map((agent) => element("option", { value: agent.agent_id }, agent.name || agent.agent_id)));
    this.agent.value = current ?? "";
    this.agent.disabled = fixed || agents.length < 2;
  }

  // { words, title, missing } of the agent's provider.
  setEngine({ words = "", title = "", missing = false }) {
    this.engine.textContent = words;
    this.engine.title = title;
    this.engine.classList.toggle("missing", missing);
  }

  setBusy(busy) {
    if (busy === !this.stopButton.hidden) return;
    // Pressed and disabled, it has lost the focus to nobody.
    const focused = document.activeElement;
    const held = focused === this.stopButton || (this.stopButton.disabled && focused === document.body);
    this.stopButton.hidden = !busy;
    this.stopButton.disabled = false;
    if (held) this.field.focus();
  }

  setOver(over) {
    this.field.disabled = over;
    this.sendButton.disabled = over;
    this.field.placeholder = over ? "This conversation has ended" : "Write a message";
  }

  // chips: [{ label, title, … }]; `choose` gets the one that was pressed.
  setChips(chips, choose) {
    const held = this.chips.contains(document.activeElement);
    const made = chips.map((chip) => button(visible(chip.label), () => choose(chip), { class: "button chip", title: visible(chip.title) }));
    this.chips.replaceChildren(...made);
    if (held) this.field.focus();
  }

  // A question that waits, wherever it is on the page.
  setPending(count, question) {
    this.pending.hidden = count === 0;
    if (count === 0) return;
    const words = count > 1 ? `${count} actions need your approval` : question;
    this.pending.replaceChildren(icon("shield"), element("p", {}, words), button("Show", this.acts.showPending, { class: "button small" }));
  }

  focus() {
    if (matchMedia("(pointer: fine)").matches) this.field.focus();
  }
}
