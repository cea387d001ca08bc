import type { References, Target } from "../source/references.js";
import { folderOf } from "../source/source-tree.js";
import type { StepNames } from "../words/step-names.js";

/** The file that a key of a front matter names by its path, or in another way. */
export function targetOfKey(value: string, path: string, references: References, names: StepNames): Target {
  const target = references.resolve(value.replace(/#[\w-]*$/, ""));
  const beside = /^\{\{?(?!project[-_]root)[\w-]{1,80}\}?\}\/(?:[^{}]*\/)?([^/{}]+\.md)$/.exec(value)?.[1];
  if (target.kind === "other" && beside !== undefined)
    return { kind: "missing", path: `${folderOf(path)}/${beside}` };
  if (target.kind === "file" || target.kind === "missing" || value.includes("/")) return target;
  const [only, ...others] = names.called(value, path);
  if (only !== undefined && others.length === 0) return { kind: "file", path: only };
  const isNone =
    /^(?:|null|none|n\/?a|end|complete|done|final|-+)$/i.test(value.trim()) || /[{}[\]]/.test(value);
  return isNone ? target : { kind: "missing", path: value };
}
