import { type JsonObject, objectOf, textOf } from "../core/json.js";
import type { Decision, RunPredicate } from "./statement.js";

/** What the lines of an audit log say of how a run went. */
export interface AuditStory extends Pick<RunPredicate, "path" | "decisions" | "answers" | "models"> {
  /** The SHA-256 that each file had when the run wrote it last, by its path in the project, or in `{session-folder}/`. */
  readonly written: ReadonlyMap<string, string>;
  /** The SHA-256 of the state document after its last change by a tool; what the engine changes in it, the log does not tell. */
  readonly document: string | undefined;
}

const DOCUMENT = "@state/workflow.md";
/** How a path in the project begins that would be read as something else without it. */
export const PROJECT = "@project/";
/** Where a bundle run's results lie. */
export const SESSION_SUBJECTS = "{session-folder}/";
const STATE_TOOLS: readonly unknown[] = ["fs.write", "fs.apply_patch"];

/** Reads the story out of the lines of a log, in their order; lines that are no events are undefined. Pure. */
export function storyOf(lines: readonly (JsonObject | undefined)[]): AuditStory {
  const path: RunPredicate["path"] = [];
  const decisions: Decision[] = [];
  const answers: RunPredicate["answers"] = [];
  const models = new Map<string, { names: Set<string>; turns: number }>();
  const written = new Map<string, string>();
  let document: string | undefined;
  const stand = (nodeId: string, seq: number): void => {
    if (nodeId !== "" && path.at(-1)?.nodeId !== nodeId) path.push({ seq, nodeId });
  };
  for (const [index, line] of lines.entries()) {
    const seq = index + 1;
    const nodeId = textOf(line?.["nodeId"]);
    if (line?.["kind"] === "model.turn") {
      stand(nodeId, seq);
      const known = models.get(nodeId) ?? { names: new Set(), turns: 0 };
      known.names.add(textOf(line["model"]));
      models.set(nodeId, { ...known, turns: known.turns + 1 });
    }
    if (line?.["kind"] === "user.input") answers.push(answerOf(line, seq, nodeId));
    if (line?.["kind"] === "node.pass") {
      const to = textOf(line["next"]);
      stand(nodeId, seq);
      decisions.push({ seq, nodeId, verdict: "accepted", to });
      stand(to, seq);
    }
    if (line?.["kind"] !== "tool.exec") continue;
    const decision = decisionOf(line, seq, nodeId);
    if (decision !== undefined) {
      decisions.push(decision);
      if (decision.verdict === "accepted") document = textOf(objectOf(line["output"])["sha256After"]);
      if (decision.verdict === "accepted" && decision.to !== undefined) stand(decision.to, seq);
    }
    const file = writtenBy(line);
    if (file !== undefined) written.set(file.name, file.sha256);
  }
  const byNode = [...models].map(([nodeId, { names, turns }]) => ({ nodeId, models: [...names], turns }));
  return { path, decisions, answers, models: byNode, written, document };
}

/** Of a call that would change the state document: what the guard said of it. */
function decisionOf(line: JsonObject, seq: number, nodeId: string): Decision | undefined {
  if (!STATE_TOOLS.includes(line["toolName"])) return undefined;
  const input = objectOf(line["input"]);
  const output = objectOf(line["output"]);
  const error = objectOf(output["error"]);
  const code = textOf(error["code"]);
  const isDocument = [input["path"], output["path"]].includes(DOCUMENT);
  if (!isDocument && code !== "E_INVALID_TRANSITION") return undefined;
  const wanted = objectOf(objectOf(objectOf(input["patch"])["update"])["currentNodeId"])["set"];
  const to = textOf(objectOf(error["details"])["to"]) || textOf(wanted);
  return {
    seq,
    nodeId,
    verdict: output["ok"] === true ? "accepted" : "refused",
    ...(to === "" ? {} : { to }),
    ...(code === "" ? {} : { code }),
  };
}

/** Of a call that has written a file of the project, or saved one of a bundle run's session. */
function writtenBy(line: JsonObject): { readonly name: string; readonly sha256: string } | undefined {
  const output = objectOf(line["output"]);
  const path = textOf(output["path"]);
  if (line["toolName"] === "save_output") {
    const sha256 = textOf(objectOf(objectOf(line["input"])["content"])["sha256"]);
    return output["success"] === true && path.startsWith(SESSION_SUBJECTS)
      ? { name: path, sha256 }
      : undefined;
  }
  const sha256 = textOf(output["sha256After"]);
  return path.startsWith(PROJECT) && sha256 !== "" ? { name: path.slice(PROJECT.length), sha256 } : undefined;
}

function answerOf(line: JsonObject, seq: number, nodeId: string): RunPredicate["answers"][number] {
  const { sha256 } = objectOf(objectOf(line["input"])["content"]);
  const by = textOf(line["by"]);
  return {
    seq,
    at: textOf(line["ts"]),
    nodeId,
    ...(by === "" ? {} : { by }),
    digest: { sha256: textOf(sha256) },
  };
}
