// A conversation that has not begun: whom to talk to, and what they can do.

import { element, icon, visible, wordsOf } from "./dom.js";

const FACTS = [
  ["supports_tool_calls", "Functions", "Functions by XML in text"],
  ["supports_conversation", "Conversation", "One prompt per answer"],
  ["supports_system_messages", "System prompt", "System prompt within the text"],
];

// The agent used last, or the one that the command line talks to as well.
export function usualAgent(agents) {
  const used = agents.filter((agent) => agent.last_used_at).sort((a, b) => b.last_used_at - a.last_used_at);
  const general = agents.find((agent) => agent.agent_id === "general-assistant");
  return (used[0] ?? general ?? agents[0])?.agent_id ?? null;
}

// found: { agents, unreadable }, as the API lists them. pick(agentId)
export function welcome({ agents, unreadable }, current, providers, pick) {
  if (agents.length + unreadable.length === 0) return noAgents();
  const agent = agents.find((one) => one.agent_id === current);
  const first = usualAgent(agents);
  const rank = (one) => (one.agent_id === first ? Infinity : one.last_used_at ?? 0);
  const ranked = agents.toSorted((a, b) => rank(b) - rank(a) || 0);
  const ways = agent?.predefined_messages?.length ? "write, or begin with one of its suggestions below" : "write";
  return element(
    "div",
    { class: "column welcome" },
    element("h2", {}, "What can I do for you?"),
    agents.length ? element("p", { class: "faint" }, `Choose an agent, then ${ways}.`) : null,
    element("ul", { class: "agents" }, ...ranked.map((one) => element("li", {}, agentCard(one, one === agent, providers, pick)))),
    unreadable.length ? brokenAgents(unreadable) : null,
  );
}

// Agents that nobody can talk to; each fault names its agent, and says what an owner has to mend.
function brokenAgents(unreadable) {
  const lines = unreadable.map(({ fault }) => element("li", {}, icon("warning"), element("p", {}, visible(fault))));
  return element("ul", { class: "broken-agents", "aria-label": "Agents that do not work" }, ...lines);
}

function agentCard(agent, chosen, providers, pick) {
  const functions = (agent.functions ?? []).map((one) => wordsOf(one.name));
  const { words, title, missing, facts } = engineOf(agent, providers);
  return element(
    "button",
    { type: "button", class: "agent-card", "aria-pressed": String(chosen), onclick: () => pick(agent.agent_id) },
    element("span", { class: "agent-name" }, icon("agent"), visible(agent.name || agent.agent_id)),
    element("span", { class: "agent-about" }, visible(agent.description ?? "")),
    functions.length ? element("span", { class: "agent-functions" }, functions.slice(0, 4).join(" · ") + (functions.length > 4 ? ` · ${functions.length - 4} more` : "")) : null,
    element("span", { class: `engine${missing ? " missing" : ""}`, title: facts ? "" : title }, words),
    facts ? element("span", { class: "agent-facts" }, ...facts.map((fact) => element("span", { class: "pill" }, fact))) : null,
  );
}

function noAgents() {
  return element(
    "div",
    { class: "empty" },
    icon("agent"),
    element("h2", {}, "This project has no agents yet"),
    element("p", {}, "An agent is a prompt, a model and some functions. An owner of the project adds one with"),
    element("code", {}, "PUT /api/projects/{project}/agents/{agent}"),
    element("p", {}, "as docs/agents.md tells. The project “demo” has some to try."),
  );
}

// Who answers, and what that provider can do.
export function engineOf(agent, providers) {
  if (!agent) return {};
  const words = `${agent.provider} · ${agent.model}`;
  const provider = providers?.find((one) => one.name === agent.provider);
  if (!provider) return { words, title: "" };
  if (!provider.configured) {
    const title = `The provider ${agent.provider} has no key or address here. docs/providers.md tells which settings it takes.`;
    return { words: `${words} · not configured`, title, missing: true };
  }
  const can = { ...provider.capabilities, ...agent.capabilities };
  const facts = FACTS.map(([name, yes, no]) => (can[name] === false ? no : yes));
  if (agent.tool_form === "xml") facts[0] = FACTS[0][2];
  if (can.max_context_length) facts.push(`${can.max_context_length.toLocaleString()} tokens of context`);
  if (agent.images) facts.push("Pictures");
  if (agent.workspace) facts.push("Project files");
  return { words, title: facts.join("\n"), facts };
}
