// The way in: a link with a token, a pasted token, or the organisation's sign-in where one is configured.

import { button, element } from "./dom.js";
import { lastProject } from "./session.js";

// Until a server that did not answer is asked again, in ms.
const AGAIN = 5000;

export class SignIn {
  constructor(root, enter) {
    this.root = root;
    this.enter = enter;
  }

  // A token, if the browser comes back from the organisation's sign-in.
  async returned(config) {
    try {
      const { finish } = await import("./oidc.js");
      return await finish(config);
    } catch (error) {
      this.failure = `The sign-in did not work: ${error.message}`;
      return null;
    }
  }

  show(config, reason = this.failure ?? "", tried = null) {
    this.failure = undefined;
    this.error = element("p", { class: "error", role: "alert" }, reason);
    this.card("Sign in", this.error, config.sign_in ? this.organisation(config) : localWay(), this.form(tried, Boolean(config.sign_in)));
    this.root.querySelector("textarea, .button").focus();
  }

  // The server does not answer. It is asked again by itself, and when somebody presses the button.
  away(words, again) {
    clearTimeout(this.waiting);
    const act = () => {
      clearTimeout(this.waiting);
      again();
    };
    this.waiting = setTimeout(act, AGAIN);
    const shown = this.root.querySelector(".away");
    if (shown) {
      if (shown.textContent !== words) shown.textContent = words;
      return;
    }
    const told = element("p", { class: "away", role: "alert" }, words);
    this.card("No answer", told, element("p", { class: "faint" }, "It is asked again every few seconds."), button("Try again now", act));
  }

  card(title, ...parts) {
    this.root.replaceChildren(
      element(
        "main",
        { class: "card sign-in-card", "aria-labelledby": "sign-in-title" },
        element("p", { class: "brand" }, "Parley"),
        element("h1", { id: "sign-in-title" }, title),
        ...parts,
      ),
    );
    this.root.hidden = false;
    document.getElementById("app").hidden = true;
    document.title = `${title} · Parley`;
  }

  hide() {
    this.root.hidden = true;
    this.root.replaceChildren();
  }

  organisation(config) {
    const act = async () => {
      try {
        const { start } = await import("./oidc.js");
        await start(config);
      } catch (error) {
        this.error.textContent = `The sign-in cannot be reached: ${error.message}`;
      }
    };
    return button("Sign in with your organisation", act, { class: "button primary wide" });
  }

  form(tried, folded) {
    const token = element("textarea", { id: "token", rows: 3, autocomplete: "off", spellcheck: "false", required: true });
    const project = element("input", { id: "project", autocomplete: "off", required: true });
    token.value = tried?.token ?? "";
    project.value = tried?.project ?? lastProject();
    const submit = element("button", { type: "submit", class: "button primary" }, tried ? "Try again" : "Sign in");
    const act = async (event) => {
      event.preventDefault();
      submit.disabled = true;
      this.error.textContent = "";
      await this.enter({ token: token.value.trim(), project: project.value.trim() });
      submit.disabled = false;
    };
    const form = element(
      "form",
      { class: "fields", onsubmit: act },
      element("label", { for: "token" }, "Token"),
      token,
      element("label", { for: "project" }, "Project"),
      project,
      submit,
    );
    if (!folded) return form;
    return element("details", { class: "fold", open: Boolean(tried) }, element("summary", {}, "Use a token"), form);
  }
}

function localWay() {
  return element(
    "div",
    { class: "way" },
    element("p", {}, "On your own machine there are two ways in:"),
    element(
      "ol",
      {},
      element("li", {}, "open the link that ", element("code", {}, "make serve"), " printed when it started, or"),
      element("li", {}, "run ", element("code", {}, "make token"), " and paste what it prints here."),
    ),
  );
}
