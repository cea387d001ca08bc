import { defined } from "../defined.js";
import { directoryName, listedQuestion, listedText } from "../run/listed-texts.js";
import type { RunPhase } from "../run/phase.js";
import { questionIn } from "../run/question.js";
import type { RunRecord } from "./run-record.js";

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
          package: listedText(run.packageId),
          workflow: listedText(run.workflowRef),
          projectId: listedText(run.projectId),
        }),
    ...(input.projectRoot === undefined ? {} : { project: listedText(directoryName(input.projectRoot)) }),
    ...(input.parent === undefined ? {} : { parent: listedText(input.parent.runId) }),
    ...(nodeId === "" ? {} : { node: listedText(nodeId) }),
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
