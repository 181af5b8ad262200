// Arguments and results as people read them.

import { element, icon, visible, visibleParts, wordsOf, wrapLong } from "./dom.js";
import { address } from "./router.js";

const MOST_ROWS = 200;
const LONG_TEXT = 1200;
// A changed argument that is longer is seen whole within the fold.
const LONG_CHANGE = 120;
// Columns whose numbers are names, and are not written in groups of three.
const NAMES = /(^|[\s_-])([Ii]ds?|ID|[Nn]o|[Nn]umber|[Yy]ear|[Cc]ode)$|[a-z]Id$/;

// One line of arguments: limit: 10, sortBy: revenue
export function brief(given) {
  return Object.entries(given ?? {})
    .map(([name, value]) => `${name}: ${inLine(value)}`)
    .join(", ");
}

// What a person changed in proposed arguments, in a line: amount: 7.00 (proposed 5.00). Empty if that is nothing.
export function changes(proposed, given) {
  if (!given) return "";
  const before = proposed ?? {};
  const names = new Set([...Object.keys(before), ...Object.keys(given)]);
  return [...names]
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(given[name]))
    .map((name) => {
      const was = name in before ? `proposed ${shortened(inLine(before[name]))}` : "not proposed";
      return `${name}: ${name in given ? shortened(inLine(given[name])) : "left out"} (${was})`;
    })
    .join(", ");
}

function inLine(value) {
  return typeof value === "string" ? value || "(empty)" : JSON.stringify(value);
}

// Both ends: what differs may be at either.
function shortened(text) {
  const points = [...text];
  return points.length > LONG_CHANGE ? `${points.slice(0, LONG_CHANGE / 2).join("")} … ${points.slice(-LONG_CHANGE / 2).join("")}` : text;
}

// All arguments, each by its name. Nothing is left out and nothing hides: whoever approves relies on it.
export function argumentList(given) {
  const entries = Object.entries(given ?? {});
  if (entries.length === 0) return element("p", { class: "faint" }, "No arguments.");
  const list = element("dl", { class: "arguments" });
  for (const [name, value] of entries) {
    list.append(element("dt", { title: name }, visible(wordsOf(name))), element("dd", {}, valueOf(value)));
  }
  return list;
}

function valueOf(value) {
  if (typeof value === "string") return visibleParts(value === "" ? "(empty)" : value);
  const plain = Array.isArray(value) && value.every((one) => typeof one === "number" || typeof one === "string");
  if (plain && value.length > 0 && value.length <= 100) return visibleParts(value.join(", "));
  if (value === null || typeof value !== "object") return String(value);
  return element("pre", {}, visibleParts(JSON.stringify(value, null, 2)));
}

// A call's answer: { content, data } → elements, the most telling first.
export function resultParts(call, { picture }) {
  const data = call.data ?? {};
  const sources = sourcesOf(data.sources);
  // The passages of sources come as a table as well, for pages that know no sources.
  const table = sources ? null : tableOf(data.table_data);
  return [data.image?.path ? picture(data.image) : null, table, sources].filter(Boolean);
}

// The text that the model was given.
export function resultText(text) {
  const shown = element("pre", { class: "result-text", tabindex: "0", role: "group", "aria-label": "Result" });
  shown.append(visible(text.length > LONG_TEXT * 20 ? `${text.slice(0, LONG_TEXT * 20)} …` : text));
  return shown;
}

// A table from a list of objects, or from { columns, rows }.
export function tableOf(data) {
  const rows = Array.isArray(data) ? data : data?.rows;
  if (!Array.isArray(rows) || rows.length === 0) return null;
  const columns = columnsOf(data, rows);
  const numeric = columns.map((column, place) => rows.every((row) => isNumeric(cell(row, column, place))));
  const kind = (place) => (numeric[place] ? { class: "number" } : {});
  const words = ({ label, key }, value) => (NAMES.test(key) || NAMES.test(label) ? visible(value ?? "") : shown(value));
  const head = element("tr", {}, ...columns.map((column, place) => wrapLong(element("th", { scope: "col", ...kind(place) }, visible(wordsOf(column.label))))));
  const body = rows.slice(0, MOST_ROWS).map((row) =>
    element("tr", {}, ...columns.map((column, place) => wrapLong(element("td", kind(place), words(column, cell(row, column, place)))))),
  );
  const more = rows.length - MOST_ROWS;
  const frame = element("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" });
  frame.append(element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
  return more > 0 ? element("div", {}, frame, element("p", { class: "faint" }, `and ${more} more rows`)) : frame;
}

function columnsOf(data, rows) {
  const named = Array.isArray(data?.columns) ? data.columns : null;
  const first = rows.find((row) => row && typeof row === "object") ?? [];
  const keys = named ?? (Array.isArray(first) ? first.map((_, place) => String(place + 1)) : Object.keys(first));
  return keys.map((column) => {
    const key = String(column?.key ?? column?.name ?? column);
    return { key, label: String(column?.label ?? column?.title ?? key) };
  });
}

function cell(row, column, place) {
  return Array.isArray(row) ? row[place] : row?.[column.key];
}

function isNumeric(value) {
  return typeof value === "number" || (typeof value === "string" && /^-?[\d.,\s]*\d%?$/.test(value));
}

function shown(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return value.toLocaleString(undefined, { maximumFractionDigits: 6 });
  // An exact amount comes as text, and keeps its places.
  const places = typeof value === "string" && value.match(/^-?\d{1,12}\.(\d{1,6})$/)?.[1].length;
  if (places) return Number(value).toLocaleString(undefined, { minimumFractionDigits: places });
  return visible(typeof value === "object" ? JSON.stringify(value) : value);
}

// Where passages of the knowledge base came from, with the passages.
function sourcesOf(sources) {
  if (!Array.isArray(sources) || sources.length === 0) return null;
  const list = element("ul", { class: "sources", "aria-label": "Sources" });
  for (const source of sources) list.append(element("li", {}, sourceOf(source ?? {})));
  return list;
}

function sourceOf({ title, document_id: id, heading, text }) {
  const name = String(title || id || "Document");
  const words = heading && heading !== name ? `${name} · ${heading}` : name;
  const open = id ? element("a", { href: address("knowledge", String(id).split("/")) }, "Open the document") : null;
  if (!text) return element("span", {}, icon("book"), visible(words));
  const passage = element("blockquote", {}, element("p", {}, visible(text)), open);
  return element("details", {}, element("summary", {}, icon("book"), visible(words)), passage);
}
