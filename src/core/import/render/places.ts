import { foldPath, isLitter, packagePathProblem } from "../../package/package-path.js";
import type { Entry } from "../ways/entries.js";
import type { ImportFindings } from "../source/findings.js";
import { isBelow } from "../source/references.js";
import { type SourceTree, folderOf } from "../source/source-tree.js";

/** Bounds on what is taken along: a workflow with more lies in a folder that holds other things. */
const MAX_FILES = 2_000;
const MAX_CHARS = 32 * 1024 * 1024;
const OWN = new Set([
  "bmad.json",
  "agents.json",
  "workflow.md",
  "workflow.graph.json",
  "finished.md",
  "steps/workflow.md",
]);

/** Where each file of the source lies in the package. */
export class Places {
  private readonly bySource = new Map<string, string>();
  private readonly taken = new Set<string>();
  /** Looked up when everything was added. */
  private readonly byFolder = new Map<string, string | undefined>();
  private readonly folder: string;
  private readonly findings: ImportFindings;
  private chars = 0;

  /** `reserved` are names that the package needs beside those that each has. */
  constructor(entry: Entry, findings: ImportFindings, reserved: readonly string[]) {
    this.folder = folderOf(entry.document);
    this.findings = findings;
    for (const name of [...OWN, ...reserved]) this.taken.add(foldPath(name));
  }

  /** Takes a file along. What lies outside the workflow's folder lies in `shared/`, a called skill in `skills/`. */
  add(tree: SourceTree, path: string, below?: { readonly folder: string; readonly as: string }): void {
    if (this.bySource.has(path)) return;
    const place = this.freePlace(this.wanted(path, below));
    if (place === undefined) {
      this.findings.add("warning", path, 0, "was left out: its name cannot stand in a package");
      return;
    }
    this.chars += tree.text(path).length;
    if (this.bySource.size >= MAX_FILES || this.chars > MAX_CHARS) {
      const bound = `${MAX_FILES} files and ${MAX_CHARS} characters`;
      this.findings.add(
        "error",
        this.folder || ".",
        0,
        `holds more than ${bound}: import the folder of one workflow alone`,
      );
      return;
    }
    this.bySource.set(path, place);
    this.taken.add(foldPath(place));
  }

  private wanted(path: string, below: { readonly folder: string; readonly as: string } | undefined): string {
    if (isBelow(path, this.folder)) return this.folder === "" ? path : path.slice(this.folder.length + 1);
    if (below !== undefined)
      return `${below.as}/${path.slice(below.folder === "" ? 0 : below.folder.length + 1)}`;
    return `shared/${path}`;
  }

  /** No hidden names: they could not be listed. */
  private freePlace(wanted: string): string | undefined {
    const visible = wanted
      .split("/")
      .map((name) => name.replace(/^\.+/, "") || "_")
      .join("/");
    if (
      packagePathProblem(visible) !== undefined ||
      isLitter(wanted) ||
      !/^[\p{L}\p{N}\p{P}\p{S} ]+$/u.test(visible)
    )
      return undefined;
    if (!this.taken.has(foldPath(visible))) return visible;
    const aside = `source/${visible}`;
    return this.taken.has(foldPath(aside)) ? undefined : aside;
  }

  of(path: string): string | undefined {
    return this.bySource.get(path);
  }

  /** Where a folder of the source lies, if anything of it was taken along. */
  ofFolder(folder: string): string | undefined {
    if (!this.byFolder.has(folder)) this.byFolder.set(folder, this.findFolder(folder));
    return this.byFolder.get(folder);
  }

  private findFolder(folder: string): string | undefined {
    for (const [path, place] of this.bySource) {
      if (!isBelow(path, folder)) continue;
      const rest = folder === "" ? path : path.slice(folder.length + 1);
      if (place.endsWith(`/${rest}`)) return place.slice(0, -rest.length - 1);
      if (place === rest) return "";
    }
    return undefined;
  }

  entries(): Iterable<readonly [string, string]> {
    return this.bySource;
  }
}
