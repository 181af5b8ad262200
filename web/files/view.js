// The project's workspace files.

import { filesOf } from "./kinds.js";
import { Library } from "./library.js";

export function mount(root, context) {
  return new Library(root, context, filesOf(context.api));
}
