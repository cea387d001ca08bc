import { type Result, fail, ok } from "../../core/errors.js";
import { excerpt, listSome } from "../../core/text.js";
import type { LoadedPackage, LoadedWorkflow } from "./package-loader.js";

/** Picks the workflow that a reference names (contracts §4, rule 2). */
export function selectWorkflow(loaded: LoadedPackage, workflowRef: string): Result<LoadedWorkflow> {
  const declared = loaded.manifest.workflows ?? [];
  const choices =
    declared.length > 0
      ? loaded.workflows.filter((item) => declared.some(({ id }) => id === item.id))
      : loaded.workflows.filter((item) => item.isEntry);
  const ids = choices.map((item) => item.id);
  if (workflowRef === "") {
    const entry = choices[0];
    if (declared.length > 0 || entry === undefined) {
      return fail(
        "E_WORKFLOW_REF_REQUIRED",
        `The package lists its workflows, so one must be named: ${listSome(ids)}.`,
        { workflows: ids },
      );
    }
    return ok(entry);
  }
  const chosen = choices.find((item) => item.id === workflowRef);
  if (chosen === undefined) {
    return fail(
      "E_WORKFLOW_NOT_FOUND",
      `The package has no workflow "${excerpt(workflowRef)}". It has: ${listSome(ids)}.`,
      { workflows: ids },
    );
  }
  return ok(chosen);
}

/** Fault: `E_AGENT_NOT_FOUND` with the agents there are. */
export function findAgent<A extends { readonly id: string }>(
  loaded: { readonly agents: readonly A[] },
  agentId: string,
): Result<A> {
  const agent = loaded.agents.find((candidate) => candidate.id === agentId);
  if (agent !== undefined) return ok(agent);
  const agents = loaded.agents.map((candidate) => candidate.id);
  const sentence = `The package has no agent "${excerpt(agentId)}". It has: ${listSome(agents)}.`;
  return fail("E_AGENT_NOT_FOUND", sentence, { agents });
}
