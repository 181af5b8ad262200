// What happens, said to screen readers: whole replies and questions, never the pieces of a stream.

import { duration, wordsOf } from "./dom.js";

const LONGEST = 400;
// What began before the page listened is told by the page itself.
const RECENT = 30;
// What happens within so many ms is said together: each saying would cut off the one before.
const TOGETHER = 400;

export class Narrator {
  constructor(say) {
    this.say = say;
    this.pending = new Map();
  }

  // nameOf: an agent's id → its name.
  tell(event, nameOf, agent) {
    if (Date.now() / 1000 - event.at > RECENT) return;
    const words = wordsFor(event, nameOf, agent);
    if (!words) return;
    if (this.pending.size === 0) this.timer = setTimeout(() => this.flush(), TOGETHER);
    this.pending.set(words, (this.pending.get(words) ?? 0) + 1);
  }

  flush() {
    const said = [...this.pending].map(([words, count]) => (count > 1 ? `${words}, ${count} times` : words));
    this.pending.clear();
    this.say(said.join(". "));
  }

  close() {
    clearTimeout(this.timer);
  }
}

// A subagent's replies and failures are told with the call that it answers.
function wordsFor({ event, data, at, subthread_id: nested }, nameOf, agent) {
  switch (event) {
    case "MessageEnd":
      return data.content && !nested ? `${nameOf(agent)}: ${shortened(data.content)}` : "";
    case "ToolCall":
      return `Calls ${wordsOf(data.name)}`;
    case "ToolResponse":
      return data.ok === false && !data.additional_data?.stopped ? `${wordsOf(data.name)} failed: ${shortened(data.content ?? "")}` : "";
    case "AgentSubthreadStart":
      return `${nameOf(data.agent_id)} begins to work`;
    case "ActionRequiresConfirmation":
      return `Needs your approval: ${data.question} Time left: ${duration(data.expires_at - at)}.`;
    case "TurnFailed":
      return nested ? "" : `Failed: ${data.message}`;
    case "TurnCancelled":
      return nested ? "" : "Stopped";
    default:
      return "";
  }
}

function shortened(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} … and more` : text;
}
