// Elements, icons, and values as people read them. Text is set as text, never as markup.

// Characters that a cell of a table has in one line.
const LONG_CELL = 24;
const SVG = "http://www.w3.org/2000/svg";

// Strokes on a 24 by 24 grid.
const ICONS = {
  menu: "M4 6h16M4 12h16M4 18h16",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  chat: "M4 5h16v11H10l-5 4v-4H4z",
  shield: "M12 3l8 3v6c0 4.5-3.2 7.6-8 9-4.8-1.4-8-4.5-8-9V6zM9 12l2.2 2.2L15.5 10",
  runs: "M5 6h4M5 12h9M5 18h6M14 6h5M18 12h1M15 18h4",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  book: "M5 4h11a3 3 0 013 3v13H8a3 3 0 01-3-3zM5 17a3 3 0 013-3h11",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  check: "M5 12.5l4.5 4.5L19 7.5",
  cross: "M7 7l10 10M17 7L7 17",
  clock: "M12 3a9 9 0 100 18 9 9 0 000-18M12 7.5V12l3 2",
  copy: "M9 9h10v10H9zM5 15V5h10",
  chevron: "M9 6l6 6-6 6",
  agent: "M12 4v3M7 7h10a2 2 0 012 2v7a2 2 0 01-2 2H7a2 2 0 01-2-2V9a2 2 0 012-2M9.5 12v1M14.5 12v1",
  warning: "M12 4l9 16H3zM12 10v4M12 17v.5",
  down: "M12 5v14M6 13l6 6 6-6",
};

// element("button", { class: "quiet", type: "button", onclick: act, hidden: true }, "Words", other, …)
export function element(name, props = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "value") made.value = value;
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function button(label, act, props = {}) {
  return element("button", { type: "button", class: "button", onclick: act, ...props }, label);
}

export function iconButton(name, label, act, props = {}) {
  return element(
    "button",
    { type: "button", class: "icon-button", "aria-label": label, title: label, onclick: act, ...props },
    icon(name),
  );
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name] ?? "");
  svg.append(path);
  return svg;
}

// Characters that show nothing, or turn the direction of what follows, named: whoever approves sees what is there.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export function visible(text) {
  return String(text).replace(HIDDEN, (character) => {
    const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `⟦U+${code}⟧`;
  });
}

// The same as a fragment, in which the names of hidden characters stand out.
export function visibleParts(text) {
  const parts = document.createDocumentFragment();
  for (const part of visible(text).split(/(⟦U\+[0-9A-F]+⟧)/)) {
    if (/^⟦U\+[0-9A-F]+⟧$/.test(part)) {
      parts.append(element("span", { class: "hidden-character", title: "A character that does not show" }, part));
    } else if (part) parts.append(part);
  }
  return parts;
}

// getTopProducts, get_top_products → Get top products
export function wordsOf(name) {
  const words = String(name)
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/[_-]+/g, " ")
    .trim()
    .toLowerCase();
  return words ? words[0].toUpperCase() + words.slice(1) : String(name);
}

// A table scrolls sideways before a short text is broken; only a long one is.
export function wrapLong(cell) {
  cell.classList.toggle("long", cell.textContent.length > LONG_CELL);
  return cell;
}

// How long ago an instant (epoch seconds) was.
export function ago(at, now = Date.now() / 1000) {
  const seconds = Math.max(0, now - at);
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  if (seconds < 7 * 86400) return `${Math.floor(seconds / 86400)} d`;
  return new Date(at * 1000).toLocaleDateString(undefined, { day: "numeric", month: "short" });
}

// An instant in full, for a title.
export function clock(at) {
  return new Date(at * 1000).toLocaleString();
}

// A length of time in its two largest units.
export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = units.findIndex(([, size]) => whole >= size);
  if (first < 0) return "0 s";
  const [name, size] = units[first];
  const text = `${Math.floor(whole / size)} ${name}`;
  const next = units[first + 1];
  const rest = next ? Math.floor((whole % size) / next[1]) : 0;
  return rest ? `${text} ${rest} ${next[0]}` : text;
}

// A button that puts a text on the clipboard and tells for a moment whether it could; `text` is asked when it is pressed.
export function copyButton(label, text, props = {}) {
  const say = (mark, words) => {
    made.replaceChildren(icon(mark));
    made.setAttribute("aria-label", words);
    made.title = words;
  };
  const act = async () => {
    if (await copy(text())) say("check", "Copied");
    else say("cross", "Could not be copied");
    setTimeout(() => say("copy", label), 2000);
  };
  const made = iconButton("copy", label, act, { class: "icon-button small copy", ...props });
  return made;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByCommand(text);
  }
}

// Over plain http from another machine a page has no clipboard; what is selected can be copied all the same.
function copyByCommand(text) {
  const held = document.activeElement;
  const field = element("textarea", { class: "visually-hidden", readonly: true, "aria-hidden": "true", tabindex: "-1" });
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  held?.focus({ preventScroll: true });
  return done;
}
