// A conversation on the page: what changed in its state is drawn once per frame, and nothing else. Those who read at
// the end stay there; those who have scrolled up are left alone.

import { CallItem } from "./call.js";
import { element } from "./dom.js";
import { failureItem, noteItem, taskItem, textItem, userItem, waitingItem } from "./items.js";

const MAKERS = {
  user: userItem,
  text: textItem,
  task: taskItem,
  failure: failureItem,
  note: noteItem,
  call: (call, tools) => new CallItem(call, tools),
};
const NEAR_END = 80;
// How long after a wheel or a finger a scroll is its doing, in ms.
const TOUCH = 600;
const TOUCHES = ["wheel", "touchmove", "pointerdown", "keydown"];

export class Timeline {
  // tools: what the items need (call.js, items.js). onOlder: the beginning has come into sight.
  constructor(scroller, tools, { onOlder }) {
    this.scroller = scroller;
    this.tools = tools;
    this.turns = element("div", { class: "turns" });
    this.older = element("p", { class: "faint older", hidden: true });
    this.waiting = element("div", { class: "turn waiting-list" });
    this.working = element("p", { class: "working", hidden: true });
    this.top = element("div", { class: "edge" });
    this.column = element("div", { class: "column timeline" }, this.top, this.older, this.turns, this.working, this.waiting);
    scroller.replaceChildren(this.column);
    this.follow = true;
    this.noted = () => this.noteScroll();
    this.touched = () => (this.touchedAt = performance.now());
    this.touchedAt = 0;
    scroller.addEventListener("scroll", this.noted, { passive: true });
    for (const name of TOUCHES) scroller.addEventListener(name, this.touched, { passive: true });
    this.watcher = new IntersectionObserver((entries) => entries.at(-1).isIntersecting && onOlder(), {
      root: scroller,
      rootMargin: "600px 0px 0px 0px",
    });
    // What grows without an event of ours: a picture, an unfolded result, a smaller window.
    this.sizes = new ResizeObserver(() => this.follow && this.toEnd());
    this.sizes.observe(this.column);
    this.sizes.observe(scroller);
    this.reset(null);
  }

  // Whether the end is kept in sight.
  get follow() {
    return this.following;
  }

  set follow(follow) {
    if (follow === this.following) return;
    this.following = follow;
    this.onFollow?.(follow);
  }

  close() {
    this.reset(null);
    this.watcher.disconnect();
    this.sizes.disconnect();
    this.scroller.removeEventListener("scroll", this.noted);
    for (const name of TOUCHES) this.scroller.removeEventListener(name, this.touched);
  }

  // Show another conversation.
  reset(conversation) {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.conversation = conversation;
    this.shown = new WeakMap();
    this.turns.replaceChildren();
    this.waiting.replaceChildren();
    this.working.hidden = true;
    this.follow = true;
    this.scrolled = 0;
  }

  // Look for older turns from now on.
  watch(on) {
    this.sayAbove(null);
    this.watcher.disconnect();
    if (on) this.watcher.observe(this.top);
  }

  // What stands where older turns come in: words, a button, or nothing.
  sayAbove(part) {
    this.older.hidden = part === null;
    this.older.replaceChildren(part ?? "");
  }

  // Draw what changed with the next frame.
  draw() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.drawNow();
    });
  }

  drawNow() {
    const { conversation } = this;
    if (!conversation) return;
    const changes = conversation.takeChanges();
    // Lists first, so that every item that has changed is there.
    for (const change of changes) {
      if (change === conversation) this.drawTurns();
      else if (change.items) this.drawItems(change);
    }
    for (const change of changes) {
      if (change !== conversation && change.kind !== "turn") this.shown.get(change)?.update();
    }
    if (this.follow) this.toEnd();
  }

  drawTurns() {
    const { conversation } = this;
    const nodes = conversation.order.map((number) => this.turnNode(conversation.turns.get(number)));
    const first = this.turns.firstElementChild;
    // Older ones come in above: what is being read stays where it is.
    const before = first?.isConnected && first !== nodes[0] ? first.getBoundingClientRect().top : null;
    arrange(this.turns, nodes);
    if (before === null || this.follow || !first.isConnected) return;
    this.scroller.scrollTop += first.getBoundingClientRect().top - before;
  }

  turnNode(turn) {
    let shown = this.shown.get(turn);
    if (!shown) {
      shown = { node: element("div", { class: "turn", "data-turn": turn.number }) };
      this.shown.set(turn, shown);
      this.drawItems(turn);
    }
    return shown.node;
  }

  // The items of a turn, or of the subagent that answers a call.
  drawItems(place) {
    const shown = this.shown.get(place) ?? (place.kind === "turn" ? null : this.item(place));
    if (!shown) return;
    arrange(shown.body ?? shown.node, place.items.map((item) => this.item(item).node));
  }

  item(item) {
    let shown = this.shown.get(item);
    if (!shown) {
      shown = MAKERS[item.kind](item, { ...this.tools, speaker: () => this.tools.speakerOf(item) });
      this.shown.set(item, shown);
      if (item.items?.length > 0) this.drawItems(item);
    }
    return shown;
  }

  // Messages that no turn has taken yet, the first of them about to be if `next`.
  drawWaiting(entries, next, tools) {
    const inLine = entries.filter(({ state }) => state === "accepted").slice(next ? 1 : 0);
    const line = (entry) => (entry === inLine.at(-1) ? inLine.length : 0);
    this.waiting.replaceChildren(...entries.map((entry) => waitingItem(entry, line(entry), tools)));
    if (this.follow) this.toEnd();
  }

  // What is being done, while nothing else shows it; before the messages that wait, or behind the first of them.
  drawWorking(words, behind) {
    this.working.hidden = !words;
    if (!words) return;
    const before = behind ? null : this.waiting;
    if (this.working.nextSibling !== before) this.column.insertBefore(this.working, before);
    if (!this.working.firstChild) this.working.append(element("span", { class: "spinner" }), element("span"));
    if (this.working.lastChild.textContent !== words) this.working.lastChild.textContent = words;
  }

  // The place of an item on the page, unfolded and in sight.
  reveal(node) {
    for (let fold = node.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    node.scrollIntoView({ block: "center" });
    node.focus({ preventScroll: true });
  }

  cardOf(call) {
    return this.shown.get(call)?.card;
  }

  toEnd() {
    // Another thing may stand in its place.
    if (this.column.isConnected) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  noteScroll() {
    // The welcome scrolls, too: it has no end to go to.
    if (!this.column.isConnected) return;
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    const distance = scrollHeight - scrollTop - clientHeight;
    const same = this.measured === scrollHeight + clientHeight / 1e5;
    this.measured = scrollHeight + clientHeight / 1e5;
    // What shrinks scrolls up by itself. Where nothing changed its size a person did it, and however little that was,
    // it has to hold against what streams in below.
    const person = scrollTop < this.scrolled && (same || performance.now() - this.touchedAt < TOUCH);
    this.scrolled = scrollTop;
    this.follow = distance < 4 || (!person && (this.follow || distance < NEAR_END));
  }
}

// Make these the children, in this order, touching only what is not in its place.
function arrange(parent, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  let place = parent.firstElementChild;
  for (const node of nodes) {
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
  }
}
