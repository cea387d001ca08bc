// @module-tag slow
import { ServiceError } from "@temporalio/client";
import { expect, inject, onTestFinished, test } from "vitest";
import { InterlockClient } from "../../src/client/client.js";
import { connect } from "../../src/client/temporal/connect.js";
import { DEADLINE_EXCEEDED, statusIn } from "../../src/client/temporal/grpc-status.js";
import { stopServer } from "../../src/embedded/server-process.js";
import { readServerRecord, serverFiles } from "../../src/embedded/server-record.js";
import { door } from "../fakes/door.js";
import { eventually } from "../fakes/eventually.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { openBench, until } from "./harness.js";
import { begin } from "./begin-command.js";
import { newShell, shellOf } from "./shell.js";

const AWAY = "Temporal does not answer any more. It is asked again until it does.";
const BACK = "Temporal answers again.";

test("whoever follows a run, or tells it something, is told that Temporal is away, and goes on when it is back", async () => {
  const bench = await openBench(() => ({ content: "Which one?" }));
  const { address, shut, reopen } = await door(inject("temporalAddress"));
  const { taskQueue } = bench.client;
  const client = await InterlockClient.connect({ connection: { address }, taskQueue });
  onTestFinished(() => client.close());
  const shell = shellOf(bench, { TEMPORAL_ADDRESS: address });
  const asking = await bench.start(twoNodePackage());
  const budget = { run: { turns: 50 } };
  const told = await Promise.all([1, 2, 3].map(() => bench.start(twoNodePackage(), { budget })));
  for (const run of [asking, ...told]) await until(run, "waiting-user");
  await bench.stopWorker();
  const { runId } = await bench.start(twoNodePackage());
  const watching = begin(shell, ["watch", runId]);
  const asEvents = begin(shell, ["watch", runId, "--events"]);
  const answering = begin(shell, ["answer", asking.runId, "Red."]);
  const running = begin(shell, ["run", "two-nodes", "--project", bench.projectRoot]);
  const [paused, cancelled, raised] = told.map((run) => run.runId);
  const pausing = begin(shell, ["pause", paused ?? ""]);
  const cancelling = begin(shell, ["cancel", cancelled ?? ""]);
  const raising = begin(shell, ["budget", raised ?? "", "--add-turns", "5"]);
  const commands = [watching, asEvents, answering, running, pausing, cancelling, raising];
  await eventually(() => commands.every(({ said }) => said.notes.includes("No worker")));

  await shut();
  await eventually(() => commands.every(({ said }) => said.notes.includes(AWAY)));
  // Longer than the client itself tries a request.
  await expect(client.handle(runId).executionStatus()).rejects.toBeInstanceOf(ServiceError);
  await expect(client.handle(runId).executionStatus()).rejects.toBeInstanceOf(ServiceError);
  await reopen();
  await eventually(() => commands.every(({ said }) => said.notes.includes(BACK)));
  await bench.startAnotherWorker();

  expect(await Promise.all(commands.map(({ closed }) => closed))).toEqual([
    [3, null],
    [3, null],
    [0, null],
    [3, null],
    [0, null],
    [0, null],
    [0, null],
  ]);
  expect(watching.said.out).toContain("Which one?");
  expect(pausing.said.out).toContain("Paused.");
  expect(cancelling.said.out).toContain("Cancelled.");
  const { budget: now } = await bench.client.handle(raised ?? "").state();
  expect(now).toMatchObject({ run: { turns: 55 } }); // once, however often it was told
  expect(commands.map(({ said }) => said.notes.split(AWAY).length)).toEqual(commands.map(() => 2));
});

test("a worker says once that Temporal is away, and that it is back", async () => {
  const bench = await openBench([]);
  const { address, shut, reopen } = await door(inject("temporalAddress"));
  const { said, child, closed } = begin(shellOf(bench, { TEMPORAL_ADDRESS: address }), ["worker"]);
  await eventually(() => said.out.includes("Stop with Ctrl-C."));
  await shut();
  await eventually(() => said.notes.includes(AWAY));
  await reopen();
  await eventually(() => said.notes.includes(BACK));
  expect(said.notes.split(AWAY)).toHaveLength(2);
  expect(said.notes).not.toContain("retried");
  child.kill("SIGINT");
  expect(await closed).toEqual([0, null]);
});

test("a worker whose embedded server has died says what starts another", async () => {
  const shell = await newShell();
  const files = serverFiles(shell.environment["INTERLOCK_STORE"] ?? "");
  const { said, child, closed } = begin(shell, ["dev", "--quiet", "--no-page"]);
  onTestFinished(async () => void (await stopServer(files)));
  await eventually(() => said.out.includes("Stop with Ctrl-C."));
  process.kill(readServerRecord(files)?.pid ?? Number.NaN, "SIGKILL");
  await eventually(() =>
    said.notes.includes("The Temporal server of this store has ended. Stop this command"),
  );
  expect(said.notes).not.toContain(AWAY);
  child.kill("SIGINT");
  expect(await closed).toEqual([0, null]);
});

test("a Temporal that stands still, its connections open, is one that does not answer: it is said, and so is that it is back", async () => {
  const bench = await openBench(() => ({ content: "Which one?" }));
  const { address, still, goOn } = await door(inject("temporalAddress"));
  const waiting = begin(shellOf(bench, { TEMPORAL_ADDRESS: address }), ["inbox", "--watch"]);
  await eventually(() => waiting.said.notes.includes("Waiting for questions."));
  still();
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  await eventually(() => waiting.said.notes.includes(AWAY));
  goOn();
  await eventually(() => waiting.said.notes.includes(BACK) && waiting.said.out.includes("Which one?"));
  waiting.child.kill("SIGINT");
  expect(await waiting.closed).toEqual([0, null]);
});

test("while Temporal stands still, a request ends in its time: as not answered in it", async () => {
  const { address, still } = await door(inject("temporalAddress"));
  let isReached = true;
  const connection = await connect({ address }, (is) => (isReached = is));
  onTestFinished(() => connection.close());
  still();
  const ask = (): Promise<unknown> => connection.workflowService.getClusterInfo({}).catch(statusIn);
  void ask(); // by what is not answered it is noticed
  await eventually(() => !isReached);
  expect(await connection.withDeadline(Date.now() + 500, ask)).toMatchObject({ code: DEADLINE_EXCEEDED });
});

test("a Temporal that has the address of another one after an outage is asked nothing, until the other one is back", async () => {
  const { address, shut, reopen } = await door(inject("temporalAddress"));
  let isStill = true;
  const reached: boolean[] = [];
  const onReach = (isReached: boolean): void => void reached.push(isReached);
  const connection = { address };
  const careful = await InterlockClient.connect({ connection, onReach, isStill: () => isStill });
  const careless = await InterlockClient.connect({ connection });
  onTestFinished(() => Promise.all([careful.close(), careless.close()]).then(() => undefined));
  const ask = ({ temporal, namespace }: InterlockClient): Promise<unknown> =>
    temporal.withDeadline(Date.now() + 8_000, () =>
      temporal.workflowService.describeNamespace({ namespace }),
    );
  for (const client of [careful, careless]) await ask(client);
  await shut();
  for (const client of [careful, careless]) await expect(ask(client)).rejects.toBeInstanceOf(Error);
  isStill = false;
  await reopen();
  await eventually(() =>
    ask(careless).then(
      () => true,
      () => false,
    ),
  );
  await expect(ask(careful)).rejects.toSatisfy((error) => statusIn(error)?.code === DEADLINE_EXCEEDED);
  expect(reached).toEqual([false]);
  isStill = true;
  await ask(careful);
  expect(reached).toEqual([false, true]);
});

test("a worker that is stopped while Temporal is silent says that it waits, and that the next worker does again what it was at", async () => {
  const { address, stall } = await door(inject("temporalAddress"));
  const bench = await openBench(() => {
    stall();
    return { content: "Which one?" };
  });
  await bench.stopWorker();
  const { said, child, closed } = begin(shellOf(bench, { TEMPORAL_ADDRESS: address }), ["worker"]);
  await bench.start(twoNodePackage());
  await eventually(() => bench.model.requests.length > 0);
  child.kill("SIGINT");
  expect(await closed).toEqual([0, null]);
  expect(said.notes).toContain("The worker ends what it is at");
  expect(said.notes).toContain("Nothing is lost: the next worker does it again.");
  expect(said.notes).not.toMatch(/^IllegalStateError/m);
});
