// What happens, said to screen readers: whole replies and questions, never the pieces of a stream.

import { duration, wordsOf } from "./dom.js";

const LONGEST = 400;
// What began before the page listened is told by the page itself.
const RECENT = 30;

export class Narrator {
  constructor(say) {
    this.say = say;
  }

  // nameOf: an agent's id → its name.
  tell(event, nameOf, agent) {
    if (Date.now() / 1000 - event.at > RECENT) return;
    const { data, subthread_id: nested } = event;
    switch (event.event) {
      case "MessageEnd":
        if (data.content && !nested) this.say(`${nameOf(agent)}: ${shortened(data.content)}`);
        break;
      case "ToolCall":
        this.say(`Calls ${wordsOf(data.name)}`);
        break;
      case "ToolResponse":
        if (data.ok === false && !data.additional_data?.stopped) this.say(`${wordsOf(data.name)} failed: ${shortened(data.content ?? "")}`);
        break;
      case "AgentSubthreadStart":
        this.say(`${nameOf(data.agent_id)} begins to work`);
        break;
      case "ActionRequiresConfirmation":
        this.say(`Needs your approval: ${data.question} Time left: ${duration(data.expires_at - event.at)}.`);
        break;
      case "TurnFailed":
        // A subagent's is told with the call that it answered.
        if (!nested) this.say(`Failed: ${data.message}`);
        break;
      case "TurnCancelled":
        if (!nested) this.say("Stopped");
        break;
    }
  }
}

function shortened(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} … and more` : text;
}
