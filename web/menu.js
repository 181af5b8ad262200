// The menu: a new conversation, the views, the conversations with what each is doing, and who is signed in.

import { ago, button, clock, element, icon } from "./dom.js";
import { address } from "./router.js";
import { VIEWS } from "./views.js";

const BUSY = { thinking: "Thinking", applying_action: "Working", recording_reply: "Thinking", continuing_as_new: "Thinking" };
const ENDS = ["ThreadEnd", "TurnFailed", "TurnCancelled"];
const REFRESH = 30000;

export class Menu {
  constructor(root, shell) {
    this.shell = shell;
    this.api = shell.api;
    this.threads = new Map();
    // What events told of each thread: { seq, phase, at, heard }.
    this.news = new Map();
    // Of each thread, its proposals by id: the seq that asked, null once it is decided.
    this.proposals = new Map();
    this.cursor = undefined;
    this.list = element("ul", { class: "threads" });
    this.more = button("Show older ones", () => this.load(this.cursor), { class: "button quiet small", hidden: true });
    this.empty = element("p", { class: "faint", hidden: true }, "None yet. What you write first starts one.");
    this.links = new Map(VIEWS.filter((view) => view.nav).map((view) => [view.name, linkTo(view)]));
    this.waiting = element("span", { class: "count", hidden: true });
    this.links.get("approvals")?.append(this.waiting);
    root.replaceChildren(
      element("p", { class: "brand" }, "Parley"),
      element("a", { class: "button primary wide", href: "#/chat", id: "new-thread" }, icon("plus"), "New conversation"),
      element("ul", { class: "views" }, ...[...this.links.values()].map((link) => element("li", {}, link))),
      element("h2", { id: "threads-title" }, "Conversations"),
      this.empty,
      this.list,
      this.more,
      this.foot(),
    );
    this.list.setAttribute("aria-labelledby", "threads-title");
    this.stop = shell.onEvent((event) => this.apply(event));
    // Older ones come as the list is scrolled to its end; the button is for those who do not scroll.
    this.end = new IntersectionObserver((seen) => seen.at(-1).isIntersecting && this.load(this.cursor), { root });
    this.timer = setInterval(() => document.visibilityState === "visible" && this.refresh(), REFRESH);
    this.refresh();
  }

  close() {
    this.stop();
    this.end.disconnect();
    clearInterval(this.timer);
  }

  foot() {
    const { user, project } = this.api;
    return element(
      "div",
      { class: "foot" },
      element("p", { class: "who" }, element("strong", {}, user), element("span", { class: "faint" }, `in ${project}`)),
      button("Sign out", () => this.shell.leave(""), { class: "button quiet small" }),
    );
  }

  async refresh() {
    this.load(null);
    this.count();
  }

  // Read the list from its top, or from where it ended.
  async load(cursor) {
    const asked = performance.now();
    const page = await this.quietly(() => this.api.threads(cursor));
    if (!page) return;
    for (const thread of page.threads) this.put(this.upToDate(thread, asked));
    if (cursor || this.cursor === undefined) this.goOn(page.next);
    this.sort();
  }

  // Where older threads go on; null: these are all.
  goOn(cursor) {
    this.cursor = cursor;
    this.more.hidden = !cursor;
    this.end.disconnect();
    if (cursor) this.end.observe(this.more);
  }

  // How many proposals wait for this person.
  async count() {
    const page = await this.quietly(() => this.api.confirmations());
    if (page) this.showCount(page.confirmations.length);
  }

  showCount(count) {
    this.waiting.hidden = count === 0;
    this.waiting.textContent = String(count);
    this.waiting.setAttribute("aria-label", `${count} waiting`);
    this.shell.count(count);
  }

  // What the list cannot learn now it learns with the next refresh; only a lost sign-in is worth a word.
  async quietly(request) {
    try {
      return await request();
    } catch (error) {
      if (error.status === 401) this.shell.failed(error);
      return undefined;
    }
  }

  // A message was accepted: of a thread that the list may not know yet.
  begun(id, title, agent) {
    const known = this.threads.get(id);
    const now = this.api.now();
    if (known) known.thread.updated_at = now;
    else this.put({ thread_id: id, agent_id: agent, title, phase: "thinking", updated_at: now });
    this.sort();
  }

  apply(event) {
    const id = event.thread_id;
    const known = this.threads.get(id);
    const before = this.news.get(id) ?? { seq: 0 };
    const open = this.stillOpen(event);
    if (event.seq > before.seq) {
      // While one of several actions runs, the others wait all the same.
      const phase = open ? "awaiting_approval" : (phaseAfter(event) ?? before.phase);
      this.news.set(id, { seq: event.seq, phase, at: event.at, heard: performance.now() });
      if (known && phase !== known.thread.phase) this.put(this.upToDate(known.thread, 0));
    }
    if (event.event === "UserMessage") {
      if (known) this.sort();
      else this.load(null);
    }
    if (event.event.startsWith("Action") || ENDS.includes(event.event)) this.count();
  }

  // Whether a thread has a proposal that nobody has decided. Events come in any order: a decision may be heard of first.
  stillOpen({ event, data, thread_id: thread, seq, subthread_id: nested }) {
    const known = this.proposals.get(thread) ?? new Map();
    this.proposals.set(thread, known);
    const decided = event === "ActionConfirmed" || event === "ActionRejected";
    if (decided) known.set(data.proposal_id, null);
    else if (event === "ActionRequiresConfirmation" && !known.has(data.proposal_id)) known.set(data.proposal_id, seq);
    else if (ENDS.includes(event) && !nested) known.forEach((asked, id) => asked < seq && known.set(id, null));
    return [...known.values()].some((asked) => asked !== null);
  }

  // A thread as it was answered, and what has been heard since it was asked for.
  upToDate(thread, asked) {
    const news = this.news.get(thread.thread_id);
    if (!news || news.heard < asked) return thread;
    return { ...thread, phase: news.phase ?? thread.phase, updated_at: Math.max(thread.updated_at, news.at) };
  }

  put(thread) {
    const known = this.threads.get(thread.thread_id);
    const entry = known ?? { title: element("span", { class: "thread-title" }), state: element("span", { class: "thread-state" }) };
    if (!known) {
      entry.link = element("a", { href: address("chat", [thread.thread_id]) }, entry.title, entry.state);
      entry.node = element("li", {}, entry.link);
      this.threads.set(thread.thread_id, entry);
    }
    entry.thread = { ...thread };
    this.draw(entry);
  }

  draw({ thread, title, state, link }) {
    title.textContent = thread.title || "Untitled";
    link.title = `${thread.title || "Untitled"}\n${clock(thread.updated_at)}`;
    const waits = thread.phase === "awaiting_approval";
    const busy = BUSY[thread.phase];
    state.className = `thread-state${waits ? " waits" : busy ? " busy" : ""}`;
    state.textContent = waits ? "Needs approval" : (busy ?? (thread.phase === "completed" ? "Ended" : ago(thread.updated_at)));
  }

  sort() {
    const sorted = [...this.threads.values()].sort((a, b) => b.thread.updated_at - a.thread.updated_at);
    sorted.forEach(({ node }, place) => {
      if (this.list.children[place] !== node) this.list.insertBefore(node, this.list.children[place] ?? null);
    });
    this.empty.hidden = sorted.length > 0;
    this.mark(this.route);
  }

  mark(route) {
    this.route = route;
    if (!route) return;
    for (const [id, { link }] of this.threads) current(link, route.view === "chat" && route.parts[0] === id);
    for (const [name, link] of this.links) current(link, route.view === name);
  }
}

function linkTo(view) {
  return element("a", { href: address(view.name) }, icon(view.icon), element("span", {}, view.label));
}

function current(link, is) {
  if (is) link.setAttribute("aria-current", "page");
  else link.removeAttribute("aria-current");
}

// What a thread does after an event; undefined where that does not change.
function phaseAfter({ event, subthread_id: nested }) {
  if (event === "ActionRequiresConfirmation") return "awaiting_approval";
  if (event === "ActionConfirmed") return "applying_action";
  if (event === "ConversationCompleted") return "completed";
  if (nested) return undefined;
  if (ENDS.includes(event)) return "waiting_for_input";
  return event === "UserMessage" || event === "ThreadStart" ? "thinking" : undefined;
}
