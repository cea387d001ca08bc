import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { InterlockClient } from "../../src/client/client.js";
import { openStore } from "../../src/store/store.js";
import { type ArmedBuild, type Victim, readHits } from "../crash/armed-build.js";
import { installPackages, makeProjects } from "./set-up.js";
import { openSurroundings, writeSettings } from "./surroundings.js";
import type { Evidence, WorkerLife } from "./evidence.js";
import { startFaultyModel } from "./faulty-model.js";
import { openHousekeeper } from "./housekeeper.js";
import type { Mutant } from "./mutants.js";
import { openOperator } from "./operator.js";
import type { ChaosPlan } from "./plan.js";
import { randomFrom } from "./random.js";

interface StruckStage {
  readonly dir: string;
  readonly address: string;
  readonly build: ArmedBuild;
  readonly plan: ChaosPlan;
}

const LONGEST_MS = 300_000;
/** What a worker that wakes up needs to do what it was about to do. */
const WAKING_MS = 5_000;

/** The plan's runs with one worker that is struck once, and a second one from then on. */
export async function performStruck(stage: StruckStage, strike: Mutant["strike"]): Promise<Evidence> {
  const { dir, address, build, plan } = stage;
  const storeDir = join(dir, "store");
  const projectsDir = join(dir, "projects");
  const hitsDir = join(dir, "hits");
  await mkdir(hitsDir, { recursive: true });
  const taskQueue = `mutant-${randomUUID()}`;
  const store = await openStore(storeDir, taskQueue);
  const surroundings = await openSurroundings(dir);
  writeSettings(storeDir, surroundings);
  const random = randomFrom("no kill");
  const { packages, installedFrom } = await installPackages(build, plan, { store, dir, hitsDir, random });
  await makeProjects(plan, projectsDir);
  const keptDir = join(dir, "kept");
  const housekeeper = openHousekeeper({ build, store, keptDir, hitsDir, random, installedFrom });
  const model = await startFaultyModel(plan, false);
  const client = await InterlockClient.connect({ connection: { address }, taskQueue });
  const operator = openOperator({
    client,
    store,
    projectsDir,
    packages,
    until: AbortSignal.timeout(LONGEST_MS),
  });
  const workers: WorkerLife[] = [];
  const victims: Victim[] = [];

  async function startWorker(name: string, at?: { name: string; hit: number; action: "kill" | "pause" }) {
    const events: { at: number; what: "started" | "ended" }[] = [];
    const environment = {
      INTERLOCK_STORE: storeDir,
      INTERLOCK_PROJECT_ROOTS: projectsDir,
      INTERLOCK_TASK_QUEUE: taskQueue,
      INTERLOCK_MODEL: "scripted",
      OPENAI_API_KEY: name,
      OPENAI_BASE_URL: model.baseUrl,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_CONFIG_FILE: join(dir, "none.toml"),
    };
    const victim = await build.startWorker(environment, {
      hitsFile: join(hitsDir, name),
      ...(at === undefined ? {} : { at }),
    });
    victims.push(victim);
    events.push({ at: Date.now(), what: "started" });
    void victim.ended.then(() => events.push({ at: Date.now(), what: "ended" }));
    workers.push({ name, mayPause: at?.action === "pause", events });
    return victim;
  }

  try {
    const [run] = plan.runs;
    const at = strike && run && { name: strike.at, hit: strike.hit(run), action: strike.action };
    const first = await startWorker("first", at);
    const carrying = Promise.all(
      plan.runs.map(async (planned) => {
        const completed = await operator.carry(planned);
        if (completed !== undefined && planned.isPruned) housekeeper.onEnd(completed);
      }),
    );
    if (at !== undefined) {
      await whenStruck(join(hitsDir, "first"), at);
      if (at.action === "kill") await first.ended;
      else first.process.kill("SIGSTOP");
      await startWorker("second");
    }
    await carrying;
    first.process.kill("SIGCONT");
    if (at?.action === "pause") await pause(WAKING_MS);
    await housekeeper.finish();
    await operator.exportHistories(join(dir, "histories"));
    const operations = [...operator.operations.values()];
    const figures = { faults: {}, hits: {}, struck: {} };
    return {
      plan,
      operations,
      requests: model.requests,
      workers,
      figures,
      notices: surroundings.notices,
      ledger: surroundings.ledger(),
      packages,
      pruned: housekeeper.pruned,
      ofBackups: [],
      keptDir,
      storeDir,
      projectsDir,
      historiesDir: join(dir, "histories"),
    };
  } finally {
    await Promise.all(victims.map((victim) => victim.end()));
    await client.close();
    await model.close();
    await surroundings.close();
  }
}

async function whenStruck(hitsFile: string, at: { name: string; hit: number }): Promise<void> {
  const deadline = Date.now() + LONGEST_MS;
  while (readHits(hitsFile).filter((name) => name === at.name).length < at.hit) {
    if (Date.now() > deadline) throw new Error(`${at.name} was not hit ${at.hit} times.`);
    await pause(50);
  }
}
