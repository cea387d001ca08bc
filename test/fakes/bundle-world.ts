import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";
import type { BundleToolResult } from "../../src/core/bundle/bundle-result.js";
import type { RunFiles } from "../../src/store/runs/run-files.js";
import type { RunMetadata } from "../../src/store/runs/run-metadata.js";
import { type Store, openStore } from "../../src/store/store.js";
import { type BundleHost, createBundleHost } from "../../src/tools/bundle/bundle-host.js";
import { valueOf } from "./run-world.js";

const EXAMPLE = fileURLToPath(new URL("../../examples/reading-room", import.meta.url));
export const NOW = new Date("2026-03-04T05:06:07.000Z");
export const INTAKE = "{bundle-root}/workflows/intake/workflow.yaml";

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

/** The example bundle, copied, with a store and runs of it. Everything is gone after the test. */
export class BundleWorld {
  readonly dir: string;
  readonly store: Store;
  readonly host: BundleHost;
  private calls = 0;

  private constructor(dir: string, store: Store) {
    this.dir = dir;
    this.store = store;
    this.host = createBundleHost({ store });
  }

  static async open(): Promise<BundleWorld> {
    const dir = realpathSync(mkdtempSync(join(tmpdir(), "interlock-bundle-")));
    directories.push(dir);
    cpSync(EXAMPLE, join(dir, "room"), { recursive: true });
    return new BundleWorld(dir, await openStore(join(dir, "store"), undefined, { projectRoots: [dir] }));
  }

  at(path: string): string {
    return join(this.dir, path);
  }

  put(path: string, content: string | Uint8Array): void {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    writeFileSync(this.at(path), content);
  }

  /** A run of the intake workflow with Iris, its session not yet open. */
  async createRun(
    changes: {
      sessionId?: string;
      outputRoot?: string;
      agent?: boolean;
      workflow?: string;
      runId?: string;
    } = {},
  ) {
    const { agent = true, workflow = INTAKE, ...rest } = changes;
    return this.store.runs.createBundleRun(
      {
        projectRoot: this.at("room/project"),
        bundleRoot: this.at("room/bmad/desk"),
        coreRoot: this.at("room/bmad/core"),
        workflowPath: workflow,
        workflowRef: "intake",
        activeAgentId: "Iris",
        ...(agent ? { agentFile: this.at("room/bmad/desk/agents/iris.md") } : {}),
        ...rest,
      },
      NOW,
    );
  }

  async openRun(changes: Parameters<BundleWorld["createRun"]>[0] = {}): Promise<OpenRun> {
    const run = valueOf(await this.createRun(changes));
    valueOf(await this.host.openSession(run.runId, { now: NOW }));
    const files = valueOf(await this.store.runs.openFiles(run.projectId, run.runId));
    const session = join(run.bundle?.outputRoot ?? "", run.bundle?.sessionId ?? "");
    return { run, files, session, call: (name, args, id) => this.call(run.runId, name, args, id) };
  }

  async call(runId: string, name: string, args: unknown, id?: string): Promise<BundleToolResult> {
    this.calls += 1;
    const executed = await this.host.executeForEngine(
      {
        toolCallId: id ?? `call-${this.calls}`,
        name,
        argumentsJson: typeof args === "string" ? args : JSON.stringify(args),
        context: { runId, agentId: "Iris" },
      },
      { now: NOW.toISOString() },
    );
    return executed.result;
  }
}

export interface OpenRun {
  readonly run: RunMetadata;
  readonly files: RunFiles;
  /** Host path of the session folder. */
  readonly session: string;
  readonly call: (name: string, args: unknown, id?: string) => Promise<BundleToolResult>;
}
