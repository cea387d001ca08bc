import type { JsonObject } from "../../core/json.js";
import type { EngineLimits } from "../../core/run/limits.js";
import type { WantedModel } from "../../core/run/run-model.js";

/** An answer to the question that a run waits with. */
export interface RunAnswer {
  readonly nodeId: string;
  readonly text: string;
  readonly question?: string;
  readonly by?: string;
  readonly answerId?: string;
}

export const ANSWER_FIELDS: Readonly<Record<keyof RunAnswer, true>> = {
  nodeId: true,
  text: true,
  question: true,
  by: true,
  answerId: true,
};

/** Where a fork begins, and what it has of its own. With neither node nor visit it begins with the newest boundary, with both where both hold. */
export interface ForkRun {
  /** The new run begins at this node, as the old one entered it last. */
  readonly fromNode?: string;
  /** The new run begins as the old one was after this visit; 0 is the beginning. */
  readonly visit?: number;
  /** Variables to set. */
  readonly set?: JsonObject;
  /** Begin also where files of that moment cannot be restored in the other project. */
  readonly allowMissing?: boolean;
  /** Other models than the old run's. */
  readonly model?: WantedModel;
  /** Another project; absent means the old run's. */
  readonly projectRoot?: string;
  /** A UUID; made when absent. */
  readonly runId?: string;
}

export const FORK_FIELDS: Readonly<Record<keyof ForkRun, true>> = {
  fromNode: true,
  visit: true,
  set: true,
  allowMissing: true,
  model: true,
  projectRoot: true,
  runId: true,
};

/** What a run that is retried goes on with, where it is not what it had. */
export interface RetryChanges {
  readonly limits?: Partial<EngineLimits>;
  readonly model?: WantedModel;
}

export const CHANGES: Readonly<Record<keyof RetryChanges, true>> = { limits: true, model: true };
