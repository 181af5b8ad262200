// The HTTP API: one function per request that the page makes. Errors carry words for people.

export class ApiError extends Error {
  constructor(status, { type, message, ...details }) {
    super(message);
    this.status = status;
    this.type = type;
    this.oldest = details.oldest;
  }
}

// API Gateway answers these itself, with words for machines.
const WORDS = {
  401: "You are signed out: the token is not accepted any more.",
  413: "That is too large to be sent.",
  429: "Too many requests at once. Wait a moment and try again.",
  500: "The server failed. Try again; if it stays so, its log says why.",
  502: "The server cannot be reached at the moment. Try again in a moment.",
  503: "The server is busy. Try again in a moment.",
  504: "The server took too long to answer. Try again in a moment.",
};
export const UNREACHABLE = { type: "unreachable", message: "The server cannot be reached. Is it running, and are you online?" };
// A server that is away or busy, and may not be in a moment; 0: no answer at all.
export const PASSING = [0, 429, 502, 503, 504];

export class Api {
  constructor(token, project, base = "") {
    this.token = token;
    this.project = project;
    this.base = base.replace(/\/$/, "");
    this.user = subjectOf(token);
    // How far the server's clock is ahead of ours, in seconds.
    this.skew = 0;
    this.pauses = new Set();
  }

  // The server's time, epoch seconds.
  now() {
    return Date.now() / 1000 + this.skew;
  }

  async request(method, path, body, { signal } = {}) {
    const response = await this.fetch(method, path, body, signal);
    const answer = await response.json().catch(() => ({}));
    if (response.ok) return answer;
    throw refusal(response, answer);
  }

  async fetch(method, path, body, signal) {
    const headers = { authorization: `Bearer ${this.token}` };
    if (body !== undefined) headers["content-type"] = "application/json";
    const text = body === undefined ? undefined : JSON.stringify(body);
    let response;
    try {
      response = await fetch(this.base + path, { method, headers, body: text, cache: "no-store", signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError(0, UNREACHABLE);
    }
    const date = Date.parse(response.headers.get("date") ?? "");
    // The header counts whole seconds: smaller differences are its rounding.
    const skew = (date - Date.now()) / 1000;
    if (date) this.skew = Math.abs(skew) < 2 ? 0 : skew;
    return response;
  }

  // What may be sent twice without harm is sent again when the connection breaks.
  async insist(method, path, body) {
    for (let pause = 500; ; pause *= 2) {
      try {
        return await this.request(method, path, body);
      } catch (error) {
        const full = error.type === "too_many_queued";
        if (pause > 8000 || full || !PASSING.includes(error.status)) throw error;
        await this.pause(pause);
      }
    }
  }

  pause(milliseconds) {
    return new Promise((resolve) => {
      this.pauses.add(resolve);
      setTimeout(resolve, milliseconds);
    });
  }

  // The server can be reached again: who pauses before another try goes on now.
  hurry() {
    for (const resolve of this.pauses) resolve();
    this.pauses.clear();
  }

  at(path) {
    return `/api/projects/${encodeURIComponent(this.project)}/${path}`;
  }

  thread(id, rest = "") {
    return this.at(`chat-threads/${encodeURIComponent(id)}${rest}`);
  }

  agents() {
    return this.request("GET", this.at("agents"));
  }

  providers() {
    return this.request("GET", "/api/providers");
  }

  threads(cursor) {
    return this.request("GET", this.at(`chat-threads?limit=30${following(cursor)}`));
  }

  status(id) {
    return this.request("GET", this.thread(id));
  }

  // Events behind a seq.
  events(id, after, wait = 0, signal = undefined) {
    const path = this.thread(id, `/events?after=${after}&limit=500&wait=${wait}`);
    return this.request("GET", path, undefined, { signal });
  }

  // The last events below a seq, oldest first.
  eventsBefore(id, before, limit = 500) {
    return this.request("GET", this.thread(id, `/events?before=${before}&limit=${limit}`));
  }

  // Messages, the newest first.
  newestMessages(id, cursor) {
    return this.request("GET", this.thread(id, `/messages?limit=100&order=newest${following(cursor)}`));
  }

  subthread(id, subthread, cursor) {
    const named = `&subthread=${encodeURIComponent(subthread)}`;
    return this.request("GET", this.thread(id, `/messages?limit=100${named}${following(cursor)}`));
  }

  say(agent, thread, content, clientMessageId) {
    const path = thread === null ? this.at(`agents/${encodeURIComponent(agent)}/chat`) : this.thread(thread);
    return this.insist("POST", path, { ...content, client_message_id: clientMessageId });
  }

  confirmations() {
    return this.request("GET", this.at("confirmations"));
  }

  // body: { approved, arguments?, reason? }
  decide(proposal, body) {
    return this.insist("POST", `/confirmations/${encodeURIComponent(proposal)}`, body);
  }

  cancel(thread) {
    return this.insist("POST", this.thread(thread, "/cancel"), {});
  }

  ticket() {
    return this.request("POST", "/api/socket-tickets", {});
  }
}

function following(cursor) {
  return cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
}

function refusal(response, answer) {
  const error = answer.error ?? { type: "", message: WORDS[response.status] ?? answer.message ?? response.statusText };
  return new ApiError(response.status, error);
}

// The user whom a token names; "" for what is no token.
export function subjectOf(token) {
  try {
    const payload = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)).sub ?? "";
  } catch {
    return "";
  }
}
