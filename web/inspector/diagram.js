// The state machine as an SVG: which states a run has entered, how often, and where it is now. Nearly every Task may
// fail or find itself overtaken; of those edges only the ones are drawn without which a state would hang in the air.

import { element } from "../dom.js";
import { layout } from "./machine.js";
import { condition } from "./trace.js";

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = 10;
let known;

// The shipped definition, read once.
export async function machine() {
  known ??= fetch("conversation.asl.json").then((answer) => {
    if (!answer.ok) throw new Error("The state machine could not be read.");
    return answer.json();
  });
  try {
    return await known;
  } catch (error) {
    known = undefined;
    throw error;
  }
}

// A drawing that `mark(states)` brings up to date.
export function diagram(definition) {
  const plan = layout(definition);
  const nodes = new Map();
  const svg = shape("svg", {
    class: "machine",
    role: "img",
    viewBox: `${-MARGIN} ${-MARGIN} ${plan.width + 2 * MARGIN} ${plan.height + 2 * MARGIN}`,
    width: plan.width + 2 * MARGIN,
    height: plan.height + 2 * MARGIN,
  });
  svg.append(arrow(), drawing(plan, nodes));
  const frame = element("div", { class: "machine-frame", tabindex: 0, role: "group", "aria-label": "State machine" }, svg);
  return { node: frame, mark: (states) => mark(svg, nodes, states) };
}

function drawing(plan, nodes) {
  const group = shape("g", {});
  for (const { kind, counts, path } of plan.edges) {
    if (kind === "catch" && !counts) continue;
    group.append(shape("path", { class: `edge ${kind}`, d: path, "marker-end": "url(#machine-arrow)" }));
  }
  for (const node of plan.nodes) group.append(box(node, nodes));
  return group;
}

function box({ name, type, comment, x, y, width, height, inner }, nodes) {
  const group = shape("g", { class: `node is-${type.toLowerCase()}`, transform: `translate(${x} ${y})` });
  const title = shape("title", {});
  title.textContent = comment;
  group.append(title, shape("rect", { width, height, rx: type === "Choice" || type === "Succeed" ? height / 2 : 7 }));
  const label = shape("text", { x: inner ? 14 : width / 2, y: inner ? 20 : height / 2, class: inner ? "held" : "" });
  label.textContent = name;
  const count = shape("text", { x: width - 6, y: 11, class: "times" });
  group.append(label, count);
  if (inner) {
    const within = shape("g", { transform: `translate(${(width - inner.width) / 2} 40)` });
    within.append(drawing(inner, nodes));
    group.append(within);
  }
  nodes.set(name, { group, count });
  return group;
}

function mark(svg, nodes, states) {
  const now = new Set();
  for (const [name, { group, count }] of nodes) {
    const visits = states.filter((state) => state.name === name);
    const kinds = new Set(visits.map(condition));
    const is = (kind) => group.classList.toggle(kind, kinds.has(kind));
    group.classList.toggle("entered", visits.length > 0);
    is("running");
    is("waiting");
    group.classList.toggle("failed", ["failed", "timed_out"].some((kind) => kinds.has(kind)));
    count.textContent = visits.length > 1 ? `×${visits.length}` : "";
    if (kinds.has("running") || kinds.has("waiting")) now.add(name);
  }
  const where = now.size ? `It is in ${[...now].join(", ")}.` : "This run is over.";
  svg.setAttribute("aria-label", `The state machine of a conversation. ${where}`);
}

function arrow() {
  const marker = shape("marker", {
    id: "machine-arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse",
  });
  marker.append(shape("path", { d: "M0 1L7 4L0 7", class: "arrow" }));
  const defs = shape("defs", {});
  defs.append(marker);
  return defs;
}

function shape(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== "") made.setAttribute(key, value);
  return made;
}
