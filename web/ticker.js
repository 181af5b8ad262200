// Things that are done every so many seconds, on one timer that rests when there are none.

const acts = new Set();
let timer = null;

// Until `signal` is aborted.
export function every(seconds, act, signal) {
  const entry = { seconds, act, passed: 0 };
  acts.add(entry);
  timer ??= setInterval(tick, 1000);
  signal?.addEventListener("abort", () => drop(entry), { once: true });
  return () => drop(entry);
}

function drop(entry) {
  acts.delete(entry);
  if (acts.size > 0) return;
  clearInterval(timer);
  timer = null;
}

function tick() {
  for (const entry of acts) {
    entry.passed += 1;
    if (entry.passed % entry.seconds === 0) entry.act();
  }
}
