import { openStore } from "../../src/store/store.js";
import type { CreateRunRequest } from "../../src/store/run-manager.js";

/** What a process does that works on a store without a worker. */
export type StoreTask =
  | { readonly kind: "install"; readonly storeDir: string; readonly source: string }
  | { readonly kind: "create"; readonly storeDir: string; readonly request: CreateRunRequest };

const task = JSON.parse(process.argv[2] ?? "null") as StoreTask; // written by the test
const store = await openStore(task.storeDir);
const result =
  task.kind === "install"
    ? await store.packages.install(task.source)
    : await store.runs.createRun(task.request);
process.stdout.write(JSON.stringify(result));
