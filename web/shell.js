// The shell: menu, heading, notices, connection, and the view that the address names.
//
// A view is a module with one function, listed in views.js:
//
//   export function mount(root, context)  →  { update(route), unmount(), revived() }, or a promise of it
//
// `root` is an empty <section> of the view's own. `update` shows another address of the same view; `revived`: the server
// can be reached again, and what could not be read can be. `context`:
//   api, user, project      the API (api.js) and who speaks to it
//   config                  the page's configuration (config.json)
//   agents                  the project's agents, as GET …/agents gives them; `reloadAgents()` reads them anew
//   feed                    the events (feed.js)
//   outbox                  messages that no turn has taken yet (outbox.js)
//   route                   { view, parts, query } of the address
//   go(address)             show another address, such as "#/chat/ID" (router.js makes them)
//   notice(text, {action, act})   tell something that went wrong, until it is put away or the address changes
//   attempt(request)        what a request answers; undefined, and a notice, if it fails
//   announce(text)          for screen readers, politely
//   title(text)             the heading and the window's title
//   phase(text)             what is being done, beside the heading; "" if nothing
//   tools(...elements)      buttons beside the heading
//   onEvent(act)            every event of the channel, in no order; gives a function that ends it
//   signal                  an AbortSignal: the view was left

import { Api, PASSING } from "./api.js";
import { button, element, icon, iconButton } from "./dom.js";
import { Feed } from "./feed.js";
import { Menu } from "./menu.js";
import { Outbox } from "./outbox.js";
import { parse } from "./router.js";
import { VIEWS } from "./views.js";

const $ = (id) => document.getElementById(id);
const CONNECTIONS = {
  connecting: "",
  live: "",
  polling: "Live updates are blocked; asking for news instead.",
  offline: "No connection. Reconnecting …",
};
// Time that a connection may take before it is worth a word.
const PATIENCE = 600;

export class Shell {
  constructor(session, config, leave) {
    this.session = session;
    this.config = config;
    this.leave = leave;
    this.api = new Api(session.token, session.project, config.api);
    this.outbox = new Outbox(this.api);
    this.listeners = new Set([(event) => this.taken(event)]);
    this.cleanups = [];
    this.named = "Parley";
    this.waiting = 0;
    this.agents = [];
    this.unreadable = [];
  }

  // Throws an ApiError if the token or the project is not accepted.
  async start() {
    const view = this.module(parse(location.hash));
    await this.reloadAgents();
    this.feed = new Feed(this.api, {
      socketUrl: this.config.socket,
      onState: (state) => this.connected(state),
      onFrame: (event) => this.listeners.forEach((act) => act(event)),
      onFailure: (error) => this.failed(error),
    });
    this.menu = new Menu($("side"), this);
    this.bind();
    await view;
    $("app").hidden = false;
    await this.show();
  }

  async reloadAgents() {
    ({ agents: this.agents, unreadable: this.unreadable } = await this.api.agents());
    return this.agents;
  }

  bind() {
    $("menu").replaceChildren(icon("menu"));
    this.on($("menu"), "click", () => this.openMenu(!$("side").classList.contains("open")));
    this.on($("shade"), "click", () => this.openMenu(false));
    this.on($("skip"), "click", (event) => {
      event.preventDefault();
      $("main").focus();
    });
    this.on(document, "keydown", (event) => {
      if (event.key === "Escape" && $("side").classList.contains("open")) this.openMenu(false);
    });
    this.on(window, "hashchange", () => this.show());
    this.on(window, "storage", (event) => {
      // Signed out in another tab that used the same token.
      if (event.key === "parley.token" && event.oldValue === this.session.token && !event.newValue) {
        this.leave("You signed out in another tab.");
      }
    });
  }

  on(target, name, act) {
    target.addEventListener(name, act);
    this.cleanups.push(() => target.removeEventListener(name, act));
  }

  close() {
    this.unmount();
    this.menu?.close();
    this.feed?.close();
    this.cleanups.forEach((clean) => clean());
    this.openMenu(false);
    for (const id of ["side", "main", "notices", "tools"]) $(id).replaceChildren();
    this.connected("connecting");
  }

  // Views.

  module(route) {
    const row = VIEWS.find((view) => view.name === route.view) ?? VIEWS[0];
    return row.load();
  }

  // Show what the address names. A view is kept as long as the address stays with it.
  async show() {
    const route = parse(location.hash);
    if (!location.hash.startsWith("#/") && location.hash.includes("token=")) return;
    $("notices").replaceChildren();
    this.openMenu(false);
    this.menu.mark(route);
    if (this.current?.name === route.view) {
      this.context.route = route;
      (await this.current.view)?.update(route);
      return;
    }
    this.unmount();
    const root = element("section", { class: `view view-${route.view}` });
    $("main").replaceChildren(root);
    const context = this.makeContext(route);
    const current = { name: route.view, leave: new AbortController() };
    context.signal = current.leave.signal;
    this.context = context;
    this.current = current;
    current.view = this.module(route)
      .then((module) => module.mount(root, context))
      .catch((error) => this.broken(current, root, error));
    await current.view;
  }

  unmount() {
    const { current } = this;
    this.current = null;
    current?.leave.abort();
    current?.view?.then((view) => view?.unmount());
    $("tools").replaceChildren();
    this.title("Parley");
    this.phase("");
  }

  makeContext(route) {
    const shell = this;
    return {
      api: this.api,
      user: this.api.user,
      project: this.api.project,
      config: this.config,
      feed: this.feed,
      outbox: this.outbox,
      menu: this.menu,
      route,
      get agents() {
        return shell.agents;
      },
      get unreadable() {
        return shell.unreadable;
      },
      reloadAgents: () => this.reloadAgents(),
      go: (address) => this.go(address),
      notice: (text, action) => this.notice(text, action),
      attempt: (request) => this.attempt(request),
      announce: (text) => this.announce(text),
      title: (text) => this.title(text),
      phase: (text) => this.phase(text),
      tools: (...elements) => $("tools").replaceChildren(...elements),
      onEvent: (act) => this.onEvent(act),
    };
  }

  go(address) {
    if (location.hash === address) this.show();
    else location.hash = address;
  }

  taken({ event, data, thread_id: thread }) {
    if (event === "UserMessage") this.outbox.settle(data.client_message_id, data.message_id, thread);
  }

  onEvent(act) {
    this.listeners.add(act);
    return () => this.listeners.delete(act);
  }

  // Words.

  phase(text) {
    if ($("phase").textContent !== text) $("phase").textContent = text;
  }

  title(text) {
    $("title").textContent = text;
    $("title").title = text;
    this.named = text === "Parley" ? text : `${text} · Parley`;
    this.count(this.waiting);
  }

  // How many actions wait for this person, told where another tab shows it too.
  count(waiting) {
    this.waiting = waiting;
    document.title = waiting ? `(${waiting}) ${this.named}` : this.named;
  }

  notice(text, { action, act, passing } = {}) {
    if (!text) return;
    const close = () => shown.remove();
    const shown = element(
      "div",
      { class: "notice", "data-passing": passing },
      icon("warning"),
      element("p", {}, text),
      action ? button(action, () => (close(), act()), { class: "button small" }) : null,
      iconButton("close", "Put this away", close),
    );
    $("notices").replaceChildren(shown);
  }

  announce(text) {
    // The same words twice are read twice only if they are another text.
    const same = $("announcer").textContent === text;
    $("announcer").textContent = same ? `${text}\u00a0` : text;
  }

  async attempt(request) {
    try {
      return await request();
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error);
      return undefined;
    }
  }

  failed(error) {
    if (error.status === 401) this.leave("Your sign-in has ended. Sign in again to go on where you were.", true);
    else if (this.context?.onFailure?.(error)) return;
    else this.notice(error.message, { passing: PASSING.includes(error.status) });
  }

  broken(current, root, error) {
    current.broken = true;
    const again = button("Load the page again", () => location.reload());
    root.replaceChildren(element("div", { class: "empty" }, element("p", {}, "This part of the page could not be loaded."), again));
    console.error(error);
  }

  connected(state) {
    if (state === "live" || state === "polling") {
      this.api.hurry();
      this.outbox.revive();
      if (this.away) this.back();
    }
    this.away = state === "offline";
    clearTimeout(this.telling);
    const words = CONNECTIONS[state];
    const tell = () => {
      $("connection").textContent = words;
      $("connection").hidden = !words;
    };
    document.body.dataset.connection = state;
    if (words && $("connection").hidden) this.telling = setTimeout(tell, PATIENCE);
    else tell();
  }

  // The server can be reached again: what was said of that is over, and what is shown may be old.
  async back() {
    // What the browser could not load once it may not ask for again; nothing that was written is lost.
    if (this.current?.broken) location.reload();
    for (const shown of $("notices").querySelectorAll("[data-passing]")) shown.remove();
    this.menu.refresh();
    (await this.current?.view)?.revived();
  }

  openMenu(open) {
    const was = $("side").classList.contains("open");
    $("side").classList.toggle("open", open);
    $("shade").hidden = !open;
    $("menu").setAttribute("aria-expanded", String(open));
    if (open) $("side").querySelector("button, a")?.focus();
    else if (was) $("menu").focus();
  }
}
