// Markdown, block by block. While a message streams only its last two blocks are made anew. The libraries are served
// beside the page; without them the text is shown as it is.
//
// Nothing of a model's text is trusted: raw HTML is shown as text, links go to the web or to mail and open on
// their own, and pictures are links too, because fetching one would tell its server what the address says.

import { Code } from "./code.js";
import { element, visible, wrapLong } from "./dom.js";

const TAGS = "a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr input li ol p pre s strong table tbody td th thead tr ul";
const ATTRIBUTES = ["href", "title", "align", "start", "type", "checked", "disabled", "class"];
const SAFE = /^(https?:|mailto:)/i;
// Beyond this a single block is shown as plain text: no person reads it, and every frame would parse it.
const LARGEST_BLOCK = 60000;

let marked = null;
let purify = null;
const waiting = new Set();

load();

async function load() {
  try {
    const [parser, cleaner] = await Promise.all([import("/vendor/marked.js"), import("/vendor/purify.js")]);
    purify = cleaner.default ?? globalThis.DOMPurify;
    purify.addHook("afterSanitizeAttributes", secure);
    marked = new parser.Marked({ gfm: true, breaks: true, renderer: { html: asText, image: asLink } });
  } catch {
    // An installation without them: plain text, as it came.
    return;
  }
  waiting.forEach((show) => show());
  waiting.clear();
}

// One message's text.
export class Markdown {
  constructor(root) {
    this.root = root;
    this.clear();
  }

  clear() {
    this.text = "";
    this.settled = 0;
    this.tail = [];
    this.root.replaceChildren();
  }

  // Show a text: longer than before by what has streamed in, or another one. `ended`: nothing more will come.
  set(given, ended) {
    const text = given.replace(/\r\n?/g, "\n");
    this.latest = () => this.set(text, ended);
    if (!marked) {
      waiting.add(this.again ??= () => {
        this.clear();
        this.latest();
      });
      this.plain(text);
      return;
    }
    if (ended || !text.startsWith(this.text)) {
      // What refers to a definition further down was made before that was known.
      const whole = !ended || !text.startsWith(this.text) || /^ {0,3}\[[^\]]+\]:/m.test(text);
      if (whole) this.clear();
    }
    this.text = text;
    this.extend(text, ended);
  }

  extend(text, ended) {
    const tokens = marked.lexer(text.slice(this.settled));
    const changed = tokens.findIndex((token, place) => !this.tail[place]?.becomes(token));
    const kept = changed === -1 ? tokens.length : changed;
    for (const block of this.tail.splice(kept)) block.nodes.forEach((node) => node.remove());
    for (const token of tokens.slice(kept)) {
      const block = new Block(token, tokens.links);
      this.root.append(...block.nodes);
      this.tail.push(block);
    }
    const over = ended ? tokens.length : growingFrom(tokens);
    for (const { raw } of tokens.slice(0, over)) this.settled += raw.length;
    this.tail.splice(0, over);
  }

  plain(text) {
    this.root.classList.add("plain");
    const shown = this.root.firstChild;
    if (shown && text.startsWith(shown.data)) shown.appendData(text.slice(shown.data.length));
    else this.root.replaceChildren(document.createTextNode(text));
  }
}

// The last block may still grow, and the one before it too: a "1" behind a list may become its next number.
function growingFrom(tokens) {
  const last = tokens.findLastIndex((token) => token.type !== "space");
  return Math.max(0, tokens.slice(0, Math.max(0, last)).findLastIndex((token) => token.type !== "space"));
}

// A part of a text as it is shown.
class Block {
  constructor(token, links) {
    this.raw = token.raw;
    this.code = token.type === "code" ? new Code(token) : null;
    this.nodes = this.code ? [this.code.node] : nodesOf(token, links);
  }

  // Whether it is what that part has become, as it is or by growing.
  becomes(token) {
    const same = token.raw === this.raw || Boolean(token.type === "code" && this.code?.becomes(token));
    this.raw = token.raw;
    return same;
  }
}

function nodesOf(token, links) {
  if (token.type === "space") return [];
  if (token.raw.length > LARGEST_BLOCK) return [element("pre", { class: "plain" }, token.raw)];
  const list = [token];
  list.links = links;
  const clean = purify.sanitize(marked.parser(list), {
    ALLOWED_TAGS: TAGS.split(" "),
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const table of clean.querySelectorAll("table")) {
    const frame = element("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" });
    table.replaceWith(frame);
    frame.append(table);
    for (const cell of table.querySelectorAll("th, td")) wrapLong(cell);
  }
  // Code within a list or a quotation.
  for (const block of clean.querySelectorAll("pre")) {
    const lang = block.querySelector("code")?.className.replace(/^language-/, "");
    block.replaceWith(new Code({ text: block.textContent.replace(/\n$/, ""), lang }).node);
  }
  for (const list of clean.querySelectorAll("ol")) {
    const digits = String(list.start + list.children.length - 1).length;
    if (digits > 1) list.classList.add(`digits-${Math.min(digits, 5)}`);
  }
  return [...clean.childNodes];
}

// Every element that is left, on its way out.
function secure(node) {
  if (node.tagName === "INPUT") {
    if (node.getAttribute("type") !== "checkbox") node.remove();
    else node.setAttribute("disabled", "");
  } else if (node.tagName === "A") {
    const href = node.getAttribute("href") ?? "";
    if (SAFE.test(href)) {
      node.setAttribute("target", "_blank");
      node.setAttribute("rel", "noopener noreferrer nofollow");
      node.setAttribute("title", visible(href));
    } else node.removeAttribute("href");
  }
}

function asText({ text, block }) {
  const words = escaped(text).replace(/\n/g, "<br>");
  return block ? `<p>${words}</p>` : words;
}

function asLink({ href, text }) {
  const words = escaped(text || "picture");
  return SAFE.test(href) ? `<a href="${escaped(href)}">${words} (picture)</a>` : `${words} (picture)`;
}

function escaped(text) {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
