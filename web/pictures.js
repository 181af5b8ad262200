// Pictures that a function made. They lie behind the API, which wants a token: they are fetched and shown as blobs.

import { element, visible } from "./dom.js";

const TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];

export class Pictures {
  constructor(api) {
    this.api = api;
    this.made = [];
  }

  close() {
    this.made.forEach((url) => URL.revokeObjectURL(url));
    this.made = [];
  }

  // image: { path, media_type }, as generateImage gives it. Only a file of this project is fetched.
  figure({ path, alt }) {
    const words = visible(alt ?? path.split("/").at(-1));
    const caption = element("figcaption", {}, visible(path));
    const figure = element("figure", { class: "picture" }, element("p", { class: "faint" }, "Loading the picture …"), caption);
    this.load(path).then(
      (url) => figure.firstChild.replaceWith(element("img", { src: url, alt: words })),
      () => figure.firstChild.replaceWith(element("p", { class: "faint" }, "The picture is not there (any more).")),
    );
    return figure;
  }

  async load(path) {
    const file = await this.api.request("GET", this.api.at(`files/${path.split("/").map(encodeURIComponent).join("/")}`));
    const bytes = Uint8Array.from(atob(file.content_base64), (character) => character.charCodeAt(0));
    const type = TYPES.find((one) => begins(bytes, one));
    if (!type) throw new Error("not a picture");
    const url = URL.createObjectURL(new Blob([bytes], { type }));
    this.made.push(url);
    return url;
  }
}

// The first bytes say what it is, not its name.
function begins(bytes, type) {
  const head = String.fromCharCode(...bytes.slice(0, 12));
  if (type === "image/png") return head.startsWith("\x89PNG");
  if (type === "image/jpeg") return head.startsWith("\xff\xd8\xff");
  if (type === "image/gif") return head.startsWith("GIF8");
  return head.startsWith("RIFF") && head.endsWith("WEBP");
}
