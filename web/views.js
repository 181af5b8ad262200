// The views: one row each. `nav` rows stand in the menu. What a module exports is told at the top of shell.js.

export const VIEWS = [
  { name: "chat", label: "Chat", icon: "chat", nav: false, load: () => import("./chat.js") },
  { name: "approvals", label: "Waiting for approval", icon: "shield", nav: true, load: () => import("./approvals.js") },
  { name: "files", label: "Files", icon: "file", nav: true, load: () => import("./files/view.js") },
  { name: "knowledge", label: "Knowledge", icon: "book", nav: true, load: () => import("./files/knowledge.js") },
  { name: "runs", label: "Runs", icon: "runs", nav: false, load: () => import("./inspector/view.js") },
];
