import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { type HistoryText, actionsOf, actionsText } from "./actions.js";

/* What Temporal Cloud would bill for histories: npm run bench:actions -- <history.json …> */

for (const path of process.argv.slice(2)) {
  const history = JSON.parse(readFileSync(path, "utf8")) as HistoryText; // Temporal's own form
  process.stdout.write(`${basename(path)}: ${actionsText(actionsOf(history))}\n`);
}
