import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FAILPOINTS } from "../../src/core/failpoint.js";
import type { Store } from "../../src/store/store.js";
import type { ArmedBuild } from "../crash/armed-build.js";
import { writePackage } from "../fakes/package-fixture.js";
import { valueOf } from "../fakes/run-world.js";
import type { InstalledVersions } from "./evidence.js";
import type { ChaosPlan, PlannedPackage } from "./plan.js";
import type { Random } from "./random.js";

const OF_INSTALLATION = FAILPOINTS.filter((name) => name.startsWith("package."));

export interface Installation {
  readonly packages: readonly InstalledVersions[];
  /** What was installed before is not what the runs are of. */
  readonly installedFrom: Date;
}

interface InstallOptions {
  readonly store: Store;
  readonly dir: string;
  readonly hitsDir: string;
  readonly random: Random;
}

/** Installs each package by a process of its own, some of which are killed first; and beside each an older and a newer version. */
export async function installPackages(
  build: ArmedBuild,
  plan: ChaosPlan,
  { store, dir, hitsDir, random }: InstallOptions,
): Promise<Installation> {
  const olds = new Map<string, string>();
  for (const planned of plan.packages)
    olds.set(planned.workflow, await installVersion(store, dir, planned, "0.9.0"));
  const installedFrom = new Date();
  const packages: InstalledVersions[] = [];
  for (const planned of plan.packages) {
    const { workflow, files } = planned;
    const source = await writePackage(join(dir, "packages", workflow), files);
    const task = { kind: "install", storeDir: store.dir, source } as const;
    if (random.chance(0.3)) {
      const at = { name: random.pick(OF_INSTALLATION), hit: 1, action: "kill" } as const;
      await build.runTask(task, { hitsFile: join(hitsDir, `installer-of-${workflow}`), at });
    }
    const result = (await build.runTask(task, { hitsFile: join(hitsDir, `install-${workflow}`) })) as {
      ok: boolean;
      value: { packageId: string };
    };
    if (!result.ok) throw new Error(`${workflow} could not be installed: ${JSON.stringify(result)}`);
    const newest = await installVersion(store, dir, planned, "1.1.0");
    packages.push({ workflow, oldest: olds.get(workflow) ?? "", own: result.value.packageId, newest });
  }
  return { packages, installedFrom };
}

/** Another version of a package than the runs are of. */
export async function installVersion(
  store: Store,
  dir: string,
  { workflow, files }: PlannedPackage,
  version: string,
): Promise<string> {
  const manifest = { ...(files["bmad.json"] as object), version }; // of plan.ts
  const source = join(dir, "packages", `${workflow}-${version}`);
  await writePackage(source, { ...files, "bmad.json": manifest });
  return valueOf(await store.packages.install(source)).packageId;
}

/** Where the bundle of a plan lies. */
export function bundleRootOf(projectsDir: string): string {
  return join(projectsDir, "bundle");
}

export async function makeProjects(plan: ChaosPlan, projectsDir: string): Promise<void> {
  for (const { project, filesBefore } of plan.runs) {
    const root = join(projectsDir, project);
    await mkdir(dirname(root), { recursive: true });
    await writePackage(root, filesBefore);
  }
  await writePackage(bundleRootOf(projectsDir), plan.bundle);
}
