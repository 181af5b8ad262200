// Questions that are asked before something is lost. The browser's own dialog keeps the focus and closes on Escape.

import { button, element } from "../dom.js";

// Whether the person said yes.
export function ask(title, words, yes) {
  return new Promise((resolve) => {
    const done = (answer) => {
      resolve(answer);
      dialog.close();
    };
    const no = button("Cancel", () => done(false));
    const dialog = element(
      "dialog",
      { class: "card ask", "aria-labelledby": "ask-title", "aria-describedby": "ask-words" },
      element("h2", { id: "ask-title" }, title),
      element("p", { id: "ask-words" }, words),
      element("div", { class: "buttons" }, no, button(yes, () => done(true), { class: "button danger" })),
    );
    // Whoever goes back has left the question, too.
    const leave = () => done(false);
    window.addEventListener("hashchange", leave);
    dialog.addEventListener("close", () => {
      window.removeEventListener("hashchange", leave);
      resolve(false);
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
    no.focus();
  });
}
