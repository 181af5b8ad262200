// The two kinds of things a project keeps: workspace files and knowledge documents, behind one set of functions.
//
//   list(cursor) → { entries: [{ id, title, size, at }], next }     read(id) → { id, title, size, at, text, bytes, note }
//   write(id, { text, bytes, title })                               remove(id)
//
// `text` is null where the content is no text, `bytes` null where it is.

const LARGEST_TEXT = 1024 * 1024;
const LARGEST_FILE = 4 * 1024 * 1024;

export function filesOf(api) {
  const at = (id) => api.at(`files/${path(id)}`);
  return {
    view: "files",
    word: "file",
    title: "Files",
    largest: LARGEST_FILE,
    binary: true,
    about: "What agents with the workspace can read and write, and what they made: reports, pictures, notes.",
    async list(cursor) {
      const page = await api.request("GET", api.at(`files?limit=100${following(cursor)}`));
      const entries = page.files.map((file) => ({ id: file.path, title: null, size: file.size, at: file.modified_at }));
      return { entries, next: page.next };
    },
    async read(id) {
      const file = await api.request("GET", at(id));
      const bytes = file.content === undefined ? bytesOf(file.content_base64) : null;
      return { id, title: null, size: file.size, at: file.modified_at, text: file.content ?? null, bytes, note: null };
    },
    write(id, { text, bytes }) {
      return api.request("PUT", at(id), bytes ? { content_base64: base64Of(bytes) } : { content: text });
    },
    remove: (id) => api.request("DELETE", at(id)),
  };
}

export function documentsOf(api) {
  const at = (id) => api.at(`documents/${path(id)}`);
  return {
    view: "knowledge",
    word: "document",
    title: "Knowledge",
    largest: LARGEST_TEXT,
    binary: false,
    about: "Texts in which agents look things up. They find passages by the words of a question.",
    async list(cursor) {
      const page = await api.request("GET", api.at(`documents?limit=100${following(cursor)}`));
      const entries = page.documents.map(({ id, title, size, updated_at: changed }) => ({ id, title, size, at: changed }));
      return { entries, next: page.next };
    },
    async read(id) {
      const { title, size, updated_at: changed, content, state, reason } = await api.request("GET", at(id));
      return { id, title, size, at: changed, text: content, bytes: null, note: noteOf(state, reason) };
    },
    write: (id, { text, title }) => api.request("PUT", at(id), title ? { title, content: text } : { content: text }),
    remove: (id) => api.request("DELETE", at(id)),
    async search(query) {
      return (await api.request("GET", api.at(`knowledge?query=${encodeURIComponent(query)}`))).passages;
    },
  };
}

// What is in a file that a person chose: its text, or its bytes where it is none.
export async function contentOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
    if (bytes.length <= LARGEST_TEXT && !/[\u0000-\u0008\u000b\u000e-\u001f]/.test(text)) return { text, bytes: null };
  } catch {
    // Not UTF-8.
  }
  return { text: null, bytes };
}

export function sizeOf(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1e6) return `${(bytes / 1000).toFixed(bytes < 1e4 ? 1 : 0)} KB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function noteOf(state, reason) {
  if (state === "indexing") return "It is being taken in: agents will find it in a moment.";
  if (state === "failed") return `Agents cannot find it: ${reason ?? "the index refused it"}.`;
  return reason ?? null;
}

// A browser takes dots in an address for steps to other folders, encoded or not: such a name would never arrive.
function path(id) {
  if (id.split("/").some((part) => part === "." || part === "..")) throw new Error("A name must not have . or .. as a part.");
  return id.split("/").map(encodeURIComponent).join("/");
}

function following(cursor) {
  return cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

function base64Of(bytes) {
  // In pieces: a call takes only so many arguments.
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary);
}
