import { bounded } from "../contract/bounded.js";
import type { JsonAnswers, StoreQuestion } from "../contract/reads.js";
import { defined } from "../core/defined.js";
import { type Failed, type Result, fail, ok } from "../core/errors.js";
import { excerpt, listSome } from "../core/text.js";
import { checkPackageSource } from "../store/packages/package-source.js";
import { identityOf } from "../store/roots/root-places.js";
import type { RegisteredRoot } from "../store/roots/roots.js";
import type { Store } from "../store/store.js";
import { keepPiece, takeUpload } from "../store/uploads.js";

/** The installed packages. */
export async function packagesOf(store: Store): Promise<Result<JsonAnswers["read.packages"]>> {
  const installed = await store.packages.list();
  return ok({ packages: installed.map(({ packageId, name, version }) => ({ packageId, name, version })) });
}

/** What a package holds, by its id, its name or `name@version`. Faults: `E_PACKAGE_NOT_FOUND`, `E_PACKAGE_INVALID`. */
export async function packageOf(store: Store, named: string): Promise<Result<JsonAnswers["read.package"]>> {
  const packageId = await store.packages.resolve(named);
  const opened = packageId.ok ? await store.packages.open(packageId.value) : packageId;
  if (!packageId.ok || !opened.ok) return opened as Failed; // one of the two is a fault
  const { manifest, agents, workflows } = opened.value;
  const sha256 = await store.packages.digest(packageId.value);
  return ok({
    packageId: packageId.value,
    ...defined({ sha256 }),
    name: manifest.name,
    version: manifest.version,
    description: manifest.description ?? "",
    workflows: workflows.map(({ id, isEntry, graph }) => ({
      id,
      isEntry,
      nodes: graph.nodes.map((node) => node.id),
    })),
    agents: agents.map(({ id, metadata }) => ({ id, name: metadata.name, title: metadata.title })),
  });
}

const MAX_ROLE_CHARS = 2_000;

/** A package with the graphs of its workflows, and what a check of it says. Faults: `E_PACKAGE_NOT_FOUND`, `E_PACKAGE_INVALID`. */
export async function workflowsOf(
  store: Store,
  named: string,
): Promise<Result<JsonAnswers["read.workflows"]>> {
  const packageId = await store.packages.resolve(named);
  if (!packageId.ok) return packageId;
  const opened = await store.packages.open(packageId.value);
  if (!opened.ok) return opened;
  const { dir, manifest, agents, workflows } = opened.value;
  return ok({
    packageId: packageId.value,
    name: manifest.name,
    version: manifest.version,
    description: manifest.description ?? "",
    workflows: workflows.map(({ id, isEntry, graph }) => ({ id, isEntry, graph })),
    agents: agents.map(({ id, metadata: { name, title, icon }, persona }) => {
      return { id, name, title, icon, role: bounded(persona.role, MAX_ROLE_CHARS) };
    }),
    findings: await checkPackageSource(dir),
  });
}

/** Keeps a piece of a `.bmad`. Faults: those of `keepPiece`. */
export async function upload(
  store: Store,
  { sha256, size, offset, base64 }: StoreQuestion<"package.upload">,
): Promise<Result<JsonAnswers["package.upload"]>> {
  const kept = await keepPiece(store, { sha256, size, offset, bytes: Buffer.from(base64, "base64") });
  return kept.ok ? ok({ received: kept.value }) : kept;
}

/** Installs what was uploaded, by the rules of every installation. Again, it is the same package. */
export async function installUpload(
  store: Store,
  uploaded: StoreQuestion<"package.install">,
): Promise<Result<JsonAnswers["package.install"]>> {
  const installed = await takeUpload(store, uploaded, (path) => store.packages.install(path));
  if (!installed.ok) return installed;
  const { packageId, name, version, findings } = installed.value;
  return ok({ packageId, name, version, findings: findings.map((finding) => ({ ...finding })) });
}

/**
 * Removes a package that no run needs any more. `closedRuns` are those that Temporal has closed: they are over, whatever their
 * files say. Faults: `E_PRECONDITION_FAILED`, `E_PACKAGE_NOT_FOUND`, `E_INTERNAL`.
 */
export async function removePackage(
  store: Store,
  { packageId, closedRuns }: StoreQuestion<"package.remove">,
): Promise<Result<JsonAnswers["package.remove"]>> {
  const { runs, damaged } = await store.runs.surveyRuns();
  const [first] = damaged;
  if (first !== undefined) return fail("E_INTERNAL", first.error.message);
  const open = runs.filter(
    ({ packageId: needed, phase, runId }) =>
      needed === packageId && !["completed", "failed"].includes(phase) && !closedRuns.includes(runId),
  );
  if (open.length > 0) {
    const ids = listSome(open.map(({ runId }) => runId));
    return fail("E_PRECONDITION_FAILED", `Runs that have not ended need this package: ${ids}.`);
  }
  const removed = await store.packages.remove(packageId);
  return removed.ok ? ok({ packageId: excerpt(packageId) }) : removed;
}

/** Where runs of the store may work. */
export function projectsOf(store: Store): Result<JsonAnswers["read.projects"]> {
  const roots = store.roots.list().map((root) => {
    const { path, access, registeredAt } = root;
    return { path, access, registeredAt, state: stateOf(store, root) };
  });
  return ok({ roots, configured: store.roots.configured });
}

/** `exchanged`: what lies there is not what was registered. Registered again, it is. */
function stateOf(store: Store, { path, access }: RegisteredRoot): "ok" | "missing" | "exchanged" {
  if (identityOf(path) === undefined) return "missing";
  return store.roots.permits(path, access) ? "ok" : "exchanged";
}
