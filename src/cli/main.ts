#!/usr/bin/env node
import { main } from "./program.js";

const EXIT_GRACE_MS = 2_000;

process.exitCode = await main(process.argv.slice(2));
// What a library has left open when a command failed must not keep it from ending: somebody waits for its exit code.
setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();
