// What one state of a run did, in full: what went in and what came out.

import { copyButton, duration, element, visible, visibleParts } from "../dom.js";
import { callsOf } from "./trace.js";
import { changes } from "../values.js";

const DECISIONS = {
  approved: "Approved",
  declined: "Declined",
  expired: "Nobody decided in time",
  superseded: "A newer message took its place",
  cancelled: "The turn was cancelled",
};
const STOPPED = "A person stopped this turn.";
const ERRORS = {
  "States.Timeout": "it took longer than it may",
  "States.TaskFailed": "its task failed",
  StaleRun: "another run speaks for this thread now",
};

// The parts of a state's detail; `promptOf` fetches the prompt of a model call.
export function detail(run, state, promptOf) {
  const { model, tool } = callsOf(run, state);
  const parts = [facts(state)];
  const asked = askedOf(run, state);
  if (state.name === "BuildPrompt" && state.step === 1 && asked) parts.push(text("What was asked", asked.content));
  if (state.name === "FailTurn" && asked?.cancelled) parts.push(element("p", {}, STOPPED));
  if (state.name === "FailTurn" && asked?.failure) parts.push(text("What the person was told", asked.failure.message));
  if (state.name === "BuildPrompt" && model) parts.push(promptPart(model, promptOf));
  if (state.name === "InvokeModel") parts.push(...modelParts(model, promptOf));
  if (state.name === "HandleToolCalls" && model) parts.push(calls(model.tool_calls));
  if (state.call !== null && tool) parts.push(...toolParts(tool));
  if (state.name === "RecordReply") parts.push(...replyParts(run, state));
  return element("div", { class: "detail" }, ...parts.filter(Boolean));
}

// A subagent's run has one turn.
function askedOf(run, state) {
  return [run.asked].flat().find((entry) => entry?.turn === state.turn);
}

function facts(state) {
  const words = [`${state.type} state`];
  if (state.attempt > 1) words.push(`execution ${state.attempt} of this run`);
  if (state.retries) words.push(`tried again ${state.retries === 1 ? "once" : `${state.retries} times`}`);
  if (state.error) words.push(`${state.outcome === "running" ? "the last try ended with" : "ended with"} ${named(state.error)}`);
  return element("p", { class: "faint" }, words.join(" · "));
}

function named(error) {
  return ERRORS[error] ? `${error} (${ERRORS[error]})` : error;
}

function modelParts(model, promptOf) {
  if (!model) return [];
  const { usage, finish_reason: reason } = model;
  const used = usage ? `${usage.input_tokens} tokens in, ${usage.output_tokens} out` : null;
  const words = [`${model.provider} · ${model.model}`, used, reason ? `ended: ${reason}` : null].filter(Boolean);
  return [
    element("p", {}, words.join(" · ")),
    model.content ? text("What it replied", model.content) : null,
    model.tool_calls.length ? calls(model.tool_calls) : null,
    promptPart(model, promptOf),
  ];
}

function replyParts(run, state) {
  if (askedOf(run, state)?.cancelled) return [element("p", {}, STOPPED)];
  const reply = run.model_calls.filter((call) => call.turn === state.turn && call.content).at(-1);
  return reply ? [text("The reply", reply.content)] : [];
}

function toolParts(tool) {
  const { confirmation, response } = tool;
  return [
    element("h5", {}, element("code", {}, visible(tool.name))),
    ...argumentParts(tool),
    tool.arguments_error ? text("They could not be read", tool.arguments_error) : null,
    confirmation ? decisionPart(confirmation, tool.arguments) : null,
    response ? text(response.ok ? "What it answered" : "What it answered (it did not succeed)", response.content) : null,
  ];
}

// What ran first, then what was proposed.
function argumentParts({ arguments: proposed, confirmation }) {
  const changed = editedBy(confirmation, proposed);
  return [
    changed ? json("Arguments as they were approved", confirmation.decision.arguments) : null,
    json(changed || confirmation ? "Arguments that were proposed" : "Arguments", proposed),
  ];
}

function editedBy(confirmation, proposed) {
  return changes(proposed, confirmation?.decision?.arguments);
}

function decisionPart(confirmation, proposed) {
  const { question, decision, asked_at: asked, expires_at: expires } = confirmation;
  const changed = editedBy(confirmation, proposed);
  const lines = [element("p", {}, changed ? "Proposed: " : "", visibleParts(question))];
  if (!decision) {
    lines.push(element("p", { class: "faint" }, `Not decided yet; it may wait ${duration(expires - asked)}.`));
  } else {
    const who = decision.reviewer ? ` by ${visible(decision.reviewer)}` : "";
    const after = duration(decision.decided_at - asked);
    lines.push(element("p", {}, `${DECISIONS[decision.outcome] ?? decision.outcome}${who}, after ${after}.`));
    if (changed) lines.push(element("p", {}, "With other arguments: ", visibleParts(changed)));
    if (decision.reason) lines.push(text("The reason", decision.reason));
  }
  return element("section", { class: "decision" }, element("h5", {}, "Confirmation"), ...lines);
}

function calls(list) {
  const rows = list.map((call) => {
    const changed = editedBy(call.confirmation, call.arguments);
    const approved = changed ? element("span", { class: "faint" }, " · approved with ", visibleParts(changed)) : null;
    return element("li", {}, element("code", {}, `${visible(call.name)}(${oneLine(call.arguments)})`), approved);
  });
  return part("Calls it asked for", element("ul", { class: "called" }, ...rows));
}

function oneLine(value) {
  const line = Object.entries(value ?? {}).map(([name, of]) => `${name}: ${JSON.stringify(of)}`).join(", ");
  return visible(line.length > 300 ? `${line.slice(0, 300)}…` : line);
}

// The prompt is fetched when it is opened: it may be the largest part of a run.
function promptPart(model, promptOf) {
  const body = element("div", { class: "prompt" });
  const fold = element("details", { class: "fold" }, element("summary", {}, "The prompt that was sent"), body);
  fold.addEventListener("toggle", async () => {
    if (!fold.open || body.childElementCount) return;
    body.replaceChildren(element("p", { class: "faint" }, "Reading it …"));
    const prompt = await promptOf(model);
    body.replaceChildren(...(prompt ? shown(prompt) : [element("p", { class: "faint" }, "It is no longer kept, or too large to show here.")]));
  });
  return fold;
}

function shown(prompt) {
  const settings = Object.keys(prompt.settings).length ? json("Settings", prompt.settings) : null;
  const tools = prompt.tools.map((tool) => fold(visible(tool.name), text("", tool.description || "No description"), json("Parameters", tool.parameters)));
  return [
    prompt.text === null ? null : text("One text", prompt.text),
    prompt.system ? text("System prompt", prompt.system) : null,
    ...prompt.messages.map(messageOf),
    tools.length ? part(`Functions it was offered (${tools.length})`, ...tools) : null,
    settings,
  ].filter(Boolean);
}

function messageOf(message) {
  const who = { user: "User", assistant: "Assistant", tool: `Result of ${visible(message.name ?? "a call")}` }[message.role];
  const made = message.tool_calls.map((call) => element("code", { class: "block" }, `${visible(call.name)}(${oneLine(call.arguments)})`));
  return part(
    message.internal ? `${who} (written by Parley)` : who,
    message.content ? pre(message.content) : null,
    ...made,
  );
}

function fold(label, ...children) {
  return element("details", { class: "fold" }, element("summary", {}, element("code", {}, label)), ...children);
}

function part(label, ...children) {
  return element("section", {}, label ? element("h5", {}, label) : null, ...children);
}

function text(label, value) {
  return part(label, element("div", { class: "copied" }, pre(value), label ? copyButton(`Copy “${label}”`, () => value) : null));
}

function json(label, value) {
  return part(label, pre(JSON.stringify(value, null, 2)));
}

function pre(value) {
  return element("pre", { tabindex: 0 }, visibleParts(value));
}
