import type { FailpointName } from "../../src/core/failpoint.js";
import type { TextPatch } from "../crash/armed-build.js";
import type { Verdict } from "./checker.js";
import type { PlannedRun } from "./plan.js";
import { LEFT_ALONE, type PlannedUser } from "./plan-user.js";
import type { PlannedCall } from "./plan-visits.js";

/** A build that is broken on purpose, and where its first worker is struck so that it shows. */
export interface Mutant {
  readonly name: string;
  readonly patches: readonly TextPatch[];
  readonly strike?: {
    readonly at: FailpointName;
    readonly hit: (run: PlannedRun) => number;
    readonly action: "kill" | "pause";
  };
  /** Which of a package's runs shows it; the first when absent. */
  readonly place?: number;
  /** Its run is pruned once it has ended. */
  readonly isPruned?: boolean;
  /** What is done to its runs; nothing when absent. */
  readonly user?: PlannedUser;
  /** What the checker has to say of its runs; one of these. */
  readonly verdicts: readonly Verdict[];
}

const ALWAYS = "true /* mutant */";
const PAUSED: PlannedUser = { pause: { after: 0, for: 10_000 } };
/** The run of the agent with tools from outside and a short context, and the bundle run. */
const [FAR, BUNDLE] = [3, 4];
const SHORT_OF_BUDGET: PlannedUser = { budget: { run: { turns: 2 }, raise: 1 } };

export const MUTANTS: readonly Mutant[] = [
  {
    name: "healthy",
    patches: [],
    strike: { at: "audit.recorded", hit: () => 5, action: "kill" },
    verdicts: ["ok"],
  },
  {
    name: "healthy-zombie",
    patches: [],
    strike: { at: "call.planned", hit: planOfFirstTransition, action: "pause" },
    verdicts: ["ok"],
  },
  {
    name: "audit-event-written-again",
    patches: [{ file: "store/runs/audit-log.ts", from: "!this.seen.has(identityOf(event))", to: ALWAYS }],
    strike: { at: "audit.recorded", hit: () => 5, action: "kill" },
    verdicts: ["doubled"],
  },
  {
    name: "audit-event-forgotten",
    patches: [
      {
        file: "tools/recorded-call.ts",
        from: "audit: await note(known)",
        to: 'audit: { lines: 0, sha256: "" }',
      },
    ],
    strike: { at: "call.recorded", hit: recordOfFirstTransition, action: "kill" },
    verdicts: ["lost"],
  },
  {
    name: "compare-and-set-ignored",
    patches: [
      {
        file: "store/runs/state-file.ts",
        from: "sha256(readOwnFileSync(path)) !== sha256Before",
        to: "false",
      },
      {
        file: "store/disk/fenced-lock.ts",
        from: "if (hasSuccessor(lockFile, generation)) throw",
        to: "if (false) throw",
      },
    ],
    strike: { at: "call.planned", hit: planOfFirstTransition, action: "pause" },
    verdicts: ["lost"],
  },
  {
    name: "journal-not-consulted",
    patches: [
      {
        file: "store/runs/call-journal.ts",
        from: "return (await this.findAll<R>([id])).get(id);",
        to: "return undefined;",
      },
      {
        file: "store/runs/call-journal.ts",
        from: "if (this.results.has(id)) return [];",
        to: "",
      },
    ],
    strike: { at: "call.recorded", hit: recordOfFirstTransition, action: "kill" },
    verdicts: ["doubled", "lost"],
  },
  {
    name: "plans-forgotten",
    patches: [
      {
        file: "store/runs/call-journal.ts",
        from: "const position = this.plans.get(id);",
        to: "const position = undefined;",
      },
    ],
    strike: { at: "write.renamed", hit: writeOfFirstArtifact, action: "kill" },
    verdicts: ["lost"],
  },
  {
    name: "answer-asked-for-again",
    patches: [
      {
        file: "activities/model-turn.ts",
        from: "let entry = await conversation.findAnswer(input.visit, input.turn);",
        to: "let entry;",
      },
    ],
    strike: { at: "model.answer-written", hit: () => 2, action: "kill" },
    // The request then holds the answer it asks for, which the script does not know.
    verdicts: ["doubled", "lost"],
  },
  {
    name: "artifact-not-recorded",
    patches: [
      { file: "tools/graph/artifact-write.ts", from: "if (artifact === undefined)", to: `if (${ALWAYS})` },
    ],
    verdicts: ["lost"],
  },
  {
    name: "words-said-twice",
    patches: [
      { file: "store/runs/conversation.ts", from: "this.known.has(identityOf(last))", to: "false" },
      { file: "store/runs/conversation.ts", from: "!this.known.has(identityOf(entry))", to: ALWAYS },
    ],
    strike: { at: "input.written", hit: () => 1, action: "kill" },
    verdicts: ["doubled"],
  },
  {
    name: "temporary-files-left",
    patches: [
      {
        file: "store/disk/atomic-file.ts",
        from: "if (file === basename(path)) removeIfPresent(temporary);",
        to: "",
      },
    ],
    strike: { at: "file.temporary-synced", hit: () => 6, action: "kill" },
    verdicts: ["doubled"],
  },
  {
    name: "healthy-steered",
    patches: [],
    strike: { at: "audit.recorded", hit: () => 5, action: "kill" },
    user: { ...PAUSED, ...SHORT_OF_BUDGET, cancel: { after: 12_000 } },
    verdicts: ["ok"],
  },
  {
    name: "pause-not-obeyed",
    patches: [{ file: "core/engine/waits.ts", from: "if (record.carried.paused)", to: "if (false)" }],
    user: PAUSED,
    verdicts: ["doubled"],
  },
  {
    name: "budget-not-obeyed",
    patches: [{ file: "core/engine/waits.ts", from: ': "budget"', to: ": undefined" }],
    user: SHORT_OF_BUDGET,
    verdicts: ["doubled"],
  },
  {
    name: "raise-lost-when-continued",
    patches: [
      {
        file: "workflows/continue-run-as-new.ts",
        from: "carried: record.handedOn",
        to: "carried: { ...record.handedOn, budget: record.input.budget ?? {} }",
      },
    ],
    user: { budget: { run: { turns: 2 }, raise: 30 } },
    verdicts: ["lost"],
  },
  {
    name: "raise-counted-again-when-continued",
    patches: [
      {
        file: "core/engine/run-updates.ts",
        from: "return carried.raises?.includes(updateId) ?? false;",
        to: "return false;",
      },
    ],
    user: { budget: { run: { turns: 1 }, raise: 1 } },
    verdicts: ["doubled"],
  },
  {
    name: "healthy-far",
    patches: [],
    place: FAR,
    isPruned: true,
    strike: { at: "tool.answered", hit: () => 1, action: "kill" },
    verdicts: ["ok"],
  },
  {
    name: "healthy-bundle",
    patches: [],
    place: BUNDLE,
    strike: { at: "call.recorded", hit: () => 2, action: "kill" },
    user: SHORT_OF_BUDGET,
    verdicts: ["ok"],
  },
  {
    name: "effect-repeated",
    patches: [
      {
        file: "tools/external/external-call.ts",
        from: 'if (external.effect === "once" && files.calls.planOf(call.id) !== undefined)',
        to: "if (false)",
      },
      { file: "tools/external/external-call.ts", from: "!(await files.calls.claim(call.id))", to: "false" },
    ],
    place: FAR,
    strike: { at: "tool.answered", hit: () => 1, action: "kill" },
    verdicts: ["doubled"],
  },
  {
    name: "call-outside-not-made",
    patches: [
      {
        file: "tools/external/external-call.ts",
        from: "const answer = await answerOf(tool, args, asked);",
        to: 'const answer = { content: "made" } as never; void answerOf;',
      },
    ],
    place: FAR,
    verdicts: ["lost"],
  },
  {
    name: "context-outgrown",
    patches: [
      {
        file: "activities/model-turn.ts",
        from: "if (fold !== undefined) return writeFold(conversation, fold);",
        to: "",
      },
    ],
    place: FAR,
    verdicts: ["lost"],
  },
  {
    name: "nobody-told",
    patches: [
      { file: "notify/notifier.ts", from: "if (notice === undefined) return;", to: "if (notice) return;" },
    ],
    verdicts: ["lost"],
  },
  {
    name: "told-by-other-ids",
    patches: [
      {
        file: "notify/notifier.ts",
        from: "send(webhook, noticeIdOf(ref), notice)",
        to: "send(webhook, `${noticeIdOf(ref)}-${process.pid}`, notice)",
      },
    ],
    verdicts: ["lost"],
  },
  {
    name: "session-not-marked",
    patches: [
      {
        file: "store/runs/bundle-session.ts",
        from: 'manifest.status === "complete" || manifest.status === status',
        to: ALWAYS,
      },
    ],
    place: BUNDLE,
    verdicts: ["lost"],
  },
  {
    name: "pruned-run-left",
    patches: [
      { file: "store/runs/prune-runs.ts", from: "await discard(projectDir, runId);", to: "void discard;" },
    ],
    isPruned: true,
    verdicts: ["doubled"],
  },
  {
    name: "garbage-left",
    patches: [{ file: "store/collect-garbage.ts", from: "unused.push(packageId);", to: "void packageId;" }],
    verdicts: ["doubled"],
  },
  {
    name: "package-in-use-collected",
    patches: [
      { file: "store/collect-garbage.ts", from: "used.has(packageId)", to: "false" },
      {
        file: "store/collect-garbage.ts",
        from: "(await store.runs.listAllRuns()).some((run) => run.packageId === packageId)",
        to: "[store, packageId].length === 0",
      },
    ],
    verdicts: ["lost"],
  },
];

/** The run as it is to be for a mutant: only that is done to it which shows the mutant. */
export function steeredFor({ user = LEFT_ALONE, isPruned = false }: Mutant, run: PlannedRun): PlannedRun {
  return { ...run, user, isPruned };
}

function callsOf(run: PlannedRun): readonly PlannedCall[] {
  return run.visits.flatMap(({ turns }) => turns).flatMap((turn) => ("calls" in turn ? turn.calls : []));
}

/** The calls before the save that ends the first visit, itself included. */
function callsOfFirstVisit(run: PlannedRun): readonly PlannedCall[] {
  return callsOf({ ...run, visits: run.visits.slice(0, 1) });
}

/** A write plans once, one that makes an artifact once more for its record; a save plans once. */
function planOfFirstTransition(run: PlannedRun): number {
  const made = new Set(Object.keys(run.filesBefore));
  let plans = 0;
  for (const { write, name, expect } of callsOfFirstVisit(run)) {
    if (expect !== "ok" || (write === undefined && name !== "fs_apply_patch")) continue;
    plans += 1;
    const path = write?.path.replace("@project/", "") ?? "";
    if (path.startsWith("artifacts/") && !made.has(path)) plans += 1;
    made.add(path);
  }
  return plans;
}

function recordOfFirstTransition(run: PlannedRun): number {
  return callsOfFirstVisit(run).length;
}

function writeOfFirstArtifact(run: PlannedRun): number {
  const writes = callsOf(run).filter(({ write, expect }) => write !== undefined && expect === "ok");
  const first = `@project/${run.end.artifacts[0] ?? ""}`;
  return 1 + writes.findIndex(({ write }) => write?.path === first);
}

/** Whether every mutant shows in this run. */
export function isTelling(run: PlannedRun): boolean {
  const hasQuestion = run.visits.some(({ turns }) => turns.some((turn) => "question" in turn));
  if (run.kind === "bundle") return hasQuestion;
  return hasQuestion && run.end.artifacts.length >= 2 && run.visits.length >= 3 && run.visits.length <= 5;
}
