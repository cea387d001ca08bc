import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DefaultLogger, Runtime } from "@temporalio/worker";
import { buildArmed } from "../crash/armed-build.js";
import { limiter } from "../crash/limiter.js";
import { checkStore } from "./check-store.js";
import { type Verdict, checkRuns } from "./checker.js";
import { MUTANTS, type Mutant, isTelling, steeredFor } from "./mutants.js";
import { type ChaosPlan, planChaos } from "./plan.js";
import { performStruck } from "./struck-run.js";
import { type MortalServer, startMortalServer } from "./server.js";

/** The checker is itself checked: of a build that is broken on purpose it must say so, and of a healthy one it must not. */

const AT_ONCE = 3;
const TIMEOUT_MS = 600_000;
const chosen = (process.env["INTERLOCK_CHAOS_MUTANTS"] ?? "").split(",").filter((name) => name !== "");
const mutants = chosen.length === 0 ? MUTANTS : MUTANTS.filter(({ name }) => chosen.includes(name));

let dir: string;
let server: MortalServer;

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger("ERROR"), shutdownSignals: [] });
  dir = await mkdtemp(join(tmpdir(), "interlock-mutants-"));
  server = await startMortalServer(dir);
}, 120_000);
afterAll(async () => {
  await server.kill();
  await rm(dir, { recursive: true, force: true });
});

const inTurn = limiter(AT_ONCE);

/** The first seed whose only run has everything in it that a mutant could break. No two mutants share a run. */
function tellingPlan(mutant: Mutant): ChaosPlan {
  for (let seed = 1; ; seed += 1) {
    const { place = 0 } = mutant;
    const plan = planChaos(`${mutant.name}-${seed}`, place + 1);
    const run = plan.runs[place];
    if (run !== undefined && isTelling(run)) return { ...plan, runs: [steeredFor(mutant, run)] };
  }
}

describe.concurrent("the checker", () => {
  test.each(mutants.map((mutant) => [mutant.name, mutant] as const))(
    "says what is true of: %s",
    async (_name, mutant) => {
      const verdict = await inTurn(() => judgeMutant(mutant));
      expect(mutant.verdicts).toContain(verdict);
    },
    TIMEOUT_MS,
  );
});

/** What the checker says of a run of it. */
async function judgeMutant(mutant: Mutant): Promise<Verdict> {
  const mutated = await buildArmed(mutant.patches);
  try {
    const stage = {
      dir: join(dir, mutant.name),
      address: server.address,
      build: mutated,
      plan: tellingPlan(mutant),
    };
    const evidence = await performStruck(stage, mutant.strike);
    const [run] = await checkRuns(evidence);
    const ofStore = await checkStore(evidence);
    const findings = [...(run?.findings ?? []), ...ofStore].map(
      ({ kind, sentence }) => `${kind}: ${sentence}`,
    );
    process.stderr.write(
      `${mutant.name}: ${run?.verdict}\n${findings.map((line) => `  ${line}\n`).join("")}`,
    );
    return run?.verdict === "ok" ? (ofStore[0]?.kind ?? "ok") : (run?.verdict ?? "unknown");
  } finally {
    mutated.remove();
  }
}
