import { test } from "vitest";
import { runChaos } from "./chaos.js";
import { checkRuns, checkStore } from "./checker.js";
import { countVerdicts, reasonsToRefuse } from "./judge.js";

const env = process.env;
const seed = env["INTERLOCK_CHAOS_SEED"] ?? String(Date.now() % 1_000_000);
const runs = Number(env["INTERLOCK_CHAOS_RUNS"] ?? 200);
const minutes = Number(env["INTERLOCK_CHAOS_MINUTES"] ?? 5);
const workers = Number(env["INTERLOCK_CHAOS_WORKERS"] ?? 3);
const keep = env["INTERLOCK_CHAOS_KEEP"] === "true";

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

test("every run comes to the end its script knows", async () => {
  const aftermath = await runChaos({ seed, runs, minutes, workers, say });
  const { evidence } = aftermath;
  const verdicts = await checkRuns(evidence);
  const ofStore = await checkStore(evidence.storeDir);
  for (const { runId, verdict, findings } of verdicts) {
    if (verdict === "ok") continue;
    say(`${runId} ${verdict}`);
    for (const { kind, sentence } of findings) say(`  ${kind}: ${sentence}`);
  }
  const retried = evidence.operations.filter(({ failures }) => failures.length > 0);
  for (const { runId, failures } of retried) say(`${runId} was retried after ${failures.join("; ")}`);
  say(`seed ${seed}: ${JSON.stringify(countVerdicts(verdicts))}, ${retried.length} runs retried`);
  for (const [what, count] of Object.entries(aftermath.figures)) say(`  ${count} ${what}`);
  say(`  failpoints passed: ${JSON.stringify(evidence.figures.hits)}`);
  say(`  killed or stopped at: ${JSON.stringify(evidence.figures.struck)}`);
  const reasons = reasonsToRefuse(verdicts, ofStore, evidence.figures);
  if (keep || reasons.length > 0) say(`The evidence is in ${aftermath.dir}`);
  else await aftermath.remove();
  if (reasons.length > 0) throw new Error(`Chaos with seed ${seed} does not pass. ${reasons.join(" ")}`);
}, 0);
