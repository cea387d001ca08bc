import type { FileHandle } from "node:fs/promises";
import { MAX_BUNDLE_FILE_BYTES } from "../../core/bundle/bundle-tools.js";
import {
  type AliasPath,
  describeAliasPath,
  formatAliasPath,
  mountLabel,
} from "../../core/tools/alias-path.js";
import { listSome } from "../../core/text.js";
import { readPermittedChildren } from "../sandbox/directory-children.js";
import { Refusal } from "../sandbox/faults.js";
import { Pacer } from "../sandbox/pacer.js";
import { type PinnedEntry, openPinnedFile } from "../sandbox/pinned-entry.js";
import { type Trail, resolve } from "../sandbox/resolve.js";
import { TextCheck } from "../sandbox/text-bytes.js";
import { type Workspace, mountOf } from "../sandbox/workspace.js";

const MAX_SHOWN = 40;

/** A text file, whole. */
export interface TextFile {
  readonly text: string;
  readonly bytes: number;
}

/**
 * Reads a text file of at most 1 MiB. Throws `Refusal`: `ENOENT` with what the directory holds instead,
 * `E_SANDBOX_VIOLATION`, `E_READ_LIMIT`, `TOOL_ARGS_INVALID` for a directory or what is no UTF-8 text; or a system error.
 */
export async function readTextFile(workspace: Workspace, path: AliasPath): Promise<TextFile> {
  const trail = resolve(workspace, path, "read");
  try {
    const target = trail.entries.at(-1) ?? trail.entries[0];
    if (trail.missing.length > 0) throw await missing(workspace, path, trail, target);
    if (target.kind === "directory") {
      const holds = await contents(workspace, path, trail.names, target);
      throw new Refusal("TOOL_ARGS_INVALID", `${describeAliasPath(path)} is a directory. It holds ${holds}`);
    }
    return await readPinned(workspace, path, target);
  } finally {
    trail.close();
  }
}

async function missing(
  workspace: Workspace,
  path: AliasPath,
  trail: Trail,
  last: PinnedEntry,
): Promise<Refusal> {
  const sentence = `${describeAliasPath(path)} does not exist.`;
  if (last.kind !== "directory") return new Refusal("ENOENT", sentence);
  const directory = formatAliasPath({ mount: path.mount, segments: trail.names });
  const holds = await contents(workspace, path, trail.names, last);
  return new Refusal("ENOENT", `${sentence} ${directory} holds ${holds}`);
}

async function contents(
  workspace: Workspace,
  path: AliasPath,
  above: readonly string[],
  directory: PinnedEntry,
): Promise<string> {
  const pacer = new Pacer(Number.POSITIVE_INFINITY);
  const { names } = await readPermittedChildren(directory, mountOf(workspace, path), above, pacer);
  return names.length === 0 ? "nothing that can be read." : `${listSome(names, MAX_SHOWN)}.`;
}

async function readPinned(workspace: Workspace, path: AliasPath, target: PinnedEntry): Promise<TextFile> {
  const tooLarge = () =>
    new Refusal("E_READ_LIMIT", `${describeAliasPath(path)} is larger than ${MAX_BUNDLE_FILE_BYTES} bytes.`);
  if (target.stats.size > MAX_BUNDLE_FILE_BYTES) throw tooLarge();
  const handle = await openPinnedFile(workspace.pins, target);
  try {
    // One byte more than expected tells whether the file has grown since it was looked at.
    const expected = await readUpTo(handle, Number(target.stats.size) + 1);
    const isWhole = expected.length <= Number(target.stats.size);
    const bytes = isWhole ? expected : await readUpTo(handle, MAX_BUNDLE_FILE_BYTES + 1);
    if (bytes.length > MAX_BUNDLE_FILE_BYTES) throw tooLarge();
    return { text: asText(path, bytes), bytes: bytes.length };
  } finally {
    await handle.close();
  }
}

async function readUpTo(handle: FileHandle, count: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(count);
  let length = 0;
  while (length < count) {
    const { bytesRead } = await handle.read(buffer, length, count - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

function asText(path: AliasPath, bytes: Buffer): string {
  const check = new TextCheck();
  if (check.accept(bytes) === undefined || !check.ends()) {
    const sentence = `${describeAliasPath(path)} is not a UTF-8 text file. Only text can be read.`;
    throw new Refusal("TOOL_ARGS_INVALID", sentence);
  }
  return bytes.toString();
}

/** How a refused write is told: where to save instead. */
export function outsideSession(path: AliasPath): Refusal {
  const name = path.segments.at(-1) ?? "output.md";
  return new Refusal(
    "E_SANDBOX_VIOLATION",
    `Nothing is written to ${mountLabel(path.mount)}: only the session folder takes results. Save it as ${formatAliasPath({ mount: "session-folder", segments: [name] })}.`,
  );
}
