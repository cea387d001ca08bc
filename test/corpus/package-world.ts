import assert from "node:assert/strict";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { ERROR_CODES } from "../../src/core/errors.js";
import { type Store, openStore } from "../../src/store/store.js";
import { bytesOf } from "../fakes/package-fixture.js";
import { scratchRoot, sha256 } from "./world.js";

interface Finding {
  readonly severity: string;
  readonly file: string;
  readonly path: string;
  readonly message: string;
}

export interface Verdict {
  /** `ok`, or the code. */
  readonly code: string;
  readonly packageId?: string;
  readonly findings: readonly Finding[];
}

/** A store that packages of strangers are installed into, with something beside it that must never change. */
export class PackageWorld {
  readonly base: string;
  readonly store: Store;
  private readonly sentinel: string;
  private readonly descriptors: number;
  private installed: readonly string[] = [];

  private constructor(base: string, store: Store) {
    this.base = base;
    this.store = store;
    this.sentinel = this.treeOf("outside");
    this.descriptors = this.openDescriptors();
  }

  static async open(): Promise<PackageWorld> {
    const base = realpathSync(mkdtempSync(join(scratchRoot(), "interlock-packages-")));
    for (const dir of ["outside", "project", "store/packages"])
      mkdirSync(join(base, dir), { recursive: true });
    writeFileSync(join(base, "outside/secret.txt"), "SECRET\n");
    return new PackageWorld(base, await openStore(join(base, "store")));
  }

  async close(): Promise<void> {
    for (const packageId of this.installed) await this.store.packages.remove(packageId);
    rmSync(this.base, { recursive: true, force: true });
  }

  get source(): string {
    return join(this.base, "source");
  }

  get archive(): string {
    return join(this.base, "source.bmad");
  }

  writeDirectory(files: Readonly<Record<string, unknown>>): void {
    rmSync(this.source, { recursive: true, force: true });
    mkdirSync(this.source);
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.source, path)), { recursive: true });
      writeFileSync(join(this.source, path), bytesOf(content));
    }
  }

  /** Installs what lies at `source` and checks what every installation promises, whatever it comes to. */
  async install(source: string): Promise<Verdict> {
    const result = await this.store.packages.install(source);
    const shown = JSON.stringify(result.ok ? { ...result.value, dir: "" } : result);
    assert.ok(
      !shown.includes(this.base) && !shown.includes("/proc/"),
      `a host path: ${shown.slice(0, 2000)}`,
    );
    assert.ok(shown.length < 200_000, "a report is bounded");
    assert.equal(this.treeOf("outside"), this.sentinel, "something outside changed");
    assert.equal(this.openDescriptors(), this.descriptors, "a descriptor was left open");
    const findings = result.ok ? result.value.findings : this.findingsOf(result.error.details);
    for (const finding of findings) {
      assert.ok(
        /^(?:error|warning)$/.test(finding.severity) && finding.file !== "" && finding.path.startsWith("$"),
      );
      assert.ok(finding.message.length > 5 && !/\p{Cc}|\u2028/u.test(finding.message), finding.message);
    }
    if (!result.ok) {
      assert.ok(ERROR_CODES.includes(result.error.code));
      assert.deepEqual(this.packagesInStore(), this.installed, "something was left in the store");
      return { code: result.error.code, findings };
    }
    const { packageId } = result.value;
    this.installed = [...new Set([...this.installed, packageId])].sort();
    assert.deepEqual(this.packagesInStore(), this.installed);
    assert.ok(findings.every((finding) => finding.severity === "warning"));
    await this.checkInstalled(packageId, source);
    return { code: "ok", packageId, findings };
  }

  /** What was installed can be used, is read-only, and is the same a second time. */
  private async checkInstalled(packageId: string, source: string): Promise<void> {
    const again = await this.store.packages.install(source);
    assert.ok(again.ok && again.value.packageId === packageId, "the same bytes give the same id");
    const loaded = await this.store.packages.open(packageId);
    assert.ok(loaded.ok);
    const { agents, workflows, dir } = loaded.value;
    for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
      const { mode } = lstatSync(join(entry.parentPath, entry.name));
      assert.equal(mode & 0o277, 0, "an installed package is read-only and private");
    }
    for (const workflow of workflows) {
      const created = await this.store.runs.createRun({
        projectRoot: join(this.base, "project"),
        packageId,
        workflowRef: workflow.id,
        activeAgentId: agents[0]?.id ?? "",
      });
      const isEntryBesideOthers = workflow.isEntry && (loaded.value.manifest.workflows ?? []).length > 0;
      assert.ok(created.ok || isEntryBesideOthers, JSON.stringify(created));
      if (!created.ok) continue;
      const files = await this.store.runs.openFiles(created.value.projectId, created.value.runId);
      assert.ok(files.ok && (await files.value.state.read()).ok, "the state of a new run can be read");
    }
  }

  private findingsOf(details: unknown): readonly Finding[] {
    return (details as { findings?: readonly Finding[] } | undefined)?.findings ?? [];
  }

  private packagesInStore(): readonly string[] {
    return readdirSync(join(this.base, "store/packages")).sort();
  }

  private treeOf(name: string): string {
    return readdirSync(join(this.base, name), { recursive: true, encoding: "utf8" })
      .map((path) => {
        const { ino, ctimeNs } = lstatSync(join(this.base, name, path), { bigint: true });
        return `${path} ${ino} ${ctimeNs} ${sha256(readFileSync(join(this.base, name, path)))}`;
      })
      .join("\n");
  }

  private openDescriptors(): number {
    if (process.platform !== "linux") return 0;
    return readdirSync("/proc/self/fd").filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(this.base);
      } catch {
        return false; // the one that was used to look
      }
    }).length;
  }
}

export function sharedPackageWorld(): () => PackageWorld {
  let world: PackageWorld | undefined;
  beforeAll(async () => {
    world = await PackageWorld.open();
  });
  afterAll(() => world?.close());
  return () => {
    assert.ok(world !== undefined);
    return world;
  };
}
