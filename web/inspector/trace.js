// A run as it is drawn: its states in turns, each turn on a scale of its own. Pure: no elements here.

const WAITS = new Set(["ReceiveMessage", "AwaitConfirmation", "WaitForProvider"]);
const HOLDS = new Set(["HandleToolCalls", "RunSubagent"]);
// A stretch in which everything waits takes at most this part of what is worked.
const WAIT_SHARE = 0.3;
// Nothing is thinner than this part of a turn.
const THINNEST = 0.004;

// Whether a state passes by: a Choice, or the end of a run.
export function passes(state) {
  return state.type === "Choice" || state.type === "Succeed";
}

// What a visit is, in one word: "failed", "timed_out", "aborted", "waiting", "running" or "done".
export function condition(state) {
  if (state.outcome === "running") return state.waiting || WAITS.has(state.name) ? "waiting" : "running";
  return state.outcome === "succeeded" ? "done" : state.outcome;
}

// Whether a state only waits, for a person or for a time to come.
export function waits(state) {
  return WAITS.has(state.name);
}

// Whether a person's decision is waited for, in the run or in a subagent's.
export function asks(run) {
  return leaves(run, run.states).some((state) => state.name === "AwaitConfirmation" && state.outcome === "running");
}

export function seconds(state, now) {
  return Math.max(0, (state.exited_at ?? now) - state.entered_at);
}

// The states of a run in groups: { turn, states } per turn, and { turn: null, states } for what lies between.
export function groups(states) {
  const found = [];
  for (const state of states) {
    const last = found.at(-1);
    if (last && (last.turn === state.turn || (state.turn === null && passes(state)))) last.states.push(state);
    else found.push({ turn: state.turn, states: [state] });
  }
  return found;
}

// The model call that a state worked on, and the tool call.
export function callsOf(run, state) {
  const model = run.model_calls.find((call) => call.turn === state.turn && call.step === state.step);
  return { model, tool: state.call === null ? undefined : model?.tool_calls[state.call] };
}

// The run of the subagent that a state waited for.
export function nestedRun(run, state) {
  return state.name === "RunSubagent" ? callsOf(run, state).tool?.subagent : undefined;
}

// A scale over some states and what they nest: where, from 0 to 1, an instant lies. Long waits are cut short.
export function scale(run, states, now) {
  const all = leaves(run, states).filter((state) => !passes(state));
  const ends = (state) => state.exited_at ?? Math.max(now, state.entered_at);
  const times = [...new Set(all.flatMap((state) => [state.entered_at, ends(state)]))].sort((a, b) => a - b);
  const stretches = times.slice(1).map((end, index) => {
    const start = times[index];
    const worked = all.some(
      (state) => !WAITS.has(state.name) && !HOLDS.has(state.name) && state.entered_at < end && ends(state) > start,
    );
    return { start, end, worked, length: end - start };
  });
  const total = stretches.reduce((sum, { worked, length }) => sum + (worked ? length : 0), 0);
  const most = total ? total * WAIT_SHARE : Infinity;
  const widths = stretches.map(({ worked, length }) => (worked ? length : Math.min(length, most)));
  const sum = widths.reduce((a, b) => a + b, 0) || 1;
  const cut = stretches.some(({ worked, length }) => !worked && length > most);
  return { at: (instant) => position(stretches, widths, instant) / sum, cut };
}

// Where a state's bar begins, and how long it is, in parts of the scale.
export function span(state, { at }, now) {
  const start = Math.min(at(state.entered_at), 1 - THINNEST);
  const end = at(state.exited_at ?? now);
  return { start, length: Math.max(end - start, THINNEST) };
}

// What a run came to: turns, model calls, tool calls, tokens and retries, subagents' included.
export function totals(run) {
  const sum = { calls: 0, tools: 0, input: 0, output: 0, retries: 0 };
  const add = (part) => {
    for (const state of part.states) sum.retries += state.retries;
    for (const call of part.model_calls) {
      sum.calls += 1;
      sum.tools += call.tool_calls.length;
      sum.input += call.usage?.input_tokens ?? 0;
      sum.output += call.usage?.output_tokens ?? 0;
      for (const tool of call.tool_calls) if (tool.subagent) add(tool.subagent);
    }
  };
  add(run);
  return sum;
}

function leaves(run, states) {
  return states.flatMap((state) => {
    const nested = nestedRun(run, state);
    return nested ? [state, ...leaves(nested, nested.states)] : [state];
  });
}

function position(stretches, widths, instant) {
  let sum = 0;
  for (let index = 0; index < stretches.length; index += 1) {
    const { start, end, length } = stretches[index];
    if (instant >= end) sum += widths[index];
    else if (instant > start) return sum + widths[index] * ((instant - start) / length);
    else break;
  }
  return sum;
}
