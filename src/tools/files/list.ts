import { describeAliasPath, formatAliasPath } from "../../core/tools/alias-path.js";
import type { ToolResult } from "../../core/tools/tool-result.js";
import type { ListArguments } from "../../core/tools/tool-specs.js";
import {
  type Children,
  MAX_DIRECTORY_ENTRIES,
  readPermittedChildren,
} from "../sandbox/directory-children.js";
import { Refusal } from "../sandbox/faults.js";
import { Pacer } from "../sandbox/pacer.js";
import { resolveExisting } from "../sandbox/resolve.js";
import { runTool, succeed } from "../sandbox/run-on-path.js";
import { type Workspace, mountOf } from "../sandbox/workspace.js";

const MAX_LISTED = 200;

/**
 * `fs.list`: the direct children of a directory, sorted, directories with a trailing `/`. Left out: hidden
 * entries, links, protected names and names that are not UTF-8. Beyond 200 entries the result is a preview.
 * Faults: `ENOENT`, `E_SANDBOX_VIOLATION`; `TOOL_ARGS_INVALID` when the path is a file.
 */
export function listDirectory(workspace: Workspace, args: ListArguments): Promise<ToolResult> {
  return runTool(args.path, "read", async (path) => {
    const { entry: target, names } = resolveExisting(workspace, path);
    try {
      if (target.kind !== "directory") {
        throw new Refusal("TOOL_ARGS_INVALID", `${describeAliasPath(path)} is a file: use fs.read.`);
      }
      const pacer = new Pacer(Number.POSITIVE_INFINITY);
      const children = await readPermittedChildren(target, mountOf(workspace, path), names, pacer);
      const entries = children.names;
      const shown = { path: formatAliasPath(path) };
      if (entries.length <= MAX_LISTED && children.complete) return succeed({ ...shown, entries });
      return succeed({
        ...shown,
        entriesPreview: entries.slice(0, MAX_LISTED),
        truncated: true,
        hint: hint(entries.length, children),
      });
    } finally {
      target.close();
    }
  });
}

function hint(count: number, { complete }: Children): string {
  const total = complete ? `${count} entries` : `more than ${MAX_DIRECTORY_ENTRIES} entries`;
  return `The directory has ${total}; this is a part of them. List a subdirectory, or find files by their content with fs.search.`;
}
