// Completes package-lock.json for platforms other than the one it was written on. npm leaves out optional packages that
// the registry at hand does not serve, and `npm ci` then refuses the lock file everywhere. Also drops download addresses.
// Run after adding or updating a dependency; test/boundaries/pins.test.ts fails when it is due.
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
lock.packages = Object.fromEntries([...packages].sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(PATH, `${JSON.stringify(lock, undefined, 2)}\n`);
