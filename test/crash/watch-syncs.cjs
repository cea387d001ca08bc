/**
 * Loaded into a process before anything else: knows what it has changed below a folder and has not begun to make durable. POSIX alone is
 * relied on: bytes are durable by a sync of their file, names by one of their folder. `WATCHED_FOLDER`; a line of JSON for each report of a
 * worker in `WATCHED_REPORTS`. Tests that load it into their own process ask it.
 */
"use strict";
const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");
const { posix } = require("node:path");

const { WATCHED_REPORTS: reports = "" } = process.env;
const real = { ...fs };
const promises = { ...fs.promises };
/** Where Temporal is told something, or a tool that may have an effect. */
const REPORTS = new Set(["activity.before-report", "notice.kept", "tool.before-call"]);
/** By inode, what was written and is not being synced; by path, whose name has changed. */
const bytes = new Map();
const names = new Map();
const paths = new Map();

const watch = (module.exports = {
  folder: process.env.WATCHED_FOLDER ?? "",
  /** The name of a file or folder that cannot be synced: as where a process dies first. */
  fails: "",
  /** What was not durable when something was removed for good. */
  atRemovals: [],
  /** What a power failure could take now. */
  unsynced: () => [...bytes.values(), ...names.keys()].filter(isBelow).filter(isPromised).map(named),
});

const isBelow = (path) => watch.folder !== "" && path.startsWith(`${watch.folder}/`);
const named = (place) => place.slice(watch.folder.length + 1);

function placeOf(path) {
  const [, descriptor, rest = ""] = /^\/proc\/self\/fd\/(\d+)(\/.*)?$/.exec(path) ?? [];
  return descriptor === undefined
    ? posix.resolve(String(path))
    : posix.join(real.readlinkSync(`/proc/self/fd/${descriptor}`), rest);
}

const isThere = (path) => real.lstatSync(path, { throwIfNoEntry: false }) !== undefined;

function renamed(...changed) {
  for (const path of changed) if (isBelow(path)) names.set(path, posix.dirname(path));
}

function written(fd) {
  if (paths.has(fd)) bytes.set(real.fstatSync(fd).ino, paths.get(fd));
}

function missingOn(path) {
  const missing = [];
  for (let place = placeOf(path); !isThere(place); place = posix.dirname(place)) missing.push(place);
  return missing;
}

function synced(fd) {
  const entry = real.fstatSync(fd);
  if (entry.isFile()) bytes.delete(entry.ino);
  else for (const [path, folder] of names) if (folder === paths.get(fd)) names.delete(path);
}

function removing() {
  const left = watch.unsynced();
  if (left.length > 0) watch.atRemovals.push(left);
}

fs.openSync = (path, ...rest) => {
  const place = placeOf(path);
  const isNew = !isThere(path);
  const fd = real.openSync(path, ...rest);
  if (place !== watch.folder && !isBelow(place)) return fd;
  if (isNew) renamed(place);
  paths.set(fd, place);
  return fd;
};
fs.closeSync = (fd) => {
  paths.delete(fd);
  real.closeSync(fd);
};
fs.writeSync = (fd, ...rest) => {
  written(fd);
  return real.writeSync(fd, ...rest);
};
fs.write = (fd, ...rest) => {
  written(fd);
  real.write(fd, ...rest);
};
fs.writeFileSync = (file, ...rest) => {
  if (typeof file === "number") written(file);
  real.writeFileSync(file, ...rest);
};
fs.fsync = (fd, done) => {
  if (watch.fails !== "" && posix.basename(paths.get(fd) ?? "") === watch.fails) {
    done(Object.assign(new Error("EIO: i/o error, fsync"), { code: "EIO", errno: -5, syscall: "fsync" }));
    return;
  }
  synced(fd);
  real.fsync(fd, done);
};
fs.renameSync = (from, to) => {
  const places = [placeOf(from), placeOf(to)];
  real.renameSync(from, to);
  renamed(...places);
};
fs.mkdirSync = (path, ...rest) => {
  const made = missingOn(path);
  const first = real.mkdirSync(path, ...rest);
  renamed(...made);
  return first;
};
fs.rmSync = (path, ...rest) => {
  if (isThere(path)) removing();
  real.rmSync(path, ...rest);
};
fs.appendFileSync = (path, data, ...rest) => {
  if (REPORTS.has(String(data).trim())) {
    real.appendFileSync(reports, `${JSON.stringify(watch.unsynced())}\n`);
  }
  real.appendFileSync(path, data, ...rest);
};
fs.promises.mkdir = async (path, ...rest) => {
  const made = missingOn(path);
  const first = await promises.mkdir(path, ...rest);
  renamed(...made);
  return first;
};
fs.promises.rename = async (from, to) => {
  await promises.rename(from, to);
  renamed(placeOf(from), placeOf(to));
};
fs.promises.link = async (from, to) => {
  await promises.link(from, to);
  renamed(placeOf(to));
};
fs.promises.rm = async (path, ...rest) => {
  if (isThere(path)) removing();
  await promises.rm(path, ...rest);
};
syncBuiltinESMExports();

/** What is derived, watched only, or given up when it is lost is not synced; a file that is empty, or gone again, says nothing. */
function isPromised(place) {
  const entry = real.lstatSync(place, { throwIfNoEntry: false });
  if (entry === undefined || (entry.isFile() && entry.size === 0)) return false;
  const isElse = /\.lock$|\.index$|\/(?:blobs|live|locks|staged|trash|\.new)(?:\/|$)/.test(place);
  return !isElse && !/^\.(?:il|tmp)-|^write-/.test(posix.basename(place));
}
