import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openRun } from "../../src/activities/open-run.js";
import { recordPhase, recordSnapshot, recordUserInput } from "../../src/activities/run-records.js";
import type { AuditHead } from "../../src/core/run/audit-head.js";
import type { Budget } from "../../src/core/run/budget.js";
import type { RunRef } from "../../src/core/run/run-ref.js";
import type { RunFiles } from "../../src/store/runs/run-files.js";
import { type Store, openStore } from "../../src/store/store.js";
import { createBundleHost } from "../../src/tools/bundle/bundle-host.js";
import { type ToolHost, createToolHost } from "../../src/tools/graph/tool-host.js";
import { valueOf } from "../fakes/run-world.js";
import type { Evidence, InstalledVersions, ReceivedNotice, RunOperations } from "./evidence.js";
import type { ChaosPlan, PlannedRun } from "./plan.js";
import { type PlannedTurn, answerIdOf } from "./plan-visits.js";
import { installVersion, makeProjects } from "./set-up.js";
import { WEBHOOK } from "./surroundings.js";

/** Walks a plan without Temporal, and leaves what its runs would have left, histories of the least size included. */
export async function walkByHand(dir: string, plan: ChaosPlan): Promise<Evidence> {
  const storeDir = join(dir, "store");
  const projectsDir = join(dir, "projects");
  const historiesDir = join(dir, "histories");
  await mkdir(historiesDir, { recursive: true });
  const store = await openStore(storeDir, undefined, { projectRoots: [projectsDir] });
  await makeProjects(plan, projectsDir);
  const packages: InstalledVersions[] = [];
  for (const planned of plan.packages) {
    const [own, newest] = [
      await installVersion(store, dir, planned, "1.0.0"),
      await installVersion(store, dir, planned, "1.1.0"),
    ];
    packages.push({ workflow: planned.workflow, oldest: "collected", own, newest });
  }
  const notices: ReceivedNotice[] = [];
  const operations: RunOperations[] = [];
  for (const run of plan.runs) {
    const projectRoot = join(projectsDir, run.project);
    const packageId = packages.find(({ workflow }) => workflow === run.workflow)?.own ?? "";
    const walk = await Walk.begin(store, run, projectRoot, packageId);
    const head = await walk.toTheEnd();
    const { answers, raises, projectId } = walk;
    const { runId } = run;
    notices.push(...walk.notices);
    operations.push({ runId, projectId, status: "COMPLETED", failures: [], pauses: [], answers, raises });
    for (const [index, history] of historiesOf(walk, head).entries()) {
      await writeFile(join(historiesDir, `${runId}.${index}.json`), history);
    }
  }
  const figures = { faults: {}, hits: {}, struck: {} };
  const nothing = {
    requests: [],
    workers: [],
    figures,
    ledger: {},
    pruned: [],
    ofBackups: [],
    keptDir: join(dir, "kept"),
  };
  return { plan, operations, notices, packages, ...nothing, storeDir, projectsDir, historiesDir };
}

const NO_TOKENS = { promptTokens: 0, completionTokens: 0, cost: 0 };

class Walk {
  readonly answers: RunOperations["answers"][number][] = [];
  /** One for a run that has a budget. */
  readonly raises: RunOperations["raises"];
  /** What somebody would have been told of it. */
  readonly notices: ReceivedNotice[] = [];
  private readonly usage = { modelTurns: 0, toolCalls: 0, ...NO_TOKENS };
  private changes = 0;
  private readonly store: Store;
  private readonly host: ToolHost;
  private readonly planned: PlannedRun;
  private readonly projectRoot: string;
  private readonly run: RunRef;
  private readonly files: RunFiles;

  private constructor(store: Store, planned: PlannedRun, projectRoot: string, run: RunRef, files: RunFiles) {
    this.store = store;
    this.host = createToolHost({ store });
    this.planned = planned;
    this.projectRoot = projectRoot;
    this.run = run;
    this.files = files;
    const { budget } = planned.user;
    const scope = budget?.run === undefined ? "node" : "run";
    this.raises =
      budget === undefined
        ? []
        : [{ raiseId: "raise-at-1", at: 0, scope, turns: budget.raise, isAccepted: true }];
  }

  static async begin(
    store: Store,
    planned: PlannedRun,
    projectRoot: string,
    packageId: string,
  ): Promise<Walk> {
    const { runId, agentId } = planned;
    const deps = { store, bundles: createBundleHost({ store }) };
    const input = { runId, projectRoot, packageId, activeAgentId: agentId };
    const { run } = await openRun(deps, { kind: "graph", input });
    const files = valueOf(await store.runs.openFiles(run.projectId, runId));
    return new Walk(store, planned, projectRoot, run, files);
  }

  get projectId(): string {
    return this.run.projectId;
  }

  async toTheEnd(): Promise<AuditHead> {
    const { visits, input } = this.planned;
    for (const [index, { nodeId, turns }] of visits.entries()) {
      const visit = index + 1;
      const conversation = `visit-${visit}`;
      if (visit === 1) await this.say(conversation, "input", nodeId, input);
      await this.files.conversation(conversation).append([{ type: "begin", visit, messages: [] }]);
      for (const [place, turn] of turns.entries()) await this.take(turn, nodeId, visit, place + 1);
      const next = visits[visit]?.nodeId ?? nodeId;
      const { sha256: documentSha256 } = valueOf(await this.files.state.read());
      const timestamp = new Date(0).toISOString();
      await recordSnapshot(this.store, {
        run: this.run,
        boundary: { visit, nodeId, next, timestamp, documentSha256 },
      });
    }
    return this.enter("completed");
  }

  private async take(planned: PlannedTurn, nodeId: string, visit: number, turn: number): Promise<void> {
    const conversation = `visit-${visit}`;
    this.usage.modelTurns += 1;
    const said = "calls" in planned ? planned.calls : [];
    const calls = said.map(({ id, name, arguments: args }) => ({
      id,
      name,
      argumentsJson: typeof args === "string" ? args : JSON.stringify(args),
    }));
    const model = `answer-${this.usage.modelTurns}`;
    const content = "question" in planned ? planned.question : "says" in planned ? planned.says : "";
    const entry = { visit, turn, content, calls, finishReason: "stop", usage: NO_TOKENS, model };
    await this.files.conversation(conversation).append([{ type: "assistant", ...entry }]);
    await this.files.audit.record({ kind: "model.turn", id: `${visit}.${turn}` }, new Date(0));
    for (const { id, name, argumentsJson } of calls) {
      this.usage.toolCalls += 1;
      const { runId, packageId, workflowRef: workflowId, activeAgentId: agentId } = this.run;
      const context = { projectRoot: this.projectRoot, packageId, workflowId, runId, agentId };
      await this.host.executeForEngine({ toolCallId: id, name, argumentsJson, context }, { nodeId });
    }
    if (!("question" in planned)) return;
    await this.enter("waiting-user");
    const answerId = answerIdOf(planned.question);
    this.answers.push({ answerId, nodeId, text: planned.answer });
    await this.say(conversation, answerId, nodeId, planned.answer);
    await this.enter("running");
  }

  private say(conversation: string, inputId: string, nodeId: string, text: string): Promise<AuditHead> {
    return recordUserInput(this.store, { run: this.run, conversation, inputId, nodeId, text });
  }

  private enter(phase: "running" | "waiting-user" | "completed"): Promise<AuditHead> {
    this.changes += 1;
    if (phase !== "running") {
      const id = `notice-${this.run.runId}-${this.changes}-${WEBHOOK}`;
      this.notices.push({ id, body: phase });
    }
    const { run, usage, changes: change, store } = this;
    return recordPhase(
      { store, bundles: createBundleHost({ store }) },
      { run, phase, change, nodeId: "", usage, budget: this.budget },
    );
  }

  private get budget(): Budget {
    const { run, node } = this.planned.user.budget ?? {};
    const more = (scope: "run" | "node") =>
      this.raises.reduce((sum, raise) => sum + (raise.scope === scope ? raise.turns : 0), 0);
    return {
      ...(run === undefined ? {} : { run: { turns: run.turns + more("run") } }),
      ...(node === undefined ? {} : { node: { turns: node.turns + more("node") } }),
    };
  }
}

/** The events that the checker looks at, in an execution that continues as new and in the one that completes. */
function historiesOf({ answers, raises }: Walk, head: AuditHead): readonly string[] {
  const data = Buffer.from(JSON.stringify(head)).toString("base64");
  const metadata = { encoding: Buffer.from("json/plain").toString("base64") };
  const updates = [
    ...answers.map(({ answerId }) => ({ name: "answer", updateId: answerId })),
    ...raises.map(({ raiseId }) => ({ name: "budget", updateId: raiseId })),
  ];
  const first = [
    {
      eventType: "EVENT_TYPE_WORKFLOW_EXECUTION_STARTED",
      workflowExecutionStartedEventAttributes: { originalExecutionRunId: "first" },
    },
    ...updates.map(({ name, updateId }) => ({
      eventType: "EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED",
      workflowExecutionUpdateAcceptedEventAttributes: {
        acceptedRequest: { meta: { updateId }, input: { name } },
      },
    })),
    {
      eventType: "EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW",
      workflowExecutionContinuedAsNewEventAttributes: { newExecutionRunId: "second" },
    },
  ];
  const second = [
    {
      eventType: "EVENT_TYPE_WORKFLOW_EXECUTION_STARTED",
      workflowExecutionStartedEventAttributes: {
        originalExecutionRunId: "second",
        continuedExecutionRunId: "first",
      },
    },
    {
      eventType: "EVENT_TYPE_ACTIVITY_TASK_COMPLETED",
      activityTaskCompletedEventAttributes: { result: { payloads: [{ metadata, data }] } },
    },
    { eventType: "EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED", workflowExecutionCompletedEventAttributes: {} },
  ];
  return [first, second].map((events) =>
    JSON.stringify({ events: events.map((event, index) => ({ eventId: String(index + 1), ...event })) }),
  );
}
