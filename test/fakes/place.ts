import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InterlockClient } from "../../src/client/client.js";
import { type Config, loadConfig } from "../../src/config.js";
import { defined } from "../../src/core/defined.js";
import { type Store, openStore } from "../../src/store/store.js";
import { type Script, ScriptedModel } from "./scripted-model.js";
import { removeFolder } from "./remove-folder.js";

/** Where the runs of a test take place: a directory with a project and a store, a queue and a model of their own. */
export interface Place {
  readonly dir: string;
  readonly projectRoot: string;
  readonly model: ScriptedModel;
  /** As a user of the command line would set them. */
  readonly environment: Readonly<Record<string, string>>;
  readonly config: Config;
  readonly store: Store;
  readonly client: InterlockClient;
  close(): Promise<void>;
}

export async function openPlace(
  address: string,
  script: Script,
  variables: Readonly<Record<string, string>> = {},
): Promise<Place> {
  const dir = await mkdtemp(join(tmpdir(), "interlock-it-"));
  const projectRoot = join(dir, "project");
  await mkdir(projectRoot);
  const model = await ScriptedModel.start(script);
  const environment = {
    INTERLOCK_STORE: join(dir, "store"),
    INTERLOCK_TASK_QUEUE: `test-${randomUUID()}`,
    INTERLOCK_MODEL: "scripted",
    OPENAI_API_KEY: "test-key",
    OPENAI_BASE_URL: model.baseUrl,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_CONFIG_FILE: join(dir, "none.toml"),
    INTERLOCK_PROJECT_ROOTS: dir,
    ...variables,
  };
  const config = loadConfig(environment);
  const store = await openStore(config.storeDir, config.taskQueue, config.roots);
  const client = await InterlockClient.connect({
    connection: { address },
    taskQueue: store.taskQueue,
    ...defined({ sealKeys: config.sealKeys }),
  });
  return {
    dir,
    projectRoot,
    model,
    environment,
    config,
    store,
    client,
    async close() {
      await client.close();
      await model.close();
      await removeFolder(dir);
    },
  };
}
