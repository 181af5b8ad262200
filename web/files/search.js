// The search over a project's knowledge: what an agent would find for the same words.

import { button, element, visibleParts } from "../dom.js";
import { address } from "../router.js";

export function searchBox(kind, context) {
  const field = element("input", { id: "search", type: "search", required: true, maxlength: 1000, autocomplete: "off" });
  const found = element("div", { class: "found", role: "status" });
  const act = async (event) => {
    event.preventDefault();
    const passages = await context.attempt(() => kind.search(field.value));
    if (passages) found.replaceChildren(...shown(passages, () => (found.replaceChildren(), field.focus())));
  };
  const form = element(
    "form",
    { class: "search", role: "search", onsubmit: act },
    element("label", { for: "search" }, "What would an agent find?"),
    field,
    element("button", { type: "submit", class: "button" }, "Search"),
  );
  return element("div", {}, form, found);
}

function shown(passages, clear) {
  if (!passages.length) return [element("p", { class: "faint" }, "No passage has these words.")];
  const items = passages.map((passage) =>
    element(
      "li",
      {},
      element("a", { href: address("knowledge", passage.document_id.split("/")) }, visibleParts(passage.title)),
      passage.heading && passage.heading !== passage.title ? element("span", { class: "faint" }, " · ", visibleParts(passage.heading)) : "",
      element("p", {}, visibleParts(passage.text)),
    ),
  );
  return [element("ol", { class: "passages" }, ...items), button("Clear", clear, { class: "button quiet small" })];
}
