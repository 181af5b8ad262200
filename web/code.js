// A block of code with a button that copies it. It can grow: its lines are in groups, so that a long one is not laid out
// anew with every line that comes.

import { copyButton, element } from "./dom.js";

const GROUP = 100;

export class Code {
  constructor({ text, lang }) {
    this.lang = lang;
    const language = (lang ?? "").match(/^[\w+#.-]{1,30}/)?.[0] ?? "";
    this.code = element("code", {});
    this.node = element(
      "figure",
      { class: "code" },
      element("figcaption", {}, element("span", {}, language || "text"), copyButton("Copy this code", () => this.text)),
      element("pre", { tabindex: "0", role: "group", "aria-label": `Code${language ? `, ${language}` : ""}` }, this.code),
    );
    this.begin(0);
    this.grow(text);
  }

  // Whether it was the beginning of that code, and is all of it now.
  becomes({ text, lang }) {
    if (lang !== this.lang || !text.startsWith(this.text)) return false;
    this.grow(text);
    return true;
  }

  grow(text) {
    this.text = text;
    for (let end; (end = lineAfter(text, this.start)) < text.length; this.begin(end)) {
      this.group.textContent = text.slice(this.start, end);
    }
    this.group.textContent = text.slice(this.start);
  }

  begin(start) {
    this.start = start;
    this.group = element("span", { class: "lines" });
    this.code.append(this.group);
  }
}

// Where the line behind a group begins that begins there.
function lineAfter(text, start) {
  let end = start;
  for (let count = 0; count < GROUP; count += 1) {
    end = text.indexOf("\n", end) + 1;
    if (end === 0) return text.length;
  }
  return end;
}
