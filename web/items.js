// The parts of a turn that are not calls: what was written, and what went wrong. Each is { node, update() }.

import { button, clock, copyButton, element, icon } from "./dom.js";
import { Markdown } from "./markdown.js";

// The person's words, as they were written.
export function userItem(item) {
  const text = element("p", { class: "mine-text" });
  const node = element("div", { class: "mine", "data-message": item.id }, heading("You said"), text);
  const update = () => {
    text.textContent = item.text;
    if (item.at) text.title = clock(item.at);
  };
  update();
  return { node, update };
}

// An agent's words: Markdown that may still be growing.
export function textItem(item, { speaker }) {
  const body = element("div", { class: "prose" });
  const markdown = new Markdown(body);
  const node = element(
    "div",
    { class: "theirs", "data-message": item.id },
    heading(`${speaker()} said`),
    body,
    element("div", { class: "theirs-tools" }, copyButton("Copy this message", () => item.text)),
  );
  const update = () => {
    node.classList.toggle("writing", !item.ended);
    markdown.set(item.text, item.ended);
    if (item.finish === "length" && !node.querySelector(".cut")) {
      node.append(element("p", { class: "faint cut" }, "The reply reached its greatest length and ends here."));
    }
  };
  update();
  return { node, update };
}

// What a subagent was asked to do.
export function taskItem(item) {
  const node = element("p", { class: "task" }, heading("Its task"), item.text);
  return { node, update: () => {} };
}

export function failureItem(item, { again }) {
  const act = again(item);
  const node = element(
    "div",
    { class: "failure", role: "group", "aria-label": "Failed" },
    icon("warning"),
    element("div", {}, element("p", {}, item.text), act ? button("Try again", act, { class: "button small" }) : null),
  );
  return { node, update: () => {} };
}

export function noteItem(item) {
  return { node: element("p", { class: "note" }, item.text), update: () => {} };
}

// A message that no turn has taken yet; `line`: how many wait in line up to it, told below the last of them.
export function waitingItem(entry, line, { again, discard }) {
  const failed = entry.state === "failed";
  const waits = line > 1 ? `${line} messages wait for their turn` : line ? "Waits for its turn" : "";
  const words = { sending: "Sending …", failed: entry.error, accepted: waits }[entry.state];
  return element(
    "div",
    { class: `mine waiting ${entry.state}` },
    heading("You wrote"),
    element("p", { class: "mine-text" }, entry.text),
    words ? element("p", { class: "mine-state", role: failed ? "alert" : "status" }, failed ? `Not sent. ${words}` : words) : null,
    failed
      ? element(
          "div",
          { class: "row" },
          button("Send again", () => again(entry), { class: "button small" }),
          button("Discard", () => discard(entry), { class: "button small quiet" }),
        )
      : null,
  );
}

function heading(text) {
  return element("h2", { class: "visually-hidden" }, text);
}
