import { basename, dirname, parse, sep } from "node:path";
import { SESSION_BASE } from "../../core/bundle/bundle-path.js";
import { type Result, fail, ok } from "../../core/errors.js";
import { excerpt } from "../../core/text.js";
import { syncDirectory } from "../../store/disk/atomic-file.js";
import type { PermittedRoot } from "../../store/roots/roots.js";
import { type SessionPlace, noManifest } from "../../store/runs/bundle-session.js";
import { notMade } from "../../store/runs/not-made.js";
import { type PinnedEntry, type Pins, pinIfPresent } from "../sandbox/pinned-entry.js";
import { pinRoot } from "../sandbox/resolve.js";
import { runOnPath } from "../sandbox/run-on-path.js";
import { platformPins } from "../sandbox/workspace.js";
import { makeDirectory } from "../sandbox/write-target.js";

/**
 * Holds a session folder as it was when it was permitted, for an action by a path to exactly that one. Faults: `E_INTERNAL` where none is
 * there, `E_SANDBOX_VIOLATION` where another one is by now.
 */
export async function onSessionFolder<T>(
  { path: root, identity }: PermittedRoot,
  action: (dir: string) => Promise<Result<T>>,
): Promise<Result<T>> {
  if (identity === undefined) return noManifest();
  const held = await runOnPath(SESSION_BASE, "read", async () => pinRoot(platformPins(), { root, identity }));
  return held.ok ? whileHeld(held.value, root, action) : held;
}

/**
 * Makes the directory that a session folder lies in, or is going to, by its real path as it was permitted, and holds it for an action.
 * Faults: `E_SANDBOX_VIOLATION` where a link has come into the way since, `E_PROJECT_INVALID` or `E_INTERNAL` where it cannot be made.
 */
export async function onSessionPlace<T>(
  { path }: Pick<PermittedRoot, "path">,
  action: (place: SessionPlace) => Promise<Result<T>>,
): Promise<Result<T>> {
  const root = dirname(path);
  let held: Result<PinnedEntry>;
  try {
    held = await holdMade(root);
  } catch (error) {
    return notMade("The session folder", "Check the output directory's permissions.", error);
  }
  if (!held.ok) return held;
  return whileHeld(held.value, root, (outputRoot) => action({ outputRoot, sessionId: basename(path) }));
}

/** From the file system's root on, each directory is looked up in the one before, which is held. New names are durable. */
async function holdMade(real: string): Promise<Result<PinnedEntry>> {
  const pins = platformPins();
  const { root } = parse(real);
  let folder = pins.root(root);
  for (const name of real.slice(root.length).split(sep)) {
    const parent = folder;
    try {
      folder = pinIfPresent(pins, parent, name) ?? (await pinMade(pins, parent, name));
    } finally {
      parent.close();
    }
    if (folder.kind === "directory") continue;
    folder.close();
    return fail(
      "E_SANDBOX_VIOLATION",
      `"${excerpt(real)}" is reached through a link now, or through a file.`,
    );
  }
  return ok(folder);
}

async function pinMade(pins: Pins, parent: PinnedEntry, name: string): Promise<PinnedEntry> {
  makeDirectory(`${parent.at}/${name}`, 0o777);
  await syncDirectory(parent.at);
  return pins.child(parent, name);
}

/** What the system says of what is held names it by its path, which an operator can look for. */
async function whileHeld<T>(
  held: PinnedEntry,
  path: string,
  action: (dir: string) => Promise<T>,
): Promise<T> {
  try {
    return await action(held.at);
  } catch (error) {
    if (error instanceof Error) sayOf(error, held.at, path);
    throw error;
  } finally {
    held.close();
  }
}

function sayOf(error: Error, at: string, path: string): void {
  for (const key of ["message", "stack", "path", "dest"]) {
    const said: unknown = Reflect.get(error, key);
    if (typeof said === "string")
      Reflect.set(
        error,
        key,
        said.replaceAll(at, () => path),
      );
  }
}
