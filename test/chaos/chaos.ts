import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DefaultLogger, Runtime } from "@temporalio/worker";
import { InterlockClient } from "../../src/client/client.js";
import { openStore } from "../../src/store/store.js";
import { type ArmedBuild, buildArmed } from "../crash/armed-build.js";
import { limiter } from "../crash/limiter.js";
import { openArchivist } from "./archivist.js";
import { type Disk, openDisk } from "./disk.js";
import { type Evidence, writeEvidence } from "./evidence.js";
import { MODEL_TIMEOUT_SECONDS, startFaultyModel } from "./faulty-model.js";
import { openHousekeeper } from "./housekeeper.js";
import { monkey } from "./monkey.js";
import { openOperator } from "./operator.js";
import { type ChaosPlan, planChaos } from "./plan.js";
import { randomFrom } from "./random.js";
import { type MortalServer, startMortalServer } from "./server.js";
import { installPackages, makeProjects } from "./set-up.js";
import { openSurroundings, writeSettings } from "./surroundings.js";
import { openTroupe } from "./troupe.js";

export interface ChaosOptions {
  readonly seed: string;
  readonly runs: number;
  readonly minutes: number;
  readonly workers: number;
  /** A small file system may be mounted; else the workers' files are limited. */
  readonly mayMount: boolean;
  /** Checkouts of other builds, each with its `dist/`, whose workers work beside those of this one. */
  readonly others: readonly string[];
  readonly say: (line: string) => void;
}

/** What is left when all is over. */
export interface Aftermath {
  readonly evidence: Evidence;
  /** What else is worth telling. */
  readonly counts: Readonly<Record<string, number>>;
  readonly dir: string;
  remove(): Promise<void>;
}

/** Runs that are open at once. */
const OPEN_RUNS = 40;
const SAY_EVERY_MS = 15_000;

/** Runs everything, troubled for the given minutes and then left in peace for about as long, and collects the evidence. */
export async function runChaos(options: ChaosOptions): Promise<Aftermath> {
  Runtime.install({ logger: new DefaultLogger("ERROR"), shutdownSignals: [] });
  const { seed, say } = options;
  const plan = planChaos(seed, options.runs);
  const dir = await mkdtemp(join(tmpdir(), "interlock-chaos-"));
  const disk = openDisk(join(dir, "disk"), options.mayMount);
  const remove = async () => {
    disk.remove();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const serverDir = join(dir, "server");
    await mkdir(serverDir);
    const build = await buildArmed();
    const server = await startMortalServer(serverDir);
    try {
      say(
        `seed ${seed}, ${plan.runs.length} runs of ${plan.packages.length} packages, full disk: ${disk.kind}, in ${dir}`,
      );
      const { evidence, counts } = await perform(options, { plan, dir, disk, build, server });
      return { evidence, counts, dir, remove };
    } finally {
      await server.kill();
      build.remove();
    }
  } catch (error) {
    await remove();
    throw error;
  }
}

interface Scene {
  readonly plan: ChaosPlan;
  readonly dir: string;
  readonly disk: Disk;
  readonly build: ArmedBuild;
  readonly server: MortalServer;
}

async function perform(options: ChaosOptions, { plan, dir, disk, build, server }: Scene) {
  const { seed, say } = options;
  const storeDir = join(disk.dir, "store");
  const projectsDir = join(disk.dir, "projects");
  const hitsDir = join(dir, "hits");
  const historiesDir = join(dir, "histories");
  await mkdir(hitsDir);
  const taskQueue = `chaos-${randomUUID()}`;
  const store = await openStore(storeDir, taskQueue);
  const surroundings = await openSurroundings(dir);
  writeSettings(storeDir, surroundings);
  const { packages, installedFrom } = await installPackages(build, plan, {
    store,
    dir,
    hitsDir,
    random: randomFrom(`${seed}/install`),
  });
  await makeProjects(plan, projectsDir);
  const keptDir = join(dir, "kept");
  const housekeeper = openHousekeeper({
    build,
    store,
    keptDir,
    hitsDir,
    random: randomFrom(`${seed}/housekeeper`),
    installedFrom,
  });
  const model = await startFaultyModel(plan, true);
  const client = await InterlockClient.connect({ connection: { address: server.address }, taskQueue });
  const environment = {
    INTERLOCK_STORE: storeDir,
    INTERLOCK_PROJECT_ROOTS: projectsDir,
    INTERLOCK_TASK_QUEUE: taskQueue,
    INTERLOCK_MODEL: "scripted",
    INTERLOCK_MODEL_TIMEOUT_SECONDS: String(MODEL_TIMEOUT_SECONDS),
    OPENAI_BASE_URL: model.baseUrl,
    TEMPORAL_ADDRESS: server.address,
    TEMPORAL_CONFIG_FILE: join(dir, "none.toml"),
  };
  const troupe = openTroupe({
    size: options.workers,
    build,
    environment,
    hitsDir,
    random: randomFrom(`${seed}/troupe`),
    isArmed: true,
    others: options.others,
  });
  const archivist = openArchivist({ build, storeDir, dir, random: randomFrom(`${seed}/archivist`) });
  const startedAt = Date.now();
  const chaosMs = options.minutes * 60_000;
  const troubled = AbortSignal.timeout(chaosMs);
  const over = AbortSignal.timeout(2 * chaosMs + 90_000);
  const operator = openOperator({ client, store, projectsDir, packages, until: over });
  const inTurn = limiter(OPEN_RUNS);
  let open = 0;
  let ended = 0;
  const carrying = plan.runs.map((run, index) =>
    inTurn(async () => {
      const startsAt = ((chaosMs * 0.8) / plan.runs.length) * index;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, startedAt + startsAt - Date.now())));
      open += 1;
      const completed = await operator.carry(run);
      if (open === plan.runs.length) housekeeper.onLastStart();
      if (completed !== undefined && run.isPruned) housekeeper.onEnd(completed);
      ended += 1;
    }),
  );
  const telling = setInterval(
    () =>
      say(
        `${Math.round((Date.now() - startedAt) / 1_000)} s: ${open} runs started, ${ended} ended, ${troupe.lives.length} workers so far`,
      ),
    SAY_EVERY_MS,
  );
  const keeping = Promise.all([housekeeper.work(troubled), archivist.work(troubled)]);
  const deeds = await monkey(
    { random: randomFrom(`${seed}/monkey`), troupe, server, disk, stops: 0 },
    troubled,
  );
  await keeping;
  const startedInTrouble = open;
  troupe.calm();
  model.calm();
  say("the trouble is over; the rest is left to run");
  await Promise.all(carrying);
  clearInterval(telling);
  await housekeeper.finish();
  await operator.exportHistories(historiesDir);
  await troupe.end();
  await archivist.finish();
  disk.settle();
  await client.close();
  await model.close();
  await surroundings.close();
  const failpoints = troupe.failpoints();
  const evidence: Evidence = {
    plan,
    operations: [...operator.operations.values()],
    requests: model.requests,
    workers: troupe.lives,
    figures: {
      faults: {
        ...Object.fromEntries(model.faults),
        ...Object.fromEntries(deeds),
        ...Object.fromEntries(troupe.figures),
        ...Object.fromEntries(operator.figures),
        ...Object.fromEntries(housekeeper.figures),
        ...Object.fromEntries(archivist.figures),
      },
      ...failpoints,
    },
    notices: surroundings.notices,
    ledger: surroundings.ledger(),
    packages,
    pruned: housekeeper.pruned,
    ofBackups: archivist.findings,
    keptDir,
    storeDir,
    projectsDir,
    historiesDir,
  };
  await writeEvidence(dir, evidence);
  const counts = {
    "runs started in trouble": startedInTrouble,
    "times the operator got no answer": operator.unreachable(),
    ...Object.fromEntries([...operator.refusals].map(([what, times]) => [`refusal: ${what}`, times])),
    workers: troupe.lives.length,
    "failpoints struck": Object.values(failpoints.struck).reduce((sum, count) => sum + count, 0),
    "model requests": model.requests.length,
    "turns repeated because the machine failed": model.requests.filter(({ turn }) =>
      /\.\d+\.[1-9]/.test(turn),
    ).length,
  };
  return { evidence, counts };
}
