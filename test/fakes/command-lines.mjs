// Runs one command line of Interlock after the other in this process, and writes down how each has ended:
// node command-lines.mjs <file with a JSON list of argument lists> <file for the exit codes>
import { readFileSync, writeFileSync } from "node:fs";
import { watchOutput } from "../../dist/cli/terminal/output.js";
import { main } from "../../dist/cli/program.js";

const [list, codes] = process.argv.slice(2);
process.setMaxListeners(0); // each command adds its own
watchOutput();
const ended = [];
for (const args of JSON.parse(readFileSync(list, "utf8"))) {
  ended.push([args.join(" "), await main(args)]);
  writeFileSync(codes, JSON.stringify(ended));
}
process.exit();
