import { call } from "./scripted-model.js";

/** What a model answers that writes an artifact, misses a file, and asks twice. */
export const WRITES_AND_ASKS_TWICE = [
  {
    calls: [
      call("fs_write", { path: "@project/artifacts/small.md", content: "# Small\n" }),
      call("fs_read", { path: "@project/none.md" }),
    ],
    content: "I write it down.",
  },
  { content: "Which way?" },
  { content: "And now?" },
];
