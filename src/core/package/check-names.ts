import { isPrintable } from "../printable.js";
import { type Finding, errorFinding, jsonPath, quote } from "./findings.js";
import type { Agent, Manifest } from "./schemas.js";

/** What of a package is shown in lists, and where it stands. */
interface NamedParts {
  readonly manifest: Manifest;
  readonly agents: readonly Agent[];
  readonly workflows: readonly { readonly id: string; readonly workflowFile: string }[];
}

/**
 * Names that a list would show, and none of whose characters may hide or move others: of the package, its workflows, its
 * agents and its files. Asked of a package that is new; one that is installed stays as it is.
 */
export function checkNames(parts: NamedParts, files: readonly string[]): readonly Finding[] {
  const { manifest, agents, workflows } = parts;
  const agentsFile = manifest.entry.agents;
  const names: readonly (readonly [file: string, path: string, text: string | undefined])[] = [
    ["bmad.json", "$.name", manifest.name],
    ...(manifest.workflows ?? []).map(
      ({ displayName }, index) =>
        ["bmad.json", jsonPath(["workflows", index, "displayName"]), displayName] as const,
    ),
    ...workflows.map(({ id, workflowFile }) => [workflowFile, "$.workflowType", id] as const),
    ...agents.flatMap(({ metadata }, index) =>
      (["name", "title", "icon"] as const).map(
        (key) => [agentsFile, jsonPath(["agents", index, "metadata", key]), metadata[key]] as const,
      ),
    ),
    ...files.map((file) => [file, "$", file] as const),
  ];
  return names
    .filter(([, , text]) => text !== undefined && !isPrintable(text))
    .map(([file, path, text = ""]) =>
      errorFinding(
        file,
        path,
        `the name ${quote(text)} holds a control, direction or invisible character: remove it`,
      ),
    );
}
