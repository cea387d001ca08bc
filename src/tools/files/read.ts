import { type Hash, createHash } from "node:crypto";
import { closeSync, read, readSync } from "node:fs";
import { promisify } from "node:util";
import { type AliasPath, describeAliasPath, formatAliasPath } from "../../core/tools/alias-path.js";
import type { ToolResult } from "../../core/tools/tool-result.js";
import type { ReadArguments } from "../../core/tools/tool-specs.js";
import { SMALL_BYTES } from "../../store/disk/own-file.js";
import { Refusal } from "../sandbox/faults.js";
import { type PinnedEntry, type Pins, openPinnedFileSync } from "../sandbox/pinned-entry.js";
import { resolveExisting } from "../sandbox/resolve.js";
import { runTool, succeed } from "../sandbox/run-on-path.js";
import { TextCheck, wholeCharacters } from "../sandbox/text-bytes.js";
import type { FileLimits, Workspace } from "../sandbox/workspace.js";
import { counted } from "../../core/text.js";

/** Larger files are not hashed, and so neither read nor compared. */
export const MAX_HASHED_BYTES = 256 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

/**
 * `fs.read`: a text file, whole or a window of lines. `bytes` and `sha256` are those of the whole file. Lines
 * are what stands between `\n` characters (a `\r` belongs to its line, a byte-order mark to the first), so a
 * final newline is followed by one empty line, and a window is its lines joined by `\n`.
 *
 * Faults: `ENOENT`, `E_SANDBOX_VIOLATION`; `E_READ_LIMIT` for a window over the limit or a file over 256 MiB;
 * `TOOL_ARGS_INVALID` for a directory, for a file that is not text (a NUL byte or invalid UTF-8 anywhere: the
 * path is what was wrong in the call), and for a window that does not exist.
 */
export function readFile(
  workspace: Workspace,
  args: ReadArguments,
  limits: Pick<FileLimits, "maxReadBytes">,
): Promise<ToolResult> {
  return runTool(args.path, "read", async (path) => {
    const selection = select(args, path, limits.maxReadBytes);
    const { entry: target } = resolveExisting(workspace, path);
    try {
      refuseUnreadable(target, path);
      const read = await scan(workspace.pins, target, path, selection);
      return succeed({ path: formatAliasPath(path), ...read, ...selection.result(read.bytes) });
    } finally {
      target.close();
    }
  });
}

/** The part of a file that a call wants: it is shown every byte and keeps what belongs to it. */
interface Selection {
  readonly take: (chunk: Buffer) => void;
  readonly result: (fileBytes: number) => SelectedText;
}

type SelectedText =
  | { readonly truncated: false; readonly content: string }
  | { readonly truncated: true; readonly contentPreview: string; readonly hint: string };

function select(args: ReadArguments, path: AliasPath, maxBytes: number): Selection {
  const { startLine, endLine } = args;
  if (startLine === undefined && endLine === undefined) return new HeadSelection(maxBytes);
  if (startLine !== undefined && endLine !== undefined && startLine > endLine) {
    throw new Refusal("TOOL_ARGS_INVALID", `startLine ${startLine} is after endLine ${endLine}.`);
  }
  return new WindowSelection(path, startLine ?? 1, endLine ?? Number.POSITIVE_INFINITY, maxBytes);
}

class HeadSelection implements Selection {
  private readonly kept: Buffer[] = [];
  private keptBytes = 0;
  private readonly maxBytes: number;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  take(chunk: Buffer): void {
    const part = chunk.subarray(0, this.maxBytes + 1 - this.keptBytes); // one more tells where a cut falls
    if (part.length === 0) return;
    this.kept.push(Buffer.from(part));
    this.keptBytes += part.length;
  }

  result(fileBytes: number): SelectedText {
    const bytes = Buffer.concat(this.kept);
    if (fileBytes <= this.maxBytes) return { truncated: false, content: bytes.toString() };
    return {
      truncated: true,
      contentPreview: bytes.subarray(0, wholeCharacters(bytes, this.maxBytes)).toString(),
      hint: `The file has ${fileBytes} bytes, the limit is ${this.maxBytes}: this is its beginning. Find the place with fs.search, then read a window with startLine and endLine.`,
    };
  }
}

const NEWLINE = 0x0a;

class WindowSelection implements Selection {
  private readonly kept: Buffer[] = [];
  private keptBytes = 0;
  private line = 1;
  private readonly path: AliasPath;
  private readonly startLine: number;
  private readonly endLine: number;
  private readonly maxBytes: number;

  constructor(path: AliasPath, startLine: number, endLine: number, maxBytes: number) {
    this.path = path;
    this.startLine = startLine;
    this.endLine = endLine;
    this.maxBytes = maxBytes;
  }

  take(chunk: Buffer): void {
    let from = this.line >= this.startLine ? 0 : -1;
    for (let index = 0; index < chunk.length && this.line <= this.endLine; index += 1) {
      if (chunk[index] !== NEWLINE) continue;
      this.line += 1;
      if (this.line === this.startLine) from = index + 1;
      else if (this.line > this.endLine) {
        this.keep(chunk.subarray(Math.max(from, 0), index));
        return;
      }
    }
    if (from !== -1 && this.line <= this.endLine) this.keep(chunk.subarray(from));
  }

  private keep(part: Buffer): void {
    this.keptBytes += part.length;
    if (this.keptBytes <= this.maxBytes) this.kept.push(Buffer.from(part));
  }

  result(): SelectedText {
    if (this.line < this.startLine) {
      throw new Refusal(
        "TOOL_ARGS_INVALID",
        `${describeAliasPath(this.path)} has ${counted(this.line, "line")}: there is no line ${this.startLine}.`,
      );
    }
    if (this.keptBytes > this.maxBytes) {
      throw new Refusal(
        "E_READ_LIMIT",
        `The window has ${this.keptBytes} bytes, the limit is ${this.maxBytes}. Ask for fewer lines.`,
      );
    }
    return { truncated: false, content: Buffer.concat(this.kept).toString() };
  }
}

function refuseUnreadable(target: PinnedEntry, path: AliasPath): void {
  if (target.kind === "directory") {
    throw new Refusal("TOOL_ARGS_INVALID", `${describeAliasPath(path)} is a directory: use fs.list.`);
  }
  if (target.stats.size > MAX_HASHED_BYTES) throw tooLarge(path);
}

function tooLarge(path: AliasPath): Refusal {
  return new Refusal(
    "E_READ_LIMIT",
    `${describeAliasPath(path)} is larger than ${MAX_HASHED_BYTES} bytes and is not read. Use fs.search to find lines in it.`,
  );
}

async function scan(
  pins: Pins,
  target: PinnedEntry,
  path: AliasPath,
  selection: Selection,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash("sha256");
  const check = new TextCheck();
  const refuseBinary = () => {
    throw new Refusal(
      "TOOL_ARGS_INVALID",
      `${describeAliasPath(path)} is not a UTF-8 text file: fs.read gives text only.`,
    );
  };
  const bytes = await forEachChunk(pins, target, (chunk) => {
    if (check.accept(chunk) === undefined) refuseBinary();
    hash.update(chunk);
    selection.take(chunk);
  });
  if (bytes === undefined) throw tooLarge(path);
  if (!check.ends()) refuseBinary();
  return { bytes, sha256: hash.digest("hex") };
}

/** The SHA-256 of a pinned file; undefined when it is too large to be hashed. */
export async function hashFile(pins: Pins, target: PinnedEntry): Promise<string | undefined> {
  const hash: Hash = createHash("sha256");
  const bytes = await forEachChunk(pins, target, (chunk) => hash.update(chunk));
  return bytes === undefined ? undefined : hash.digest("hex");
}

/** The bytes of a pinned file; undefined when it is larger than what can be hashed. */
export async function readPinned(pins: Pins, target: PinnedEntry): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  const bytes = await forEachChunk(pins, target, (chunk) => chunks.push(Buffer.from(chunk)));
  return bytes === undefined ? undefined : Buffer.concat(chunks, bytes);
}

const readChunk = promisify(read);

/** Hands a file over in chunks that are valid during the call; its length, or undefined when over the limit. */
async function forEachChunk(
  pins: Pins,
  target: PinnedEntry,
  use: (chunk: Buffer) => unknown,
): Promise<number | undefined> {
  const fd = openPinnedFileSync(pins, target);
  try {
    const expected = Number(target.stats.size) + 1; // the one more finds the end without a second look
    const buffer = Buffer.allocUnsafe(Math.min(Math.max(expected, 1024), CHUNK_BYTES));
    for (let total = 0; total <= MAX_HASHED_BYTES;) {
      const bytesRead =
        total < SMALL_BYTES
          ? readSync(fd, buffer)
          : (await readChunk(fd, buffer, 0, buffer.length, null)).bytesRead;
      if (bytesRead === 0) return total;
      use(buffer.subarray(0, bytesRead));
      total += bytesRead;
    }
    return undefined;
  } finally {
    closeSync(fd);
  }
}
