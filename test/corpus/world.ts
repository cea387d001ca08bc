import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { planCalls } from "../../src/activities/plan-calls.js";
import { ERROR_CODES } from "../../src/core/errors.js";
import type { ToolResult } from "../../src/core/tools/tool-result.js";
import { CHAIN_START } from "../../src/store/runs/audit-log.js";
import { verifyAuditLog } from "../../src/store/runs/audit-verify.js";
import { type Store, openStore } from "../../src/store/store.js";
import { type ToolHost, createToolHost } from "../../src/tools/graph/tool-host.js";
import { bytesOf } from "../fakes/package-fixture.js";
import { corpusPackage } from "./corpus-package.js";
import { ENV_SECRET, KEY_SECRET, OUTSIDE_SECRET, ProjectTree } from "./project-tree.js";

export interface Call {
  readonly tool: string;
  /** Arguments as a value, or as the text that the model sent. */
  readonly args?: unknown;
  readonly raw?: string;
  readonly agent?: string;
  readonly id?: string;
}

export interface Seen {
  readonly result: ToolResult;
  /** Paths that are new, gone or different, below the world's base: `project/x.txt`, `state/workflow.md`. */
  readonly changes: readonly string[];
  readonly auditLine: Readonly<Record<string, unknown>> | undefined;
}

/** Path → what a look at it without opening it tells; any write shows in ctime. */
type Snapshot = ReadonlyMap<string, string>;

const DOCUMENT = "state/workflow.md";
const TEMPORARY = /\/\.(?:il|tmp)-/;
const LONG_TAIL = "the-tail-of-a-long-content";

/** Where worlds are made: in memory where the system offers that, since a store syncs every byte to the disk. */
export function scratchRoot(): string {
  const memory = statSync("/dev/shm", { throwIfNoEntry: false });
  return memory?.isDirectory() === true ? "/dev/shm" : tmpdir();
}

/** Text that is too long to stand in a log; its end says whether it does. */
export function longText(bytes: number): string {
  return `${"z".repeat(bytes - LONG_TAIL.length)}${LONG_TAIL}`;
}

/**
 * A store, a package, a project and a run, with something outside the mounts that must never change or be seen. Every
 * call made here is held against what holds for all calls, whatever they are about.
 */
export class World {
  readonly base: string;
  readonly store: Store;
  readonly packageId: string;
  readonly runId: string;
  readonly initialState: Buffer;
  readonly stateDir: string;
  host: ToolHost;
  private readonly runDir: string;
  private readonly logFile: string;
  private readonly tree: ProjectTree;
  private readonly sentinel: Snapshot;
  private readonly descriptors: number;
  /** The mounts as every case finds them, but for the state document. */
  private clean: Snapshot | undefined;
  private before: Snapshot = new Map();
  private logBytes = 0;
  private lines = 0;
  private last = CHAIN_START;
  private calls = 0;

  private constructor(
    base: string,
    store: Store,
    tree: ProjectTree,
    ids: { packageId: string; runId: string; statePath: string },
  ) {
    this.base = base;
    this.store = store;
    this.tree = tree;
    this.packageId = ids.packageId;
    this.runId = ids.runId;
    this.stateDir = dirname(ids.statePath);
    this.runDir = dirname(this.stateDir);
    this.logFile = join(this.stateDir, "logs", "execution.jsonl");
    this.initialState = readFileSync(ids.statePath);
    this.host = createToolHost({ store });
    this.sentinel = this.snapshotOutside();
    this.descriptors = this.openDescriptors();
  }

  static async open(files: Record<string, unknown> = corpusPackage()): Promise<World> {
    const base = realpathSync(mkdtempSync(join(scratchRoot(), "interlock-corpus-")));
    const put = (path: string, content: unknown) => {
      mkdirSync(dirname(join(base, path)), { recursive: true });
      writeFileSync(join(base, path), bytesOf(content));
    };
    put("outside/secret.txt", `${OUTSIDE_SECRET}\n`);
    put("outside/dir/secret.txt", `${OUTSIDE_SECRET}\n`);
    put("secret.txt", `${OUTSIDE_SECRET}\n`);
    put("project-2/secret.txt", `${OUTSIDE_SECRET}\n`);
    symlinkSync("secret.txt", join(base, "outside/link"));
    for (const [path, content] of Object.entries(files)) put(`package/${path}`, content);
    mkdirSync(join(base, "project"));
    const tree = new ProjectTree(base, join(base, "templates"));
    const store = await openStore(join(base, "store"));
    const installed = await store.packages.install(join(base, "package"));
    if (!installed.ok) throw new Error(JSON.stringify(installed.error));
    const { packageId } = installed.value;
    const projectRoot = join(base, "project");
    const other = await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" });
    const run = await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" });
    if (!run.ok || !other.ok) throw new Error(JSON.stringify(run));
    const { runId } = run.value;
    const statePath = await store.runs.getRunStatePath(projectRoot, runId);
    if (!statePath.ok) throw new Error(JSON.stringify(statePath.error));
    const log = join(
      dirname(dirname(dirname(statePath.value))),
      other.value.runId,
      "state/logs/execution.jsonl",
    );
    writeFileSync(log, `${OUTSIDE_SECRET}\n`);
    mkdirSync(join(base, "store/locks"), { recursive: true });
    return new World(base, store, tree, { packageId, runId, statePath: statePath.value });
  }

  close(): void {
    makeRemovable(this.base);
    rmSync(this.base, { recursive: true, force: true });
  }

  at(path: string): string {
    return path === "state" || path.startsWith("state/") ? join(this.runDir, path) : join(this.base, path);
  }

  read(path: string): Buffer {
    return readFileSync(this.at(path));
  }

  /** Puts project and state folder into the state that every case begins with; `state` replaces the document. */
  reset(state: Uint8Array | string = this.initialState): void {
    if (this.clean === undefined || difference(this.clean, this.before).some((path) => path !== DOCUMENT)) {
      this.tree.build();
      for (const name of readdirSync(this.stateDir)) {
        if (name !== "logs") rmSync(join(this.stateDir, name), { recursive: true, force: true });
      }
      this.clean = this.snapshotMounts();
      this.before = this.clean;
    }
    const bytes = Buffer.from(state);
    const path = this.at(DOCUMENT);
    if (statSync(path, { throwIfNoEntry: false })?.isFile() && readFileSync(path).equals(bytes)) return;
    writeFileSync(path, bytes, { mode: 0o600 });
    this.before = new Map(this.before).set(DOCUMENT, signature(path));
  }

  /** Says that the case itself has changed the mounts: the next call is compared with what is there now. */
  arranged(): void {
    this.before = this.snapshotMounts();
  }

  /** Makes one call and checks what every call promises. `lines` is how many audit lines it has to add. */
  async call(call: Call, lines = 1): Promise<Seen> {
    const id = call.id ?? `call-${(this.calls += 1)}`;
    const argumentsJson = call.raw ?? JSON.stringify(call.args);
    const request = this.request(id, call.tool, argumentsJson, call.agent);
    const { before } = this;
    const result = await this.host.executeToolCall(request);
    const after = this.snapshotMounts();
    const changes = difference(before, after);
    this.before = after;
    const auditLine = this.checkLog(id, `${call.tool} ${argumentsJson}`, lines);
    checkResult(result);
    this.checkNothingShown(JSON.stringify(result));
    this.checkPlaces();
    const isText = typeof argumentsJson === "string" && typeof call.tool === "string";
    if (call.agent === undefined && isText) checkPlan(request, result);
    return { result, changes, auditLine };
  }

  /** Makes calls at once and checks the same of all of them together. */
  async callAtOnce(calls: readonly (Call & { readonly id: string })[]): Promise<readonly ToolResult[]> {
    const results = await Promise.all(
      calls.map(({ id, tool, args, raw, agent }) =>
        this.host.executeToolCall(this.request(id, tool, raw ?? JSON.stringify(args), agent)),
      ),
    );
    for (const result of results) {
      checkResult(result);
      this.checkNothingShown(JSON.stringify(result));
    }
    this.checkPlaces();
    const ids = new Set(calls.map((call) => call.id));
    const added = this.newLines(calls.map((call) => call.raw ?? JSON.stringify(call.args)).join(" "));
    assert.equal(added.length, ids.size, "one audit line per call");
    assert.deepEqual(new Set(added.map((line) => line["toolCallId"])), ids, "one audit line per call");
    this.before = this.snapshotMounts();
    return results;
  }

  /** For a call that was made past this world: its one line in the log. */
  expectLine(id: string): void {
    assert.deepEqual(
      this.newLines("").map((line) => line["toolCallId"]),
      [id],
    );
  }

  /** The whole log, by the product's own verifier; its head is what this world has followed line by line. */
  async checkChain(): Promise<void> {
    const known = { lines: this.lines, sha256: this.last };
    assert.deepEqual(await verifyAuditLog(this.logFile, known), { ...known, findings: [] });
  }

  /** What holds of the disk after any operation. */
  checkPlaces(): void {
    assert.deepEqual(
      difference(this.sentinel, this.snapshotOutside()),
      [],
      "something outside the mounts changed",
    );
    assert.equal(this.openDescriptors(), this.descriptors, "a descriptor was left open");
    const left = [...this.before.keys()].filter((path) => TEMPORARY.test(path));
    const notes = readdirSync(join(this.base, "store/locks")).filter((name) => !name.endsWith(".lock"));
    assert.deepEqual([...left, ...notes], [], "temporary files were left");
    for (const name of readdirSync(this.runDir)) {
      assert.match(
        name,
        /^(?:state|conversation|blobs|calls\.jsonl|[a-z]+\.jsonl\.index|[a-z]+\.lock)$/,
        "a file beside the state",
      );
    }
  }

  /** No host path and nothing from outside the mounts. */
  checkNothingShown(text: string): void {
    assert.doesNotMatch(text, /\/proc\/self\/fd\/\d/, "shown: a descriptor");
    const said = text.toLowerCase(); // a path that is shown in small letters is shown
    for (const hidden of [this.base, OUTSIDE_SECRET, ENV_SECRET, process.cwd()]) {
      assert.ok(!said.includes(hidden.toLowerCase()), `shown: ${hidden} in ${text.slice(0, 2000)}`);
    }
  }

  private request(toolCallId: string, name: string, argumentsJson: string, agentId = "author") {
    const { packageId, runId } = this;
    const context = {
      projectRoot: join(this.base, "project"),
      packageId,
      workflowId: "corpus",
      runId,
      agentId,
    };
    return { toolCallId, name, argumentsJson, context };
  }

  private checkLog(id: string, argumentsJson: string, lines: number): Seen["auditLine"] {
    const added = this.newLines(argumentsJson);
    assert.equal(added.length, lines, "audit lines");
    const line = added[0];
    if (line !== undefined) assert.equal(line["toolCallId"], id);
    return line;
  }

  private newLines(argumentsJson: string): readonly Readonly<Record<string, unknown>>[] {
    const bytes = readFrom(this.logFile, this.logBytes);
    const text = bytes.toString("utf8");
    const texts = text.split("\n").slice(0, -1);
    const last = this.last;
    this.logBytes += bytes.length;
    this.lines += texts.length;
    this.last = texts.length === 0 ? last : sha256(texts.at(-1) ?? "");
    if (text === "") return [];
    assert.ok(text.endsWith("\n"), "the log ends with a line end");
    assert.doesNotMatch(text, /[\r\u0085\u2028\u2029\v\f]/, "what a reader may take for a line end");
    for (const secret of [OUTSIDE_SECRET, ENV_SECRET, KEY_SECRET, KEY_SECRET.slice(0, 12), LONG_TAIL]) {
      assert.ok(!text.includes(secret), `logged: ${secret}`);
    }
    if (!argumentsJson.includes(this.base)) assert.ok(!text.includes(this.base), `logged: ${this.base}`);
    return texts.map((line, index) => checkLine(line, index === 0 ? last : sha256(texts[index - 1] ?? "")));
  }

  private snapshotMounts(): Snapshot {
    const seen = new Map<string, string>();
    look(join(this.base, "project"), "project", seen);
    look(this.stateDir, "state", seen);
    seen.delete("state/logs/execution.jsonl");
    return seen;
  }

  private snapshotOutside(): Snapshot {
    const seen = new Map<string, string>();
    const runFolder = relative(this.base, this.runDir);
    look(
      this.base,
      "",
      seen,
      (path) => path === "/project" || path === "/store/locks" || path === `/${runFolder}`,
    );
    for (const path of seen.keys()) {
      if (path.endsWith(".lock") || path === "/templates/fifo") seen.delete(path);
      else if (path === "/templates/hard.txt") seen.set(path, sha256(readFileSync(this.base + path)));
      else if (lstatSync(this.base + path).isFile()) {
        seen.set(path, `${seen.get(path)} ${sha256(readFileSync(this.base + path))}`);
      }
    }
    return seen;
  }

  private openDescriptors(): number {
    if (process.platform !== "linux") return 0;
    const targets = readdirSync("/proc/self/fd").map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return ""; // the one that was used to look
      }
    });
    return targets.filter((target) => target.startsWith(this.base)).length;
  }
}

function look(
  dir: string,
  name: string,
  seen: Map<string, string>,
  leaveOut?: (path: string) => boolean,
): void {
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = `${name}/${entry.name}`;
    if (leaveOut?.(path) === true) continue;
    const at = `${dir}/${entry.name}`;
    seen.set(path, signature(at));
    if (entry.isDirectory()) look(at, path, seen, leaveOut);
  }
}

/** A directory is known by its children: its times change with each of them, as a FIFO's do with its links. */
function signature(path: string): string {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return "a name that is not UTF-8";
  const { ino, mode, size, mtimeNs, ctimeNs } = stats;
  const isLeaf = stats.isFile() || stats.isSymbolicLink();
  return isLeaf ? `${ino} ${mode} ${size} ${mtimeNs} ${ctimeNs}` : `${ino} ${mode}`;
}

function difference(before: Snapshot, after: Snapshot): readonly string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path)).sort();
}

function readFrom(path: string, start: number): Buffer {
  const fd = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(fstatSync(fd).size - start);
    readSync(fd, bytes, 0, bytes.length, start);
    return bytes;
  } finally {
    closeSync(fd);
  }
}

export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** The code of a failed result; `ok` for a success. */
export function codeOf(result: ToolResult): string {
  return result.ok ? "ok" : result.error.code;
}

function checkLine(text: string, previous: string): Readonly<Record<string, unknown>> {
  const line = JSON.parse(text) as Record<string, unknown>;
  const { ts, kind, toolName, agentId, nodeId, input, output, durationMs, prev } = line;
  assert.equal(kind, "tool.exec");
  assert.equal(prev, previous, "the chain");
  assert.equal(new Date(String(ts)).toISOString(), ts);
  for (const field of [toolName, agentId, nodeId]) assert.equal(typeof field, "string");
  assert.ok(input !== undefined && output !== undefined && typeof durationMs === "number");
  assert.ok(Buffer.byteLength(text) < 20_000, "an audit line stays short");
  return line;
}

function checkResult(result: ToolResult): void {
  assert.deepEqual(JSON.parse(JSON.stringify(result)), result, "a result is JSON");
  if (result.ok) return;
  assert.deepEqual(Object.keys(result).sort(), ["error", "ok"]);
  assert.ok(ERROR_CODES.includes(result.error.code), `unknown code ${result.error.code}`);
  assert.notEqual(result.error.code, "E_INTERNAL", JSON.stringify(result));
  assert.ok(result.error.message.length > 0 && result.error.message.length < 4000, "a message is a sentence");
}

/**
 * The same call through a run: what its plan refuses before the call is made is refused with the same code here, so that
 * both surfaces agree.
 */
function checkPlan(
  request: { toolCallId: string; name: string; argumentsJson: string },
  result: ToolResult,
): void {
  const [plan] = planCalls([
    {
      id: request.toolCallId,
      name: request.name.slice(0, 100),
      argumentsJson: request.argumentsJson,
    },
  ]);
  if (plan?.fault !== undefined) assert.equal(codeOf(result), plan.fault.code, "both surfaces");
}

/** Not by a recursive listing: that of some versions of Node follows links. */
function makeRemovable(dir: string): void {
  chmodSync(dir, 0o700);
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (entry.isDirectory()) makeRemovable(join(dir, entry.name));
  }
}
