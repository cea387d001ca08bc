import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** Loaded into a process before anything else: writes down how many files it has synced, after each change within a second. */
const path = process.env["BENCH_SYNCS"]; // oxlint-disable-line node/no-process-env -- a measurement's own
let syncs = 0;
let written = -1;
const { fsync, fsyncSync } = fs;

fs.fsync = ((fd: number, done: fs.NoParamCallback) => {
  syncs += 1;
  fsync(fd, done);
}) as typeof fs.fsync;
fs.fsyncSync = (fd) => {
  syncs += 1;
  fsyncSync(fd);
};
syncBuiltinESMExports();

setInterval(() => {
  if (path === undefined || written === syncs) return;
  fs.writeFileSync(path, String(syncs));
  written = syncs;
}, 200).unref();
