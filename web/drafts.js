// What was written and neither sent nor saved: kept over a reload, in this tab.

const DRAFTS = "parley.draft.";

// Null if there is none.
export function draftOf(name) {
  try {
    return sessionStorage.getItem(DRAFTS + name);
  } catch {
    return null;
  }
}

// Null: there is none any more.
export function keepDraft(name, text) {
  try {
    if (text === null) sessionStorage.removeItem(DRAFTS + name);
    else sessionStorage.setItem(DRAFTS + name, text);
  } catch {
    // Without storage, or without room in it, a draft lives as long as the page.
  }
}
