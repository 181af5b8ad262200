// Addresses: `#/VIEW/part/part?key=value`. A token in the fragment is the session's business, not ours.

// { view, parts, query } of a fragment. `#thread=ID`, as older links had it, is the chat of that thread.
export function parse(hash) {
  const text = hash.replace(/^#/, "");
  if (!text.startsWith("/")) {
    const thread = new URLSearchParams(text).get("thread");
    return { view: "chat", parts: thread ? [thread] : [], query: new URLSearchParams() };
  }
  const [path, search = ""] = text.slice(1).split("?");
  const [view, ...parts] = path.split("/").filter(Boolean).map(decoded);
  return { view: view ?? "chat", parts, query: new URLSearchParams(search) };
}

export function address(view, parts = [], query = {}) {
  const search = new URLSearchParams(query).toString();
  const path = [view, ...parts].map((part) => encodeURIComponent(part)).join("/");
  return `#/${path}${search ? `?${search}` : ""}`;
}

// Show an address without a visit to it: the thread that a first message made.
export function replace(to) {
  history.replaceState(null, "", location.pathname + location.search + to);
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
