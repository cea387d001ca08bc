import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { type HistoryText, actionsOf, actionsText } from "./actions.js";
import { WrongUsage, commandLine, positionals } from "./usage.js";
import { wordsOf } from "../src/core/system-code.js";

/* What Temporal Cloud would bill for histories. */

const USAGE = "Usage: npm run bench:actions -- <history.json …>";
const histories = commandLine(USAGE, (args) => {
  const paths = positionals(args);
  if (paths.length === 0)
    throw new WrongUsage("No history is given: temporal workflow show --output json prints one.");
  return paths.map((path) => [path, readHistory(path)] as const);
});
for (const [path, history] of histories) {
  process.stdout.write(`${basename(path)}: ${actionsText(actionsOf(history))}\n`);
}

/** Temporal's own form. */
function readHistory(path: string): HistoryText {
  try {
    const history = JSON.parse(readFileSync(path, "utf8")) as Partial<HistoryText> | null;
    if (!Array.isArray(history?.events)) throw new Error("it has no events");
    return { events: history.events };
  } catch (error) {
    throw new WrongUsage(`${path} is no history: ${wordsOf(error)}.`);
  }
}
