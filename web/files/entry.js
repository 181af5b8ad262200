// One file or document: shown, edited, downloaded, removed; or a new one being written.

import { ago, button, clock, element, icon, visibleParts } from "../dom.js";
import { draftOf, keepDraft } from "../drafts.js";
import { address } from "../router.js";
import { ask } from "./dialog.js";
import { sizeOf } from "./kinds.js";

const PICTURES = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp" };

export class Entry {
  constructor(kind, context) {
    this.kind = kind;
    this.context = context;
    this.node = element("div", { class: "entry" });
    this.urls = [];
  }

  async open(id) {
    this.id = id;
    this.unread = false;
    this.context.title(id.split("/").at(-1));
    this.node.replaceChildren(element("p", { class: "faint" }, "Opening it …"));
    try {
      const read = await this.kind.read(id);
      if (this.id === id) this.show(read);
    } catch (error) {
      if (this.id === id) this.missing(error);
    }
  }

  close() {
    this.id = null;
    this.editing = null;
    this.unread = false;
    this.urls.forEach((url) => URL.revokeObjectURL(url));
    this.urls = [];
  }

  // Whether something would be lost by going away.
  get unsaved() {
    return Boolean(this.editing && this.editing.text.value !== this.editing.saved);
  }

  show(read) {
    this.editing = null;
    if (read.text !== null && draftOf(this.draftName(read.id)) !== null) {
      this.edit(read);
      return;
    }
    const { id, title, size, at, text, note } = read;
    const edit = text === null ? null : button("Edit", () => this.edit(read), { class: "button" });
    const facts = `${sizeOf(size)} · changed ${ago(at, this.context.api.now())}`;
    this.node.replaceChildren(
      back(this.kind),
      element("h2", {}, visibleParts(title ?? id)),
      element("p", { class: "faint", title: clock(at) }, title ? `${id} · ${facts}` : facts),
      note ? element("p", { class: "pill note" }, note) : "",
      element("div", { class: "buttons" }, ...[edit, this.download(read), this.removal(id)].filter(Boolean)),
      this.content(read),
    );
  }

  content({ id, text, bytes }) {
    if (text !== null) {
      const shown = element("pre", { class: "content", tabindex: 0, "aria-label": "Content" });
      shown.append(visibleParts(text));
      return shown;
    }
    const type = PICTURES[id.split(".").at(-1).toLowerCase()];
    if (!type) return element("p", { class: "empty" }, "This is no text: download it to look at it.");
    return element("img", { class: "content", src: this.url(bytes, type), alt: id });
  }

  download({ id, text, bytes }) {
    const url = this.url(bytes ?? text, "application/octet-stream");
    return element("a", { class: "button", href: url, download: id.split("/").at(-1) }, icon("down"), "Download");
  }

  url(part, type) {
    const url = URL.createObjectURL(new Blob([part], { type }));
    this.urls.push(url);
    return url;
  }

  removal(id) {
    const act = async () => {
      const words = `“${id}” will be gone for everybody in this project.`;
      if (!(await ask(`Remove this ${this.kind.word}?`, words, "Remove"))) return;
      const removed = await this.context.attempt(async () => (await this.kind.remove(id)) ?? true);
      if (removed) this.context.go(address(this.kind.view));
    };
    return button("Remove", act, { class: "button danger" });
  }

  edit(read) {
    const text = element("textarea", { id: "entry-text", class: "content", spellcheck: "false", rows: 20 });
    const draft = this.draftName(read.id);
    const kept = draftOf(draft);
    text.value = kept ?? read.text;
    text.addEventListener("input", () => keepDraft(draft, text.value === read.text ? null : text.value));
    const cancel = () => {
      keepDraft(draft, null);
      this.show(read);
    };
    const save = element("button", { type: "submit", class: "button primary" }, "Save");
    const error = element("p", { class: "error", role: "alert" });
    const submit = (event) => {
      event.preventDefault();
      this.save(read.id, { text: text.value, title: this.titleOf(read) }, save, error);
    };
    this.editing = { text, saved: read.text };
    this.node.replaceChildren(
      element(
        "form",
        { class: "fields", onsubmit: submit },
        element("label", { for: "entry-text" }, `Content of ${read.id}`),
        kept === null ? null : element("p", { class: "faint" }, "These are your changes from before. They are not saved yet."),
        text,
        error,
        element("div", { class: "buttons" }, save, button("Cancel", cancel)),
      ),
    );
    text.focus();
  }

  // A title that was the text's own heading follows the text.
  titleOf({ title, text }) {
    return title && !text.includes(title) ? title : undefined;
  }

  // A form for something new; `text` is what was pasted.
  create(text = "", suggested = "") {
    this.context.title(`New ${this.kind.word}`);
    const name = element("input", { id: "entry-name", required: true, autocomplete: "off", placeholder: "notes/plan.md" });
    name.value = suggested;
    const field = element("textarea", { id: "entry-text", class: "content", rows: 16 });
    const draft = this.draftName("");
    field.value = text || (draftOf(draft) ?? "");
    field.addEventListener("input", () => keepDraft(draft, field.value || null));
    const save = element("button", { type: "submit", class: "button primary" }, "Save");
    const error = element("p", { class: "error", role: "alert" });
    const submit = (event) => {
      event.preventDefault();
      this.save(name.value.trim(), { text: field.value }, save, error, draft);
    };
    this.editing = { text: field, saved: "" };
    this.node.replaceChildren(
      back(this.kind),
      element(
        "form",
        { class: "fields", onsubmit: submit },
        element("label", { for: "entry-name" }, "Name"),
        name,
        element("label", { for: "entry-text" }, "Content"),
        field,
        error,
        element("div", { class: "buttons" }, save, element("a", { class: "button", href: address(this.kind.view), onclick: () => keepDraft(draft, null) }, "Cancel")),
      ),
    );
    name.focus();
  }

  // What is written of something, or of something new, and not saved yet.
  draftName(id) {
    return `${this.kind.view}/${id}`;
  }

  async save(id, content, save, error, draft = this.draftName(id)) {
    save.disabled = true;
    error.textContent = "";
    try {
      await this.kind.write(id, content);
      this.editing = null;
      keepDraft(draft, null);
      this.context.announce(`${id} is saved.`);
      if (this.id === id) await this.open(id);
      else this.context.go(address(this.kind.view, id.split("/")));
    } catch (failure) {
      error.textContent = failure.message;
      save.disabled = false;
    }
  }

  missing(error) {
    this.unread = error.status !== 404;
    const words = error.status === 404 ? `There is no such ${this.kind.word} (any more).` : error.message;
    this.node.replaceChildren(back(this.kind), element("div", { class: "empty" }, element("p", {}, words)));
  }
}

function back(kind) {
  return element("a", { class: "back", href: address(kind.view) }, `All ${kind.word}s`);
}
