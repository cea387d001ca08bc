import { embeddedServerIn } from "../session/temporal-session.js";
import { unlessAborted } from "../../client/temporal/abortable.js";
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InterlockClient } from "../../client/client.js";
import type { Config } from "../../config.js";
import type { StoreReader } from "../../contract/reads.js";
import { removeTree } from "../../store/packages/package-tree.js";
import { type Store, openStore } from "../../store/store.js";
import { type WorkerOptions, startWorker } from "../../worker.js";
import { localReader } from "../session/readers.js";
import { IN_PASSING, installRuntime } from "../session/worker-runtime.js";

/** A Temporal of its own for tests, in a temporary directory that goes with it. */
export interface TestBench {
  /** A new store with a worker, and an empty project, for the time of an action. */
  withPlace<T>(
    scripted: Pick<WorkerOptions, "model" | "modelSettingsFor" | "tools">,
    action: (place: TestPlace) => Promise<T>,
  ): Promise<T>;
  close(): Promise<void>;
}

/** Where one test takes place. */
export interface TestPlace {
  readonly config: Config;
  readonly store: Store;
  readonly client: InterlockClient;
  readonly reader: StoreReader;
  readonly projectRoot: string;
}

/** Starts a Temporal that nobody else uses, wherever the user's own may be. `config` is as `isolated` makes it. */
export async function openTestBench(config: Config, signal: AbortSignal): Promise<TestBench> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), "interlock-test-")));
  try {
    const server = await embeddedServerIn(join(dir, "temporal"), config, signal);
    installRuntime(IN_PASSING);
    let places = 0;
    return {
      async withPlace(scripted, action) {
        places += 1;
        const placeDir = join(dir, String(places));
        try {
          return await inPlace(placeDir, { config, scripted, address: server.address, signal }, action);
        } finally {
          await removeTree(placeDir); // installed packages are read-only
        }
      },
      async close() {
        await server.release();
        await rm(dir, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

/**
 * What tests use of a user's configuration: the models, and where the Temporal CLI is. No tools of MCP servers, no webhooks, no keys to
 * seal with.
 */
export function isolated(own: Config): Config {
  return {
    ...own,
    temporal: undefined,
    settings: {},
    roots: {},
    starts: "open",
    sealKeys: undefined,
    webUi: undefined,
    webhooks: [],
  };
}

interface PlaceParts {
  readonly config: Config;
  readonly scripted: Pick<WorkerOptions, "model" | "modelSettingsFor" | "tools">;
  readonly address: string;
  readonly signal: AbortSignal;
}

async function inPlace<T>(
  dir: string,
  { config: shared, scripted, address, signal }: PlaceParts,
  action: (place: TestPlace) => Promise<T>,
): Promise<T> {
  const projectRoot = join(dir, "project");
  mkdirSync(projectRoot, { recursive: true });
  const config = { ...shared, storeDir: join(dir, "store") };
  const store = await openStore(config.storeDir, `package-test-${randomUUID()}`, config.roots);
  const connection = { address };
  const client = await InterlockClient.connect({ connection, taskQueue: store.taskQueue });
  try {
    const starting = startWorker(config, { connection, namespace: "default", store, ...scripted });
    const worker = await unlessAborted(signal, starting, (late) => late.shutdown());
    try {
      return await action({ config, store, client, reader: localReader(store), projectRoot });
    } finally {
      await worker.shutdown();
    }
  } finally {
    await client.close();
  }
}
