import { backupStore } from "../../src/store/backup/backup-store.js";
import type { BackupReport } from "../../src/store/backup/one-backup.js";
import { type RestoreReport, restoreStore } from "../../src/store/backup/restore-store.js";
import { type Garbage, collectGarbage } from "../../src/store/collect-garbage.js";
import { type Store, openStore } from "../../src/store/store.js";
import type { CreateRunRequest } from "../../src/store/runs/create-request.js";

/** What a process does that works on a store without a worker. */
export type StoreTask =
  | { readonly kind: "install"; readonly storeDir: string; readonly source: string }
  | {
      readonly kind: "prune";
      readonly storeDir: string;
      readonly runs: readonly { readonly projectId: string; readonly runId: string }[];
    }
  /** `before`: ISO; absent means now. */
  | { readonly kind: "collect"; readonly storeDir: string; readonly before?: string }
  | { readonly kind: "create"; readonly storeDir: string; readonly request: CreateRunRequest }
  | { readonly kind: "backup"; readonly storeDir: string; readonly dir: string }
  | { readonly kind: "restore"; readonly dir: string; readonly to: string };

type Outcome =
  | Awaited<ReturnType<Store["packages"]["install"]> | ReturnType<Store["runs"]["createRun"]>>
  | Garbage
  | BackupReport
  | RestoreReport
  | { readonly pruned: readonly string[] };

export async function doTask(task: StoreTask): Promise<Outcome> {
  if (task.kind === "backup") return backupStore(task.storeDir, task.dir);
  if (task.kind === "restore") return restoreStore(task.dir, task.to);
  const store = await openStore(task.storeDir);
  switch (task.kind) {
    case "install":
      return store.packages.install(task.source);
    case "create":
      return store.runs.createRun(task.request);
    case "collect":
      return collectGarbage(store, { before: new Date(task.before ?? Date.now()), stays: false });
    case "prune":
      return prune(store, task.runs);
  }
}

/** As `interlock runs prune` does it. */
async function prune(store: Store, runs: readonly { projectId: string; runId: string }[]): Promise<Outcome> {
  await store.runs.sweep();
  const pruned: string[] = [];
  for (const run of runs) {
    const execution = store.runs.newestExecution(run);
    if (await store.runs.prune(run, execution, new Date())) pruned.push(run.runId);
  }
  await store.runs.sweep();
  return { pruned };
}
