// The page's beginning: who is here, then the shell, or the way in.

import { Shell } from "./shell.js";
import { configuration, forget, keep, restore } from "./session.js";
import { SignIn } from "./sign_in.js";

const signIn = new SignIn(document.getElementById("sign-in"), enter);
let shell = null;
let config = {};
let stopRenewing = () => {};

start();

async function start() {
  // First of all, so that a token does not stay in the address.
  const session = restore();
  config = await configuration();
  const back = config.sign_in ? await signIn.returned(config) : null;
  if (back) await enter({ token: back, project: session?.project ?? config.project ?? "demo" });
  else if (session) await enter(session);
  else signIn.show(config);
  // A link with another token, opened in this tab.
  window.addEventListener("hashchange", () => {
    if (!location.hash.startsWith("#/") && location.hash.includes("token=")) location.reload();
  });
}

// Resolves once the page is usable, or once it is known why it is not.
async function enter(session) {
  const next = new Shell(session, config, leave);
  try {
    await next.start();
  } catch (error) {
    next.close();
    if (error.status === 401) forget(session.token);
    signIn.show(config, refusal(error, session), error.status === 401 ? null : session);
    return;
  }
  keep(session);
  signIn.hide();
  shell = next;
  if (config.sign_in) await freshen(session);
}

// The organisation's tokens are renewed before they end.
async function freshen(session) {
  const { keepFresh } = await import("./signin.js");
  stopRenewing = keepFresh(config, session.token, (token) => {
    session.token = token;
    if (shell?.session !== session) return;
    shell.api.token = token;
    keep(session);
  });
}

function leave(reason) {
  if (!shell) return;
  forget(shell.session.token);
  shell.close();
  shell = null;
  stopRenewing();
  signIn.show(config, reason);
}

function refusal(error, { project }) {
  if (error.status === 401) return "This token is not accepted (any more). Get a new one and paste it here.";
  if (error.status === 404) return `There is no project “${project}”, or you are not a member of it.`;
  return error.message;
}
