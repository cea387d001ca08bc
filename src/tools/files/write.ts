import {
  type AliasPath,
  describeAliasPath,
  formatAliasPath,
  mountLabel,
} from "../../core/tools/alias-path.js";
import type { ToolResult } from "../../core/tools/tool-result.js";
import type { WriteArguments } from "../../core/tools/tool-specs.js";
import { sha256 } from "../../store/disk/sha256.js";
import { Refusal } from "../sandbox/faults.js";
import { runTool, succeed } from "../sandbox/run-on-path.js";
import { checkContent } from "../sandbox/text-bytes.js";
import { type FileLimits, type Workspace, mountOf } from "../sandbox/workspace.js";
import { type Draft, type Rewrite, type Whole, type WriteHooks, writeDraft } from "./replace-file.js";

/**
 * `fs.write`: replaces a whole text file, or makes it and its directories; with `append` what is given follows what is there,
 * once, however often the call is repeated. Temporary file → fsync → rename →
 * fsync of the directory, under a lock that all writers with the same `lockDir` share, so that
 * `ifMatchSha256` is a compare-and-set. Mode and owner of a replaced file are kept, and one without write
 * permission is not replaced. A link in `@project` is followed: the file it leads to is replaced, not the link.
 *
 * Faults: `E_SANDBOX_VIOLATION` (also for `@pkg`, `@state/logs` and `@state/workflow.md`, which has a writer of
 * its own, and when the system denies permission), `E_WRITE_LIMIT` (the agent's limit, a full disk),
 * `E_PRECONDITION_FAILED` (`ifMatchSha256` does not match, the file is missing, or somebody who does not know
 * the lock changed it meanwhile), `TOOL_ARGS_INVALID` (a directory, content that UTF-8 cannot hold).
 */
export function writeFile(
  workspace: Workspace,
  args: WriteArguments,
  limits: Pick<FileLimits, "maxWriteBytes">,
  hooks: WriteHooks = {},
): Promise<ToolResult> {
  return runTool(args.path, "write", async (path) => {
    const { bytes, sha256 } = await writeText(workspace, path, args, limits, hooks);
    return succeed({ path: formatAliasPath(path), bytesWritten: bytes, sha256After: sha256 });
  });
}

/** As `writeFile`, for a path that is taken apart. Throws `Refusal`, a system error, or what a hook threw. */
export async function writeText(
  workspace: Workspace,
  path: AliasPath,
  text: Pick<WriteArguments, "content" | "ifMatchSha256" | "append">,
  limits: Pick<FileLimits, "maxWriteBytes">,
  hooks: WriteHooks,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const bytes = checkContent(text.content, limits.maxWriteBytes);
  if (!mountOf(workspace, path).writable) throw readOnly(path);
  const draft: Draft = {
    path,
    bytes,
    sha256: sha256(bytes),
    ifMatchSha256: text.ifMatchSha256?.toLowerCase(),
  };
  const whole = await writeDraft(
    workspace,
    text.append === true ? { ...draft, rewrite: appending(draft, limits.maxWriteBytes) } : draft,
    hooks,
  );
  hooks.written?.(whole.bytes);
  return { bytes: bytes.length, sha256: whole.sha256 };
}

/**
 * Replaces a file that is there by what `rewrite` makes of it, as `writeText` does. A repetition of the call finds what it has
 * written, and rewrites nothing. Throws as `writeText`, and `ENOENT`.
 */
export async function rewriteText(
  workspace: Workspace,
  path: AliasPath,
  text: { readonly rewrite: Rewrite; readonly ifMatchSha256?: string | undefined },
  hooks: WriteHooks,
): Promise<Whole> {
  if (!mountOf(workspace, path).writable) throw readOnly(path);
  const ifMatchSha256 = text.ifMatchSha256?.toLowerCase();
  const nothing = { bytes: Buffer.alloc(0), sha256: "" };
  const draft: Draft = { path, ...nothing, ifMatchSha256, rewrite: text.rewrite, mustExist: true };
  const whole = await writeDraft(workspace, draft, hooks);
  hooks.written?.(whole.bytes);
  return whole;
}

function appending({ path, bytes }: Draft, maxBytes: number): Rewrite {
  const from = (there: Buffer | undefined): Buffer => {
    if (there !== undefined && there.length + bytes.length <= maxBytes) return Buffer.concat([there, bytes]);
    const sentence = `${describeAliasPath(path)} would have more than ${maxBytes} bytes. Go on in another file.`;
    throw new Refusal("E_WRITE_LIMIT", sentence);
  };
  return { maxBytes, from };
}

function readOnly(path: AliasPath): Refusal {
  return new Refusal("E_SANDBOX_VIOLATION", `${mountLabel(path.mount)} is read-only.`);
}
