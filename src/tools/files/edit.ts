import { indexIn, splitAt } from "../../core/find-text.js";
import { describeAliasPath, formatAliasPath } from "../../core/tools/alias-path.js";
import type { ToolResult } from "../../core/tools/tool-result.js";
import type { EditArguments } from "../../core/tools/tool-specs.js";
import { Refusal } from "../sandbox/faults.js";
import { runTool, succeed } from "../sandbox/run-on-path.js";
import type { FileLimits, Workspace } from "../sandbox/workspace.js";
import type { WriteHooks } from "./replace-file.js";
import { rewriteText } from "./write.js";

/** Of the places where a text is found several times, named. */
const MAX_NAMED_LINES = 10;

/**
 * `fs.edit`: replaces a text in a file by another, byte for byte as they are given, under the same lock and rules as
 * `fs.write`. The text has to be there exactly once, or with `replaceAll` at least once; places do not overlap.
 *
 * Faults: `TOOL_ARGS_INVALID` with the lines where the text is not there, or there several times, and for a file that is no
 * UTF-8; `ENOENT`; `E_WRITE_LIMIT` where the file would have more bytes than the agent may write; and those of `fs.write`.
 */
export function editFile(
  workspace: Workspace,
  args: EditArguments,
  limits: Pick<FileLimits, "maxWriteBytes">,
  hooks: WriteHooks,
): Promise<ToolResult> {
  return runTool(args.path, "write", async (path) => {
    const name = describeAliasPath(path);
    let replaced: number | undefined;
    const { maxWriteBytes } = limits;
    const from = (there: Buffer | undefined): Buffer => {
      // Before it is looked at: a long file has many places.
      if (there === undefined || there.length > maxWriteBytes) throw tooLong(name, "has", maxWriteBytes);
      const pieces = splitAt(there.toString("utf8"), args.oldText);
      const count = pieces.length - 1;
      refuseMisplaced(pieces, args, name);
      const [before, after] = [args.oldText, args.newText].map((text) => Buffer.byteLength(text));
      if (there.length + count * ((after ?? 0) - (before ?? 0)) > maxWriteBytes) {
        throw tooLong(name, "would have", maxWriteBytes);
      }
      replaced = count;
      return Buffer.from(pieces.join(args.newText));
    };
    const { ifMatchSha256 } = args;
    const rewrite = { maxBytes: maxWriteBytes, from };
    const whole = await rewriteText(workspace, path, { rewrite, ifMatchSha256 }, hooks);
    return succeed({
      path: formatAliasPath(path),
      ...(replaced === undefined ? {} : { replacements: replaced }), // not known where an attempt before this one has written
      bytesWritten: whole.bytes.length,
      sha256After: whole.sha256,
    });
  });
}

function tooLong(name: string, has: string, maxBytes: number): Refusal {
  return new Refusal(
    "E_WRITE_LIMIT",
    `${name} ${has} more than ${maxBytes} bytes, which is what you may write.`,
  );
}

function refuseMisplaced(pieces: readonly string[], args: EditArguments, name: string): void {
  const count = pieces.length - 1;
  if (count === 0) {
    const [there, wanted] = [pieces[0] ?? "", args.oldText].map((text) => text.replaceAll(/\s+/gu, " "));
    const isNear = indexIn(there ?? "", wanted ?? "") !== -1;
    const hint = isNear ? " It is there with other white space." : "";
    const sentence = `oldText is not in ${name}: 0 matches.${hint} Read the file again and quote it to the character, indentation and line ends included.`;
    throw new Refusal("TOOL_ARGS_INVALID", sentence, { matches: 0 });
  }
  if (count === 1 || args.replaceAll === true) return;
  const lines = linesOf(pieces, args.oldText);
  const more = count > lines.length ? " and others" : "";
  const sentence = `oldText is in ${name} ${count} times, at lines ${lines.join(", ")}${more}. Quote more of what is around the one you mean, or set replaceAll.`;
  throw new Refusal("TOOL_ARGS_INVALID", sentence, { matches: count, lines });
}

/** The lines, from 1, where the first places begin. */
function linesOf(pieces: readonly string[], oldText: string): readonly number[] {
  const perMatch = oldText.split("\n").length - 1;
  let line = 1;
  return pieces.slice(0, Math.min(pieces.length - 1, MAX_NAMED_LINES)).map((piece) => {
    line += piece.split("\n").length - 1;
    const at = line;
    line += perMatch;
    return at;
  });
}
