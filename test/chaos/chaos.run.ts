import { expect, test } from "vitest";
import { runChaos } from "./chaos.js";
import { checkStore } from "./check-store.js";
import { checkRuns } from "./checker.js";
import { type Evidence, readEvidence } from "./evidence.js";
import { countVerdicts, reasonsToRefuse } from "./judge.js";

const env = process.env;
/** The directory of an earlier chaos run, to be checked once more. */
const earlier = env["INTERLOCK_CHAOS_CHECK"] ?? "";

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Says what was found; gives the reasons for which it does not pass. */
async function check(evidence: Evidence): Promise<readonly string[]> {
  const { plan, operations, figures } = evidence;
  const verdicts = await checkRuns(evidence);
  for (const { runId, verdict, findings } of verdicts) {
    if (verdict === "ok") continue;
    say(`${runId} ${verdict}`);
    for (const { kind, sentence } of findings) say(`  ${kind}: ${sentence}`);
  }
  const retried = operations.filter(({ failures }) => failures.length > 0);
  for (const { runId, failures } of retried) say(`${runId} was retried after ${failures.join("; ")}`);
  say(`failpoints passed: ${JSON.stringify(figures.hits)}`);
  say(`killed or stopped at: ${JSON.stringify(figures.struck)}`);
  for (const [what, count] of Object.entries(figures.faults)) say(`${count} × ${what}`);
  say(`seed ${plan.seed}: ${JSON.stringify(countVerdicts(verdicts))}, ${retried.length} runs retried`);
  return reasonsToRefuse(verdicts, await checkStore(evidence), figures);
}

async function perform(): Promise<readonly string[]> {
  const aftermath = await runChaos({
    seed: env["INTERLOCK_CHAOS_SEED"] ?? "1",
    runs: Number(env["INTERLOCK_CHAOS_RUNS"] ?? 200),
    minutes: Number(env["INTERLOCK_CHAOS_MINUTES"] ?? 5),
    workers: Number(env["INTERLOCK_CHAOS_WORKERS"] ?? 4),
    mayMount: env["INTERLOCK_CHAOS_MOUNT"] !== "false",
    others: (env["INTERLOCK_CHAOS_BESIDE"] ?? "").split(",").filter((dir) => dir !== ""),
    say,
  });
  const reasons = await check(aftermath.evidence);
  for (const [what, count] of Object.entries(aftermath.counts)) say(`${count} × ${what}`);
  if (env["INTERLOCK_CHAOS_KEEP"] === "true" || reasons.length > 0) {
    say(`The evidence is in ${aftermath.dir}`);
  } else await aftermath.remove();
  return reasons;
}

test("every run comes to the end its script knows", async () => {
  const reasons = earlier === "" ? await perform() : await check(await readEvidence(earlier));
  if (reasons.length > 0) say(`The chaos run does not pass. ${reasons.join(" ")}`);
  expect(reasons).toEqual([]);
}, 0);
