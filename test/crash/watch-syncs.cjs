/**
 * Loaded into a worker before anything else: writes down, at each of its reports, what it has changed below a folder and has not begun to make
 * durable. POSIX alone is relied on: bytes are durable by a sync of their file, names by one of their folder. `WATCHED_FOLDER`; a line of JSON
 * for each report in `WATCHED_REPORTS`.
 */
"use strict";
const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");
const { posix } = require("node:path");

const { WATCHED_FOLDER: root = "", WATCHED_REPORTS: reports = "" } = process.env;
const real = { ...fs };
/** By inode, what was written and is not being synced; by path, whose name has changed. */
const bytes = new Map();
const names = new Map();
const paths = new Map();

function placeOf(path) {
  const [, descriptor, rest = ""] = /^\/proc\/self\/fd\/(\d+)(\/.*)?$/.exec(path) ?? [];
  return descriptor === undefined
    ? String(path)
    : posix.join(real.readlinkSync(`/proc/self/fd/${descriptor}`), rest);
}

const isThere = (path) => real.lstatSync(path, { throwIfNoEntry: false }) !== undefined;

function renamed(...changed) {
  for (const path of changed) if (path.startsWith(`${root}/`)) names.set(path, posix.dirname(path));
}

function written(fd) {
  if (paths.has(fd)) bytes.set(real.fstatSync(fd).ino, paths.get(fd));
}

fs.openSync = (path, ...rest) => {
  const place = placeOf(path);
  const isNew = !isThere(path);
  const fd = real.openSync(path, ...rest);
  if (!place.startsWith(`${root}/`)) return fd;
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
fs.writeFileSync = (file, ...rest) => {
  if (typeof file === "number") written(file);
  real.writeFileSync(file, ...rest);
};
fs.fsync = (fd, done) => {
  const entry = real.fstatSync(fd);
  if (entry.isFile()) bytes.delete(entry.ino);
  else for (const [path, folder] of names) if (folder === paths.get(fd)) names.delete(path);
  real.fsync(fd, done);
};
fs.renameSync = (from, to) => {
  const places = [placeOf(from), placeOf(to)];
  real.renameSync(from, to);
  renamed(...places);
};
fs.mkdirSync = (path, ...rest) => {
  const made = [];
  for (let place = placeOf(path); !isThere(place); place = posix.dirname(place)) made.push(place);
  const first = real.mkdirSync(path, ...rest);
  renamed(...made);
  return first;
};
fs.appendFileSync = (path, data, ...rest) => {
  if (String(data) === "activity.before-report\n") {
    const left = [...bytes.values(), ...names.keys()]
      .filter(isPromised)
      .map((place) => place.slice(root.length + 1));
    real.appendFileSync(reports, `${JSON.stringify(left)}\n`);
  }
  real.appendFileSync(path, data, ...rest);
};
syncBuiltinESMExports();

/** What is derived, watched only, or given up when it is lost is not synced; a file that is empty, or gone again, says nothing. */
function isPromised(place) {
  const entry = real.lstatSync(place, { throwIfNoEntry: false });
  if (entry === undefined || (entry.isFile() && entry.size === 0)) return false;
  const isElse = /\.lock$|\.index$|\/(?:blobs|live|locks|staged)(?:\/|$)/.test(place);
  return !isElse && !/^\.(?:il|tmp)-|^write-/.test(posix.basename(place));
}
