// Who is signed in: a token and a project. Each tab keeps its own, so that two people can share a browser for a
// try; what was signed in last is what a new tab begins with.

import { replace } from "./router.js";

const FIELDS = ["token", "project"];

// What the fragment brings, kept and taken out of the address bar and the history; else what was kept.
export function restore() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (!location.hash.startsWith("#/") && fragment.has("token")) {
    const brought = { token: fragment.get("token"), project: fragment.get("project") || "demo" };
    keep(brought);
    replace(fragment.has("thread") ? `#/chat/${encodeURIComponent(fragment.get("thread"))}` : "#/chat");
    return brought;
  }
  const token = stored("token");
  return token ? { token, project: stored("project") || "demo" } : null;
}

export function keep(session) {
  for (const field of FIELDS) {
    for (const storage of storages()) storage.setItem(`parley.${field}`, session[field]);
  }
}

export function forget(token) {
  for (const storage of storages()) {
    if (storage.getItem("parley.token") === token) storage.removeItem("parley.token");
  }
}

export function lastProject() {
  return stored("project") || "demo";
}

// Where the API, its socket and the sign-in are, if they are not where the page comes from. Throws while nothing answers.
export async function configuration() {
  const answer = await fetch("config.json", { cache: "no-cache" });
  if (answer.status >= 500) throw new Error("no answer");
  return answer.ok ? answer.json() : {};
}

function stored(field) {
  for (const storage of storages()) {
    const value = storage.getItem(`parley.${field}`);
    if (value) return value;
  }
  return null;
}

// A browser may forbid them.
function storages() {
  try {
    return [sessionStorage, localStorage];
  } catch {
    return [];
  }
}
