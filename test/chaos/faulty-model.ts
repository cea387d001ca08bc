import { type ScriptedAnswer, ScriptedModel } from "../fakes/scripted-model.js";
import type { ModelRequest } from "./evidence.js";
import type { ChaosPlan } from "./plan.js";
import { type Random, randomFrom } from "./random.js";
import { locate } from "./script.js";

/** How long a worker waits for an answer. */
export const MODEL_TIMEOUT_SECONDS = 6;

/** What a model's endpoint does instead of answering. */
export const MODEL_FAULTS = [
  "429",
  "429 with Retry-After",
  "500",
  "hang",
  "cut answer",
  "cut stream",
  "malformed JSON",
  "late answer",
] as const;
type ModelFault = (typeof MODEL_FAULTS)[number];

/** A turn is refused this often at most: no run fails by it. */
const MOST_FAULTS_PER_TURN = 3;
const FAULT_PROBABILITY = 0.15;
/** A full disk is given time. */
const PAUSE_BEFORE_REPEAT_MS = 1_500;

export interface FaultyModel {
  readonly baseUrl: string;
  readonly requests: readonly ModelRequest[];
  readonly faults: ReadonlyMap<string, number>;
  /** From now on it only answers. */
  calm(): void;
  close(): Promise<void>;
}

/** A model that walks the plan, and an endpoint that has bad moments. */
export async function startFaultyModel(plan: ChaosPlan, isFaulty: boolean): Promise<FaultyModel> {
  const requests: ModelRequest[] = [];
  const faults = new Map<string, number>();
  const asked = new Map<string, number>();
  let isCalm = !isFaulty;
  const model = await ScriptedModel.start((body, index, { apiKey, ended }) => {
    const name = `answer-${index}`;
    const found = locate(plan, body);
    const common = { worker: apiKey, at: Date.now(), name, runId: found.run?.runId ?? "" };
    if ("deviation" in found) {
      requests.push({ ...common, turn: "", deviation: found.deviation });
      return { status: 418 };
    }
    const { visit, turn, repeats, run } = found;
    const place = `${visit}.${turn}.${repeats}`;
    const key = `${run.runId}/${place}`;
    const count = (asked.get(key) ?? 0) + 1;
    asked.set(key, count);
    const isFirst = (kind: ModelFault) => !faults.has(kind);
    const fault = isCalm
      ? undefined
      : faultOf(randomFrom(`${plan.seed}/${key}/${count}`), count, body.stream === true, isFirst);
    const request: ModelRequest = { ...common, turn: place, ...(fault === undefined ? {} : { fault }) };
    requests.push(request);
    if (fault !== undefined) faults.set(fault, (faults.get(fault) ?? 0) + 1);
    void noteEnd(request, ended);
    const pause = repeats > 0 ? { afterMs: PAUSE_BEFORE_REPEAT_MS } : {};
    return withFault(fault, { ...found.answer, model: name, ...pause });
  });
  return {
    baseUrl: model.baseUrl,
    requests,
    faults,
    calm() {
      isCalm = true;
    },
    close: () => model.close(),
  };
}

async function noteEnd(request: ModelRequest, ended: Promise<boolean>): Promise<void> {
  if (await ended) request.answeredAt = Date.now();
}

/** Each kind happens once before any happens again, however short the time is. */
function faultOf(
  random: Random,
  count: number,
  isStream: boolean,
  isFirst: (kind: ModelFault) => boolean,
): ModelFault | undefined {
  if (count > MOST_FAULTS_PER_TURN || !random.chance(FAULT_PROBABILITY)) return undefined;
  const possible = MODEL_FAULTS.filter((fault) => fault !== (isStream ? "cut answer" : "cut stream"));
  const unseen = possible.filter(isFirst);
  return random.pick(unseen.length > 0 ? unseen : possible);
}

function withFault(fault: ModelFault | undefined, answer: ScriptedAnswer): ScriptedAnswer {
  switch (fault) {
    case undefined:
      return answer;
    case "429":
      return { status: 429 };
    case "429 with Retry-After":
      return { status: 429, headers: { "retry-after": "1" } };
    case "500":
      return { status: 500 };
    case "hang":
      return { hang: true };
    case "cut answer":
    case "cut stream":
      return { ...answer, cut: true };
    case "malformed JSON":
      return { status: 200, body: '{"choices": [{"message": {"role": "assis' };
    case "late answer":
      return { ...answer, afterMs: (MODEL_TIMEOUT_SECONDS + 1) * 1_000 };
  }
}
