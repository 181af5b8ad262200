// The inspector: a conversation's runs, and one of them from the inside, live.
// Addresses: #/runs/THREAD shows the newest run, #/runs/THREAD/GENERATION one of them.

import { diagram, machine } from "./diagram.js";
import { clock, element, icon } from "../dom.js";
import { address } from "../router.js";
import { long, timeline } from "./timeline.js";
import { asks, condition, totals } from "./trace.js";

const STATUS = {
  running: "running",
  waiting: "waiting for a message",
  continued: "continued as the next run",
  inactive: "closed for inactivity",
  completed: "conversation completed",
};
// The log is pushed before the state that wrote it has ended: look at once, and again a little later.
const SOON = [150, 900];
const WHILE_RUNNING = 2500;

export function mount(root, context) {
  const view = new Inspector(root, context);
  view.update(context.route);
  return view;
}

class Inspector {
  constructor(root, context) {
    this.context = context;
    this.opened = new Map();
    this.every = false;
    this.timers = [];
    this.chain = element("ol", { class: "chain", "aria-label": "Runs" });
    this.summary = element("dl", { class: "facts" });
    this.states = element("div", {});
    this.drawn = element("div", { class: "machine-place" });
    this.page();
    this.body = element("div", { class: "scroll" }, this.content);
    root.append(this.body);
    this.stop = context.onEvent((event) => event.thread_id === this.thread && this.soon());
    this.seen = () => document.visibilityState === "visible" && this.thread && this.refresh();
    document.addEventListener("visibilitychange", this.seen);
  }

  page() {
    const every = element("input", { type: "checkbox", id: "every-state" });
    every.addEventListener("change", () => {
      this.every = every.checked;
      this.draw();
    });
    this.content = element(
      "div",
      { class: "inspector" },
      element("section", { "aria-label": "Chain of runs" }, this.chain),
      this.summary,
      element(
        "section",
        { "aria-labelledby": "timeline-title" },
        element(
          "header",
          { class: "part" },
          element("h2", { id: "timeline-title" }, "Time line"),
          element("label", { class: "check", for: "every-state" }, every, "Show every state"),
        ),
        this.states,
      ),
      element("section", { "aria-labelledby": "machine-title" }, element("h2", { id: "machine-title" }, "State machine"), this.drawn),
    );
  }

  update({ parts: [thread, generation] }) {
    if (!thread) {
      this.empty("Which conversation?", "Open a conversation and choose “Inspect” above it: its runs are shown here.");
      return;
    }
    this.body.replaceChildren(this.content);
    // Until there is something in it, and if there never is: what went wrong is said above.
    this.content.hidden = true;
    if (thread !== this.thread) {
      this.thread = thread;
      this.title = null;
      this.context.title("Runs");
    }
    this.wanted = generation ? Number(generation) : null;
    this.opened.clear();
    this.run = null;
    this.shown = "";
    this.context.tools(element("a", { class: "button quiet small", href: address("chat", [thread]) }, icon("chat"), "Conversation"));
    this.refresh();
  }

  unmount() {
    this.left = true;
    this.stop();
    this.timers.forEach(clearTimeout);
    document.removeEventListener("visibilitychange", this.seen);
  }

  revived() {
    if (this.thread) this.refresh();
  }

  soon() {
    this.timers.forEach(clearTimeout);
    this.timers = SOON.map((pause) => setTimeout(() => this.refresh(), pause));
  }

  async refresh() {
    const thread = this.thread;
    const asked = (this.asked = {});
    const answer = await this.context.attempt(() => this.read(thread));
    // What another look, at another run perhaps, has overtaken.
    if (!answer || this.left || this.asked !== asked) return;
    const text = JSON.stringify(answer);
    if (text !== this.shown || answer.run.states.some((state) => state.exited_at === null)) {
      this.shown = text;
      Object.assign(this, answer);
      this.draw();
    }
    if (answer.run.states.some((state) => condition(state) === "running") && document.visibilityState === "visible") {
      this.timers.push(setTimeout(() => this.refresh(), WHILE_RUNNING));
    }
  }

  async read(thread) {
    const { api } = this.context;
    const get = (rest) => api.request("GET", api.thread(thread, rest), undefined, { signal: this.context.signal });
    this.title ??= (await get("")).title || "Untitled";
    const { runs } = await get("/runs");
    const generation = this.wanted ?? runs.at(-1).generation;
    return { runs, run: await get(`/runs/${generation}?prompts=false`) };
  }

  // The prompt of a model call: all of its turn come together, a subagent's too.
  async promptOf(part, model) {
    const { api } = this.context;
    const nested = part.subthread_id;
    const root = nested ? this.run.model_calls.find((call) => holds(call, nested, model.turn)) : model;
    const path = api.thread(this.thread, `/runs/${this.run.generation}?turn=${root?.turn}`);
    const whole = root && (await this.context.attempt(() => api.request("GET", path)));
    if (!whole) return null;
    const same = nested ? find(whole, nested, model.turn) : whole;
    return same?.model_calls.find((call) => call.turn === model.turn && call.step === model.step)?.prompt ?? null;
  }

  draw() {
    const { run, runs } = this;
    if (!run) return;
    this.content.hidden = false;
    this.context.title(`Runs of “${this.title}”`);
    const now = this.context.api.now();
    const focused = document.activeElement?.dataset?.key;
    this.chain.replaceChildren(...runs.map((entry) => this.link(entry, now)));
    if (this.placed !== run.generation) this.chain.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    this.placed = run.generation;
    this.summary.replaceChildren(...factsOf(run, now));
    const prompts = (part, model) => this.promptOf(part, model);
    this.states.replaceChildren(
      run.states.length
        ? timeline(run, { opened: this.opened, promptOf: prompts, every: this.every, now })
        : element("p", { class: "faint" }, "Its history is no longer kept: Step Functions keeps it for 90 days."),
    );
    if (focused) this.states.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    this.drawMachine();
  }

  async drawMachine() {
    try {
      this.picture ??= diagram(await machine());
    } catch (error) {
      this.drawn.replaceChildren(element("p", { class: "faint" }, error.message));
      return;
    }
    if (this.left || !this.run) return;
    if (!this.picture.node.isConnected) this.drawn.replaceChildren(this.picture.node);
    this.picture.mark(this.run.states);
  }

  link(entry, now) {
    const props = { href: address("runs", [this.thread, String(entry.generation)]), class: `run ${entry.status}` };
    if (entry.generation === this.run.generation) props["aria-current"] = "true";
    const status = entry.status === "running" && props["aria-current"] && asks(this.run) ? "waiting for approval" : STATUS[entry.status];
    const took = long((entry.stopped_at ?? now) - entry.started_at);
    return element(
      "li",
      {},
      element(
        "a",
        props,
        element("strong", {}, `Run ${entry.generation}`),
        element("span", {}, status ?? entry.status),
        element("span", { class: "faint" }, `${entry.turns} ${entry.turns === 1 ? "turn" : "turns"} · ${took}`),
      ),
    );
  }

  empty(title, words) {
    this.body.replaceChildren(element("div", { class: "empty" }, icon("runs"), element("h2", {}, title), element("p", {}, words)));
    this.context.title("Runs");
  }
}

function factsOf(run, now) {
  const sum = totals(run);
  const ended = run.stopped_at ?? now;
  return [
    ["Started", clock(run.started_at)],
    ["Took", long(ended - run.started_at)],
    ["Turns", run.turns],
    ["Model calls", sum.calls],
    ["Function calls", sum.tools],
    ["Tokens", `${sum.input.toLocaleString()} in, ${sum.output.toLocaleString()} out`],
    ["Retries", sum.retries],
  ].map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, String(value))));
}

// The run of a subagent that answered in a turn of its subthread, however deep below these model calls.
function find({ model_calls: calls }, subthread, turn) {
  for (const { subagent } of calls.flatMap((call) => call.tool_calls)) {
    if (!subagent) continue;
    if (subagent.subthread_id === subthread && subagent.model_calls[0]?.turn === turn) return subagent;
    const deeper = find(subagent, subthread, turn);
    if (deeper) return deeper;
  }
  return null;
}

function holds(call, subthread, turn) {
  return find({ model_calls: [call] }, subthread, turn) !== null;
}
