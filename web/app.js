// The page's beginning: who is here, then the shell, or the way in.

import { PASSING, UNREACHABLE, subjectOf } from "./api.js";
import { Shell } from "./shell.js";
import { configuration, forget, keep, restore } from "./session.js";
import { SignIn } from "./sign_in.js";

const signIn = new SignIn(document.getElementById("sign-in"), enter);
let shell = null;
// Who was here until their token ended.
let ended = null;
let config = {};
let stopRenewing = () => {};

// A link with another token, opened in this tab.
window.addEventListener("hashchange", () => {
  if (!location.hash.startsWith("#/") && location.hash.includes("token=")) location.reload();
});
// Signed in again in another tab: this one goes on where it was.
window.addEventListener("storage", (event) => {
  const other = event.key === "parley.token" && ended && newer(ended);
  if (other) enter(other);
});
start();

async function start() {
  // First of all, so that a token does not stay in the address.
  const session = restore();
  try {
    config = await configuration();
  } catch {
    signIn.away(UNREACHABLE.message, start);
    return;
  }
  const back = config.sign_in ? await signIn.returned(config) : null;
  if (back) await enter({ token: back, project: session?.project ?? config.project ?? "demo" });
  else if (session) await enter(session);
  else signIn.show(config);
}

// Resolves once the page is usable, or once it is known why it is not.
async function enter(session) {
  const next = new Shell(session, config, leave);
  try {
    await next.start();
  } catch (error) {
    next.close();
    turnedAway(session, error);
    return;
  }
  keep(session);
  ended = null;
  signIn.hide();
  shell = next;
  if (config.sign_in) await freshen(session);
}

function turnedAway(session, error) {
  if (PASSING.includes(error.status)) {
    signIn.away(error.message, () => enter(session));
  } else if (error.status === 401) {
    forget(session.token);
    signIn.show(config, "This token is not accepted (any more). Get a new one and paste it here.");
  } else {
    const missing = `There is no project “${session.project}”, or you are not a member of it.`;
    signIn.show(config, error.status === 404 ? missing : error.message, session);
  }
}

// The organisation's tokens are renewed before they end.
async function freshen(session) {
  const { keepFresh } = await import("./oidc.js");
  stopRenewing = keepFresh(config, session.token, (token) => {
    session.token = token;
    if (shell?.session !== session) return;
    shell.api.token = token;
    keep(session);
  });
}

// Signed out, or `over`: the token has ended.
function leave(reason, over = false) {
  if (!shell) return;
  const { session } = shell;
  forget(session.token);
  shell.close();
  shell = null;
  stopRenewing();
  ended = over ? session : null;
  const other = over && newer(session);
  if (other) enter(other);
  else signIn.show(config, reason);
}

// Another token of the same person, from another tab.
function newer({ token, project }) {
  const other = restore();
  return other && other.token !== token && subjectOf(other.token) === subjectOf(token) ? { token: other.token, project } : null;
}
