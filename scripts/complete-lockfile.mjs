// Completes package-lock.json for platforms other than the one it was written on. npm leaves out optional packages that
// the registry at hand does not serve, and `npm ci` then refuses the lock file everywhere. Asks the registry for hashes
// that are missing, and fails where it has none: then a version is to be chosen of which every platform's package can be
// had (a dependency of a dependency: with "overrides"). Also drops download addresses.
// Run after adding or updating a dependency; test/boundaries/pins.test.ts fails when it is due.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const PATH = new URL("../package-lock.json", import.meta.url);
const PLATFORM =
  /(aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)-(arm64|arm|x64|ia32|ppc64|s390x|riscv64|loong64|mips64el)(?:-(gnueabihf|musleabihf|gnu|musl|msvc|eabi))?$/;

const lock = JSON.parse(readFileSync(PATH, "utf8"));
const packages = new Map(Object.entries(lock.packages));
for (const [path, entry] of packages) {
  delete entry.resolved;
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`;
    if (packages.has(key) || packages.has(`${path}/${key}`)) continue;
    const [, os, cpu, abi = ""] = PLATFORM.exec(name) ?? [];
    if (os === undefined) throw new Error(`${name}, an optional dependency of ${path}, names no platform.`);
    const libc =
      os !== "linux" ? [] : abi.startsWith("musl") ? ["musl"] : abi.startsWith("gnu") ? ["glibc"] : [];
    packages.set(key, {
      version: version.replace(/^[\^~]/, ""),
      cpu: [cpu],
      ...(entry.dev ? { dev: true } : {}),
      ...(libc.length > 0 ? { libc } : {}),
      license: entry.license,
      optional: true,
      os: [os],
    });
  }
}
const unknown = [];
for (const [path, entry] of packages) {
  if (path === "" || entry.link === true || entry.integrity !== undefined) continue;
  const name = `${path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)}@${entry.version}`;
  const integrity = integrityOf(name);
  if (integrity === "") unknown.push(name);
  else entry.integrity = integrity;
}
if (unknown.length > 0) throw new Error(`The registry has no hash for:\n  ${unknown.join("\n  ")}`);
lock.packages = Object.fromEntries([...packages].sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(PATH, `${JSON.stringify(lock, undefined, 2)}\n`);

function integrityOf(name) {
  try {
    return execFileSync("npm", ["view", name, "dist.integrity"], { encoding: "utf8", stdio: "pipe" }).trim();
  } catch {
    return ""; // no such version there
  }
}
