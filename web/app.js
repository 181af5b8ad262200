// The page: signing in, choosing an agent and a conversation, writing, deciding.

import { Api } from "./api.js";
import { Feed } from "./feed.js";
import { View, element } from "./view.js";

const $ = (id) => document.getElementById(id);
const PHASES = {
  waiting_for_input: "",
  thinking: "Thinking …",
  awaiting_approval: "Waiting for your decision",
  applying_action: "Working …",
  recording_reply: "Thinking …",
  continuing_as_new: "Thinking …",
  completed: "Completed",
};
const AFTER = {
  UserMessage: "thinking",
  ThreadStart: "thinking",
  ActionRequiresConfirmation: "awaiting_approval",
  ActionConfirmed: "applying_action",
  ActionRejected: "thinking",
  ThreadEnd: "waiting_for_input",
  TurnFailed: "waiting_for_input",
  TurnCancelled: "waiting_for_input",
  ConversationCompleted: "completed",
};

let api;
let feed;
let view;
let agents = [];
let current = { thread: null };
let cursor = null;
let phase = "waiting_for_input";
let sending = Promise.resolve();

start();

function start() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (fragment.has("token")) {
    sessionStorage.setItem("token", fragment.get("token"));
    if (fragment.has("project")) sessionStorage.setItem("project", fragment.get("project"));
    // Not in the address bar, not in the history.
    setAddress(fragment.get("thread"));
  }
  bind();
  const token = sessionStorage.getItem("token");
  if (token) signIn(token, sessionStorage.getItem("project") ?? "demo");
  else askForToken("");
}

function bind() {
  $("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    signIn($("token").value.trim(), $("project-field").value.trim());
  });
  $("sign-out").addEventListener("click", () => {
    setAddress(null);
    askForToken("");
  });
  $("new-thread").addEventListener("click", () => open(null));
  $("agent").addEventListener("change", () => open(null));
  $("more-threads").addEventListener("click", () => listThreads(cursor));
  $("stop").addEventListener("click", () => attempt(() => api.cancel(current.thread)));
  $("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = $("message").value;
    if (!text.trim()) return;
    $("message").value = "";
    grow();
    say({ message: text }, text);
  });
  $("message").addEventListener("input", grow);
  $("message").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      $("composer").requestSubmit();
    }
  });
  $("menu").addEventListener("click", () => showSide(!$("side").classList.contains("open")));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") showSide(false);
  });
  window.addEventListener("hashchange", () => {
    if (location.hash.includes("token=")) location.reload();
    else if (feed && threadInAddress() !== current.thread) open(threadInAddress());
  });
}

// The address names the conversation, so that it is there again when the page is loaded again.
function threadInAddress() {
  return new URLSearchParams(location.hash.slice(1)).get("thread");
}

function setAddress(thread) {
  history.replaceState(null, "", location.pathname + (thread ? `#thread=${encodeURIComponent(thread)}` : ""));
}

// The agent used last, or the one that the command line talks to as well.
function usualAgent() {
  const used = agents.filter((agent) => agent.last_used_at).sort((a, b) => b.last_used_at - a.last_used_at);
  const general = agents.find((agent) => agent.agent_id === "general-assistant");
  return (used[0] ?? general ?? agents[0])?.agent_id ?? "";
}

async function signIn(token, project) {
  const candidate = new Api(token, project);
  try {
    ({ agents } = await candidate.agents());
  } catch (error) {
    askForToken(error.status === 401 ? "This token is not accepted (any more)." : error.message);
    return;
  }
  api = candidate;
  sessionStorage.setItem("token", token);
  sessionStorage.setItem("project", project);
  $("sign-in").hidden = true;
  $("app").hidden = false;
  $("agent").replaceChildren(
    ...agents.map((agent) => {
      const option = element("option", "", agent.name || agent.agent_id);
      option.value = agent.agent_id;
      return option;
    }),
  );
  $("agent").value = usualAgent();
  view = new View($("log"), { onDecide: decide });
  feed = new Feed(api, { onEvent: happened, onState: connected, onFailure: feedFailed });
  open(threadInAddress());
  await attempt(() => listThreads(null));
}

function askForToken(reason) {
  feed?.close();
  feed = undefined;
  view?.reset();
  sessionStorage.removeItem("token");
  $("threads").replaceChildren();
  $("app").hidden = true;
  $("sign-in").hidden = false;
  $("sign-in-error").textContent = reason;
  $("token").value = "";
  $("token").focus();
  connected("offline");
}

async function listThreads(from) {
  const page = await api.threads(from);
  cursor = page.next;
  $("more-threads").hidden = !cursor;
  const items = page.threads.map((entry) => {
    const button = element("button", "", entry.title || "Untitled");
    button.type = "button";
    button.dataset.thread = entry.thread_id;
    button.addEventListener("click", () => open(entry.thread_id, entry));
    const item = element("li");
    item.append(button);
    return item;
  });
  if (from) $("threads").append(...items);
  else $("threads").replaceChildren(...items);
  markThread();
}

// Show a thread, or with null an empty page for a new one.
async function open(id, known) {
  // Messages are sent to the conversation in which they were written, wherever the page has gone meanwhile.
  const opened = { thread: id };
  current = opened;
  setAddress(id);
  view.reset();
  notice("");
  showSide(false);
  setPhase("waiting_for_input");
  $("title").textContent = known?.title || "New conversation";
  markThread();
  offerStarters();
  feed.follow(id, 0);
  $("message").focus();
  if (id === null) return;
  const status = await attempt(() => api.status(id));
  if (!status || current !== opened) return;
  $("agent").value = status.agent_id;
  $("title").textContent = status.title || "Conversation";
  setPhase(status.phase);
}

// One message after the other, in the order in which they were written.
function say(content, shown) {
  const id = crypto.randomUUID ? crypto.randomUUID() : `page-${Date.now()}-${Math.random().toString(16).slice(2)}`;
  const target = current;
  const agent = $("agent").value;
  $("starters").replaceChildren();
  notice("");
  view.sending(id, shown);
  sending = sending.then(() => post(target, agent, id, content));
}

async function post(target, agent, id, content) {
  try {
    const accepted = await api.say(agent, target.thread, content, id);
    if (target.thread !== null) return;
    target.thread = accepted.thread_id;
    if (target === current) {
      $("title").textContent = (content.message ?? "Conversation").slice(0, 200);
      setAddress(target.thread);
      markThread();
      feed.follow(target.thread, 0);
    }
    attempt(() => listThreads(null));
  } catch (error) {
    if (error.status === 401) {
      askForToken("This token is not accepted any more.");
      return;
    }
    if (target !== current) return;
    view.notSent(id);
    notice(error.message);
    if (content.message && !$("message").value) $("message").value = content.message;
  }
}

async function decide(proposal, approved) {
  const answer = await attempt(() => api.decide(proposal, approved));
  if (answer && !["applied", "duplicate"].includes(answer.outcome)) notice(`Too late: ${answer.outcome}.`);
  return answer !== undefined;
}

function happened(event) {
  view.apply(event);
  if (event.event === "ProposeActions") offer(event.data.actions.map((action) => [action.label, action.message]));
  if (!event.subthread_id || event.event.startsWith("Action")) setPhase(AFTER[event.event] ?? phase);
}

function offerStarters() {
  const agent = agents.find((candidate) => candidate.agent_id === $("agent").value);
  const starters = current.thread === null ? (agent?.predefined_messages ?? []) : [];
  $("starters").replaceChildren(
    ...starters.map((starter) => chip(starter.title, () => say({ predefined_message: starter.id }, starter.title))),
  );
}

function offer(actions) {
  $("starters").replaceChildren(...actions.map(([label, text]) => chip(label, () => say({ message: text }, text))));
}

function chip(label, act) {
  const button = element("button", "quiet", label);
  button.type = "button";
  button.addEventListener("click", act);
  return button;
}

function setPhase(name) {
  phase = name;
  $("phase").textContent = PHASES[name] ?? name;
  $("stop").hidden = ["waiting_for_input", "completed"].includes(name);
  const over = name === "completed";
  $("message").disabled = over;
  $("send").disabled = over;
}

function markThread() {
  for (const button of $("threads").querySelectorAll("button")) {
    button.setAttribute("aria-current", String(button.dataset.thread === current.thread));
  }
}

function connected(state) {
  $("connection").textContent = { live: "live", connecting: "connecting …", offline: "not connected" }[state];
}

// The feed stopped: a token that ended, or events that are no longer kept.
async function feedFailed(error) {
  if (error.status === 401) {
    askForToken("This token is not accepted any more.");
    return;
  }
  if (error.type !== "events_expired") {
    notice(error.message);
    return;
  }
  const opened = current;
  let from = null;
  do {
    const page = await attempt(() => api.messages(opened.thread, from));
    if (!page || current !== opened) return;
    page.messages.forEach((message) => view.history(message));
    from = page.next;
  } while (from);
  feed.follow(opened.thread, Math.max(0, error.oldest - 1));
}

// What a request answers; undefined, and a notice, if it fails.
async function attempt(request) {
  try {
    return await request();
  } catch (error) {
    if (error.status === 401) askForToken("This token is not accepted any more.");
    else notice(error.message);
    return undefined;
  }
}

function notice(text) {
  $("notice").textContent = text;
}

function showSide(shown) {
  $("side").classList.toggle("open", shown);
  $("menu").setAttribute("aria-expanded", String(shown));
}

function grow() {
  const field = $("message");
  field.style.height = "auto";
  // The border belongs to the height: without it, there is always something to scroll.
  field.style.height = `${field.scrollHeight + field.offsetHeight - field.clientHeight}px`;
}
