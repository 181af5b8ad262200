// A project's files, or its knowledge documents: all of them in a list, one of them opened; added by a button, by
// dropping or by pasting. Addresses: #/files, #/files/PATH, #/files?new; and the same below #/knowledge.

import { ago, button, clock, element, icon, iconButton, visibleParts } from "../dom.js";
import { address } from "../router.js";
import { ask } from "./dialog.js";
import { Entry } from "./entry.js";
import { contentOf, sizeOf } from "./kinds.js";
import { searchBox } from "./search.js";

export class Library {
  constructor(root, context, kind) {
    this.context = context;
    this.kind = kind;
    this.entry = new Entry(kind, context);
    this.column = element("div", { class: "library" });
    this.scroller = element("div", { class: "scroll" }, this.column);
    this.rows = element("tbody", {});
    this.more = button("Show more", () => this.load(this.next), { class: "button quiet", hidden: true });
    this.says = element("p", { class: "faint", role: "status" });
    root.append(this.scroller);
    this.listen(root);
    this.update(context.route);
  }

  // Pasting is heard on the document, since a paste goes to whatever has the focus.
  listen(root) {
    const { signal } = this.context;
    const over = (event) => {
      event.preventDefault();
      root.classList.add("dropping");
    };
    const out = () => root.classList.remove("dropping");
    root.addEventListener("dragover", over, { signal });
    root.addEventListener("dragleave", (event) => root.contains(event.relatedTarget) || out(), { signal });
    root.addEventListener("drop", (event) => {
      event.preventDefault();
      out();
      this.add([...event.dataTransfer.files]);
    }, { signal });
    document.addEventListener("paste", (event) => this.pasted(event), { signal });
    window.addEventListener("beforeunload", (event) => this.entry.unsaved && event.preventDefault(), { signal });
  }

  update({ parts, query }) {
    this.entry.close();
    const id = parts.join("/");
    if (id || query.has("new")) this.column.replaceChildren(this.entry.node);
    if (id) this.entry.open(id);
    else if (query.has("new")) this.entry.create(this.draft ?? "", query.get("new"));
    else this.list();
    this.draft = null;
  }

  unmount() {
    this.entry.close();
  }

  revived() {
    if (this.unread || this.entry.unread) this.update(this.context.route);
  }

  list() {
    this.context.title(this.kind.title);
    const picker = element("input", { type: "file", multiple: true, hidden: true, id: "picker" });
    picker.addEventListener("change", () => {
      this.add([...picker.files]);
      picker.value = "";
    });
    const upload = button("Upload", () => picker.click(), { class: "button primary" });
    const write = element("a", { class: "button", href: `#/${this.kind.view}?new=` }, icon("plus"), "Write one");
    this.table = element(
      "div",
      { class: "table", hidden: true },
      element(
        "table",
        {},
        element("thead", {}, element("tr", {}, heading("Name"), heading("Size", "number"), heading("Changed"), heading(""))),
        this.rows,
      ),
    );
    this.nothing = element("div", { hidden: true });
    const head = element("div", { class: "buttons" }, upload, write, picker);
    const search = this.kind.search ? searchBox(this.kind, this.context) : "";
    this.column.replaceChildren(element("p", { class: "faint" }, this.kind.about), head, this.says, search, this.table, this.nothing, this.more);
    this.load(null);
  }

  async load(cursor) {
    try {
      const { entries, next } = await this.kind.list(cursor);
      this.next = next;
      this.unread = false;
      const rows = entries.map((entry) => this.row(entry));
      if (cursor) this.rows.append(...rows);
      else this.rows.replaceChildren(...rows);
      this.more.hidden = !next;
      this.settle();
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.type === "no_knowledge_base") this.absent(error.message);
      else {
        this.unread = true;
        this.context.attempt(() => Promise.reject(error));
      }
    }
  }

  settle() {
    const empty = this.rows.childElementCount === 0;
    this.table.hidden = empty;
    this.nothing.hidden = !empty;
    if (!empty) return;
    this.nothing.replaceChildren(
      element(
        "div",
        { class: "empty" },
        icon(this.kind.view === "files" ? "file" : "book"),
        element("h2", {}, `No ${this.kind.word}s yet`),
        element("p", {}, `Drop ${this.kind.binary ? "files" : "texts"} here, paste, upload, or write one.`),
      ),
    );
  }

  absent(words) {
    this.column.replaceChildren(element("div", { class: "empty" }, icon("book"), element("h2", {}, "No knowledge base"), element("p", {}, words)));
  }

  row({ id, title, size, at }) {
    const link = element("a", { href: address(this.kind.view, id.split("/")) }, visibleParts(title ?? id));
    const name = element("td", {}, link, title && title !== id ? element("div", { class: "faint" }, visibleParts(id)) : "");
    const row = element(
      "tr",
      {},
      name,
      element("td", { class: "number" }, sizeOf(size)),
      element("td", { title: clock(at) }, ago(at, this.context.api.now())),
      element("td", { class: "number" }, iconButton("cross", `Remove ${id}`, () => this.remove(id, row), { class: "icon-button small" })),
    );
    row.dataset.id = id;
    return row;
  }

  async remove(id, row) {
    if (!(await ask(`Remove this ${this.kind.word}?`, `“${id}” will be gone for everybody in this project.`, "Remove"))) return;
    const removed = await this.context.attempt(async () => (await this.kind.remove(id)) ?? true);
    if (!removed) return;
    row.remove();
    this.context.announce(`${id} is removed.`);
    this.settle();
  }

  pasted(event) {
    const { target, clipboardData: given } = event;
    if (target.closest?.("input, textarea, dialog") || this.entry.unsaved) return;
    const files = [...given.files];
    const text = given.getData("text/plain");
    if (files.length) this.add(files);
    else if (text.trim()) {
      this.draft = text;
      this.context.go(`#/${this.kind.view}?new=`);
    } else return;
    event.preventDefault();
  }

  // One after the other, so that what goes wrong can be said of each.
  async add(files) {
    const faults = [];
    let added = 0;
    for (const file of files) {
      this.say(`Adding ${file.name} …`);
      const fault = await this.addOne(file);
      if (fault) faults.push(`${file.name}: ${fault}`);
      else if (fault === null) added += 1;
    }
    this.say(added ? `${added} ${this.kind.word}${added === 1 ? "" : "s"} added.` : "");
    if (faults.length) this.context.notice(faults.join(" · "));
    if (added) {
      if (this.column.contains(this.entry.node)) this.context.go(address(this.kind.view));
      else await this.load(null);
    }
  }

  // Null once it is there, undefined if the person did not want it, else what was wrong.
  async addOne(file) {
    if (file.size > this.kind.largest) return `it has ${sizeOf(file.size)}, and ${sizeOf(this.kind.largest)} is the most.`;
    const id = file.webkitRelativePath || file.name;
    try {
      const content = await contentOf(file);
      if (content.text === null && !this.kind.binary) return "it is no text. Agents can look things up in text and Markdown.";
      const there = [...this.rows.children].some((row) => row.dataset.id === id);
      if (there && !(await ask(`Replace this ${this.kind.word}?`, `There is a “${id}” already.`, "Replace"))) return undefined;
      await this.kind.write(id, content);
      return null;
    } catch (error) {
      return error.message;
    }
  }

  say(words) {
    this.says.textContent = words;
  }
}

function heading(words, kind) {
  return element("th", { scope: "col", class: kind }, words || element("span", { class: "visually-hidden" }, "Actions"));
}
