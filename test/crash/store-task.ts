import { type Store, openStore } from "../../src/store/store.js";
import type { CreateRunRequest } from "../../src/store/runs/run-manager.js";

/** What a process does that works on a store without a worker. */
export type StoreTask =
  | { readonly kind: "install"; readonly storeDir: string; readonly source: string }
  | { readonly kind: "create"; readonly storeDir: string; readonly request: CreateRunRequest };

type Outcome = Awaited<ReturnType<Store["packages"]["install"]> | ReturnType<Store["runs"]["createRun"]>>;

export async function doTask(task: StoreTask): Promise<Outcome> {
  const store = await openStore(task.storeDir);
  return task.kind === "install" ? store.packages.install(task.source) : store.runs.createRun(task.request);
}
