/** The tools without an effect: their calls run side by side, and what they gave may be left out and asked for again. */
export const READS: ReadonlySet<string> = new Set([
  "fs.list",
  "fs.read",
  "fs.search",
  "read_file",
  "preload_workflow",
]);
