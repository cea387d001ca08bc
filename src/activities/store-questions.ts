import { Context } from "@temporalio/activity";
import {
  type AnswerPage,
  type AskedPage,
  type StoreQuestionName,
  READ_SIGNATURE_MS,
  STORE_QUESTIONS,
  isChange,
  parseAsked,
} from "../contract/reads.js";
import { readStatement } from "../contract/signed.js";
import { type Failed, type Result, fail } from "../core/errors.js";
import { whyLost } from "../store/lost-store.js";
import { StoreAnswers } from "../reads/store-answers.js";
import type { ArtifactDeps } from "../reads/artifacts.js";
import type { SigningDeps } from "./signed-run.js";

/** A clock of another machine may be ahead by this. */
const CLOCK_SKEW_MS = 60_000;

type Answering = (asked: unknown) => Promise<Result<AnswerPage>>;

/**
 * What a store is asked for by whoever has nothing but Temporal: the only activities that need no workflow of ours. What they are
 * given is parsed here, and where starts are signed, so are they.
 */
export function storeQuestions(deps: ArtifactDeps & SigningDeps): Readonly<Record<string, Answering>> {
  const answers = new StoreAnswers(deps);
  const answering =
    (name: StoreQuestionName): Answering =>
    async (argument) => {
      const asked = parseAsked(argument);
      if (!asked.ok) return asked;
      const lost = await whyLost(deps.store);
      if (lost !== undefined) return fail("E_INTERNAL", lost);
      const refusal = await refusalOf(deps, name, asked.value, askingExecution());
      return refusal ?? answers.page(name, asked.value);
    };
  return Object.fromEntries(STORE_QUESTIONS.map((name) => [name, answering(name)]));
}

/** A signature changes the store for one execution only. */
function askingExecution(): string {
  const { activityId, activityRunId, workflowExecution } = Context.current().info;
  return `${workflowExecution?.runId ?? activityRunId ?? ""} ${activityId}`;
}

async function refusalOf(
  { signatures }: SigningDeps,
  name: StoreQuestionName,
  { question, page, until = "", signature }: AskedPage,
  execution: string,
): Promise<Failed | undefined> {
  if (signatures === undefined) return undefined;
  const left = Date.parse(until) - Date.now();
  const statement = { ...readStatement(name, until, { question, ...(page === undefined ? {} : { page }) }) };
  const isTimely = left > 0 && left <= READ_SIGNATURE_MS + CLOCK_SKEW_MS;
  const isSigned = await signatures.verifies(statement, signature);
  if (signature === undefined || !isSigned) return fail("E_PRECONDITION_FAILED", UNSIGNED);
  if (!isTimely) return fail("E_PRECONDITION_FAILED", LATE);
  if (!isChange(name) || (await signatures.admits(statement, signature, execution))) return undefined;
  return fail("E_PRECONDITION_FAILED", "This signature has changed the store before: each is good for once.");
}

const UNSIGNED =
  "This store takes signed starts only, and is asked only by who can sign: use interlock where the store is.";
const LATE =
  "The signature of this question is good no longer, or not yet. Ask again; should that not help, set the clocks of both machines.";
