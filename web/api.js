// The HTTP API: one function per request that the page makes. Errors carry words for people.

export class ApiError extends Error {
  constructor(status, { type, message, ...details }) {
    super(message);
    this.status = status;
    this.type = type;
    this.oldest = details.oldest;
  }
}

export class Api {
  constructor(token, project) {
    this.token = token;
    this.project = project;
    this.user = subjectOf(token);
  }

  async request(method, path, body) {
    const headers = { authorization: `Bearer ${this.token}` };
    if (body !== undefined) headers["content-type"] = "application/json";
    let response;
    try {
      response = await fetch(path, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        cache: "no-store",
      });
    } catch {
      throw new ApiError(0, { type: "unreachable", message: "The server cannot be reached." });
    }
    const answer = await response.json().catch(() => ({}));
    if (response.ok) return answer;
    const error = answer.error ?? { type: "", message: answer.message ?? response.statusText };
    throw new ApiError(response.status, error);
  }

  // What may be sent twice without harm is sent again when the connection breaks.
  async insist(method, path, body) {
    for (let pause = 500; ; pause *= 2) {
      try {
        return await this.request(method, path, body);
      } catch (error) {
        if (pause > 8000 || ![0, 502, 503, 504].includes(error.status)) throw error;
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
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

  threads(cursor) {
    const more = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
    return this.request("GET", this.at(`chat-threads?limit=30${more}`));
  }

  status(id) {
    return this.request("GET", this.thread(id));
  }

  events(id, after, wait = 0) {
    return this.request("GET", this.thread(id, `/events?after=${after}&limit=500&wait=${wait}`));
  }

  messages(id, cursor) {
    const more = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
    return this.request("GET", this.thread(id, `/messages?limit=100${more}`));
  }

  say(agent, thread, content, clientMessageId) {
    const path = thread === null ? this.at(`agents/${encodeURIComponent(agent)}/chat`) : this.thread(thread);
    return this.insist("POST", path, { ...content, client_message_id: clientMessageId });
  }

  decide(proposal, approved) {
    return this.insist("POST", `/confirmations/${encodeURIComponent(proposal)}`, { approved });
  }

  cancel(thread) {
    return this.request("POST", this.thread(thread, "/cancel"), {});
  }

  ticket() {
    return this.request("POST", "/api/socket-tickets", {});
  }
}

function subjectOf(token) {
  try {
    const payload = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)).sub ?? "";
  } catch {
    return "";
  }
}
