import { basename } from "node:path";
import { agentPlace } from "../../core/bundle/agent-place.js";
import { type Result, fail, ok } from "../../core/errors.js";
import { excerpt } from "../../core/text.js";
import type { PermittedRoot, Roots } from "../../store/roots/roots.js";

/** The host paths that a bundle run is started with. */
interface NamedRoots {
  readonly projectRoot: string;
  readonly bundleRoot: string;
  readonly coreRoot?: string | undefined;
  /** Of several agents in a JSON file one may be named: `agents.json#iris`. */
  readonly agentFile?: string | undefined;
  /** It may not exist yet. */
  readonly outputRoot?: string | undefined;
}

/**
 * The real paths of what a bundle run may open. Faults, for the operator: `E_SANDBOX_VIOLATION` for what is not registered,
 * `E_PROJECT_INVALID` and `E_AGENT_NOT_FOUND` for what is and does not exist.
 */
export function permittedBundle(roots: Roots, named: NamedRoots): Result<NamedRoots> {
  const places = {
    projectRoot: pathOf(roots.permit(named.projectRoot, "write")),
    bundleRoot: pathOf(roots.permit(named.bundleRoot, "read")),
    coreRoot: unless(named.coreRoot, (path) => pathOf(roots.permit(path, "read"))),
    agentFile: unless(named.agentFile, (path) => pathOf(permittedAgent(roots, path))),
    outputRoot: unless(named.outputRoot, (path) => pathOf(roots.permit(path, "write", { kind: "maybe" }))),
  };
  const paths: Record<string, string> = {};
  for (const [name, place] of Object.entries(places)) {
    if (place === undefined) continue;
    if (!place.ok) return place;
    paths[name] = place.value;
  }
  return ok({ ...named, ...paths });
}

function unless(
  path: string | undefined,
  permit: (path: string) => Result<string>,
): Result<string> | undefined {
  return path === undefined ? undefined : permit(path);
}

function pathOf(permitted: Result<PermittedRoot>): Result<string> {
  return permitted.ok ? ok(permitted.value.path) : permitted;
}

/** An agent's file, its path with the agent that is named in it. Faults: `E_SANDBOX_VIOLATION`, `E_AGENT_NOT_FOUND`. */
export function permittedAgent(roots: Roots, agentFile: string): Result<PermittedRoot> {
  const { path, agent } = agentPlace(agentFile);
  const permitted = roots.permit(path, "read", { kind: "file" });
  if (permitted.ok) {
    const { path: real, identity } = permitted.value;
    return ok({ path: agent === undefined ? real : `${real}#${agent}`, identity });
  }
  if (permitted.error.code !== "E_PROJECT_INVALID") return permitted;
  return fail("E_AGENT_NOT_FOUND", `The agent file ${excerpt(basename(path))} cannot be read.`);
}
