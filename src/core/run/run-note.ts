import { defined } from "../defined.js";
import { printable } from "../printable.js";
import { cutText } from "../text.js";
import type { RunPhase } from "./phase.js";
import { questionIn } from "./question.js";
import type { RunRecord } from "./run-record.js";

const MAX_CHARS = 150;

/** What a listing shows of a run: short texts on one line each. `since` is when it came into its phase, ISO. */
export interface RunNote {
  readonly runId: string;
  readonly phase: RunPhase;
  readonly paused?: true;
  readonly package?: string;
  readonly workflow?: string;
  readonly projectId?: string;
  readonly project?: string;
  readonly parent?: string;
  readonly node?: string;
  readonly question?: string;
  readonly asked?: string;
  readonly code?: string;
  readonly since: string;
}

/** The run as a listing shows it. */
export function runNote(record: RunRecord, since: string): RunNote {
  const { carried, open, input, nodeId, question } = record;
  const run = open?.run;
  return {
    runId: input.runId,
    phase: carried.phase,
    ...(carried.paused ? { paused: true } : {}),
    ...(run === undefined
      ? {}
      : {
          package: short(run.packageId),
          workflow: short(run.workflowRef),
          projectId: short(run.projectId),
        }),
    ...(input.projectRoot === undefined ? {} : { project: short(directoryName(input.projectRoot)) }),
    ...(input.parent === undefined ? {} : { parent: short(input.parent.runId) }),
    ...(nodeId === "" ? {} : { node: short(nodeId) }),
    ...(question === undefined
      ? {}
      : {
          question: listedQuestion(question.text),
          asked: questionIn(carried),
          ...defined({ code: question.code }),
        }),
    since,
  };
}

/** A question as a listing shows it. */
export function listedQuestion(text: string): string {
  return short(firstLine(text));
}

/** The first line of a text that says anything. */
export function firstLine(text: string): string {
  return (
    text
      .split(/[\r\n]+/)
      .map((line) => line.trim())
      .find((line) => line !== "") ?? ""
  );
}

/** The name of a directory, on whatever system it lies. */
export function directoryName(root: string): string {
  return root.split(/[/\\]/).findLast((part) => part !== "") ?? root;
}

function short(text: string): string {
  return cutText(printable(text.slice(0, 2 * MAX_CHARS).toWellFormed()), MAX_CHARS);
}
