// The project's knowledge documents.

import { documentsOf } from "./kinds.js";
import { Library } from "./library.js";

export function mount(root, context) {
  return new Library(root, context, documentsOf(context.api));
}
