import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ToolResult } from "../../src/core/tools/tool-result.js";
import { type Workspace, type WorkspaceOptions, openWorkspace } from "../../src/tools/workspace.js";

/** Real mounts in a directory of their own, with something outside them that must never change or be seen. */
export class Scratch {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "interlock-tools-")));
  readonly options: WorkspaceOptions = {
    roots: { project: this.at("project"), pkg: this.at("pkg"), state: this.at("state") },
    lockDir: this.at("locks"),
  };
  readonly workspace: Workspace = openWorkspace(this.options);
  private readonly outside: string;
  private readonly descriptors: number;

  constructor() {
    for (const name of ["project", "pkg", "state/logs", "outside/dir"])
      mkdirSync(this.at(name), { recursive: true });
    this.put("outside/secret.txt", "SECRET");
    this.put("outside/dir/secret.txt", "SECRET");
    this.put("state/workflow.md", "---\n---\n");
    this.put("state/logs/execution.jsonl", "");
    this.outside = snapshot(this.at("outside"));
    this.descriptors = openDescriptors();
  }

  at(path: string): string {
    return join(this.base, path);
  }

  put(path: string, content: string | Uint8Array): void {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    writeFileSync(this.at(path), content);
  }

  link(path: string, target: string): void {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    symlinkSync(target, this.at(path));
  }

  fifo(path: string): void {
    execFileSync("sh", ["-c", 'mkfifo "$0"', this.at(path)]);
  }

  text(path: string): string {
    return readFileSync(this.at(path), "utf8");
  }

  /** What every case promises, whatever it was about; then everything is removed. */
  finish(...results: readonly ToolResult[]): void {
    try {
      assert.equal(snapshot(this.at("outside")), this.outside, "something outside the mounts changed");
      const left = walk(this.base).filter(
        (path) => path.includes(".il-") || (path.endsWith(".json") && !path.startsWith(this.at("project/"))),
      );
      assert.deepEqual(left, [], "temporary files were left");
      assert.equal(openDescriptors(), this.descriptors, "a descriptor was left open");
      for (const result of results) {
        const text = JSON.stringify(result);
        assert.ok(!text.includes(this.base) && !text.includes("/proc/"), `a host path appeared: ${text}`);
      }
    } finally {
      rmSync(this.base, { recursive: true, force: true });
    }
  }
}

export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** The code of a failed result; undefined for a success. */
export function codeOf(result: ToolResult): string | undefined {
  return result.ok ? undefined : result.error.code;
}

function openDescriptors(): number {
  return process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0;
}

function walk(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? [path, ...walk(path)] : [path];
  });
}

/** Names, kinds, modes and contents of a tree as one text. */
export function snapshot(directory: string): string {
  return walk(directory)
    .map((path) => {
      const stats = lstatSync(path);
      if (stats.isSymbolicLink()) return `${path} -> ${readlinkSync(path)}`;
      return `${path} ${stats.mode} ${stats.isFile() ? sha256(readFileSync(path)) : ""}`;
    })
    .sort()
    .join("\n");
}
