#!/usr/bin/env node
import { brokenOutput, watchOutput } from "./output.js";
import { main } from "./program.js";

const EXIT_GRACE_MS = 2_000;

watchOutput();
const exitCode = await main(process.argv.slice(2));
process.exitCode = brokenOutput() ?? exitCode;
// What a library has left open when a command failed must not keep it from ending: somebody waits for its exit code.
setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();
