// A run on a time line: its turns, in each the states as bars, opened one by one to what went in and came out.

import { ago, clock, element, icon, visible } from "../dom.js";
import { detail } from "./states.js";
import { callsOf, condition, groups, nestedRun, passes, scale, seconds, span, waits } from "./trace.js";

const SVG = "http://www.w3.org/2000/svg";
// As many turns are all open at first.
const FEW = 5;
const WORDS = { timed_out: "timed out", aborted: "stopped" };
const BETWEEN = { ReceiveMessage: "Waited for a message", ContinueAsNew: "Handed over", CloseRun: "Closed for inactivity" };

// `opened` holds what is open by its key, and keeps it when the run is drawn again. `promptOf(part, model)`
// fetches a prompt; `every` shows Choice states and ends too.
export function timeline(run, { opened, promptOf, every, now }) {
  const draw = (part, states, key) => {
    const drawn = scale(part, states, now);
    const rows = states
      .map((state, index) => ({ state, own: `${key}/${index}` }))
      .filter(({ state }) => every || !passes(state))
      .map(({ state, own }) => row(part, state, own, drawn));
    return { rows, cut: drawn.cut };
  };
  const row = (part, state, key, drawn) => {
    const body = element("div", { class: "row-body", id: `row-${key}`, hidden: !opened.has(key) });
    const toggle = head(part, state, key, drawn, now, opened.has(key));
    const open = () => body.replaceChildren(inside(opened, key, part, state, promptOf));
    toggle.addEventListener("click", () => {
      body.hidden = !body.hidden;
      if (body.hidden) opened.delete(key);
      else open();
      toggle.setAttribute("aria-expanded", String(!body.hidden));
    });
    if (!body.hidden) open();
    const nested = nestedRun(part, state);
    const kinds = `row ${condition(state)}${waits(state) ? " waits" : ""}`;
    return element("li", { class: kinds }, toggle, body, nested ? nest(nested, key) : null);
  };
  const nest = (nested, key) => {
    const asked = element("span", { class: "faint quote" }, nested.asked?.content ?? "");
    return element(
      "section",
      { class: "subrun", "aria-label": `Subagent ${nested.agent_id}` },
      element("h4", {}, icon("agent"), nested.agent_id, asked, nested.asked?.cancelled ? stopped() : null),
      element("ol", { class: "rows" }, ...draw(nested, nested.states, key).rows),
    );
  };
  const parts = groups(run.states);
  const turns = parts.filter(({ turn }) => turn !== null);
  const many = turns.length > FEW;
  const sections = parts.map((group, index) => {
    const states = () => draw(run, group.states, String(index));
    if (group.turn === null) return many && !every && over(group) ? null : between(states().rows);
    const key = `turn-${index}`;
    const open = opened.get(key) ?? (!many || group === turns.at(-1) || group.states.some(failed));
    return section(run, group, { key, open, states, keep: (is) => opened.set(key, is) }, now);
  });
  return element("div", { class: "run-line" }, ...sections);
}

// Whether a wait between two turns has nothing to tell any more.
function over({ states }) {
  return states.every((state) => passes(state) || (state.name === "ReceiveMessage" && condition(state) === "done"));
}

function failed(state) {
  return ["failed", "timed_out"].includes(condition(state));
}

function between(rows) {
  return rows.length ? element("section", { class: "between" }, element("ol", { class: "rows" }, ...rows)) : null;
}

// What was open stays as it is, folds and scrolling included, unless there is something new to show.
function inside(opened, key, part, state, promptOf) {
  const version = JSON.stringify([state, callsOf(part, state)]);
  const known = opened.get(key);
  if (known?.version === version) return known.node;
  const node = detail(part, state, (model) => promptOf(part, model));
  opened.set(key, { version, node });
  return node;
}

// A turn; of many only the last and those in which something failed are open at first.
function section(run, group, { key, open, states, keep }, now) {
  const asked = run.asked.find((entry) => entry.turn === group.turn);
  const begun = group.states[0].entered_at;
  const took = (group.states.at(-1).exited_at ?? now) - begun;
  const body = element("div", { id: key });
  const show = (is) => {
    toggle.setAttribute("aria-expanded", String(is));
    body.replaceChildren(...(is ? inTime(states()) : []));
  };
  const act = () => {
    const is = toggle.getAttribute("aria-expanded") !== "true";
    keep(is);
    show(is);
  };
  const props = { type: "button", class: "turn-head", "aria-controls": key, "data-key": key, onclick: act };
  const toggle = element("button", props, icon("chevron"), `Turn ${group.turn}`);
  show(open);
  return element(
    "section",
    { class: "run-turn", "aria-label": `Turn ${group.turn}` },
    element(
      "header",
      {},
      element("h3", {}, toggle),
      element("span", { class: "faint quote", title: asked?.content }, asked?.content ?? ""),
      ending(group, asked),
      element("span", { class: "faint when", title: clock(begun) }, `${ago(begun, now)} · ${long(took)}`),
    ),
    body,
  );
}

// How a turn ended, if not with a reply: what a person stopped may have failures in it, but did not end by them.
function ending({ states }, asked) {
  if (asked?.cancelled) return stopped();
  return states.some(failed) ? element("span", { class: "state failed" }, "failed") : null;
}

function stopped() {
  return element("span", { class: "state stopped" }, "stopped by a person");
}

function inTime({ rows, cut }) {
  const words = "Long waits are drawn shorter than they were; the times are exact.";
  return [element("ol", { class: "rows" }, ...rows), cut ? element("p", { class: "faint cut" }, words) : ""];
}

function head(part, state, key, drawn, now, open) {
  const kind = condition(state);
  const name = element("span", { class: "name" }, BETWEEN[state.name] ?? state.name);
  const { model, tool } = callsOf(part, state);
  // Which of several calls it is.
  const which = model?.tool_calls.length > 1 ? ` ${state.call + 1}` : "";
  if (tool) name.append(element("span", { class: "faint" }, ` · ${visible(tool.name)}${which}`));
  else if (state.call !== null) name.append(element("span", { class: "faint" }, ` · call ${state.call + 1}`));
  const again = state.retries === 1 ? "1 retry" : `${state.retries} retries`;
  const props = { "aria-expanded": String(open), "aria-controls": `row-${key}`, "data-key": key };
  return element(
    "button",
    { type: "button", class: "row-head", ...props },
    icon("chevron"),
    name,
    bar(state, drawn, now),
    state.retries ? element("span", { class: "pill retries" }, again) : null,
    element("span", { class: "took" }, long(seconds(state, now))),
    element("span", { class: `state ${kind}` }, WORDS[kind] ?? kind),
  );
}

// An SVG, since its places are attributes: no style has to be written.
function bar(state, drawn, now) {
  const { start, length } = span(state, drawn, now);
  const svg = document.createElementNS(SVG, "svg");
  const rect = document.createElementNS(SVG, "rect");
  const places = { x: start, width: Math.min(length, 1 - start) };
  for (const [name, part] of Object.entries(places)) rect.setAttribute(name, `${(part * 100).toFixed(2)}%`);
  rect.setAttribute("height", "100%");
  rect.setAttribute("rx", "2");
  svg.setAttribute("class", "bar-line");
  svg.setAttribute("aria-hidden", "true");
  svg.append(rect);
  return svg;
}

// A length of time as it is read beside a bar.
export function long(seconds) {
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}
