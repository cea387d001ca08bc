// @module-tag slow
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, expect, inject, onTestFinished, test, vi } from "vitest";
import { SEARCH_ATTRIBUTES } from "../../src/contract/names.js";
import { findTemporalCli } from "../../src/embedded/find-cli.js";
import { eventually } from "../fakes/eventually.js";
import { COMMON_ADDRESS, type Host, openNetwork, whyNoNamespaces } from "../fakes/namespaces.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { temporaryDirectory, writeTree } from "./harness.js";
import { MAIN, type Outcome, ROOT, jsonOf } from "./shell.js";
import { removeFolder } from "../fakes/remove-folder.js";

const SERVER = `${COMMON_ADDRESS}:7233`;
const MODEL_PORT = 8080;
const MODEL = join(ROOT, "test/fakes/asking-model.mjs");
/** Of both workers of one store: they have nothing to tell them apart but where they run. */
const SAME_PID = 400;
const SAME_NAME = "worker";

/** Says so where the system makes no namespaces; in CI it must. */
async function requireNamespaces(context: TestContext): Promise<void> {
  const why = await whyNoNamespaces();
  if (why === undefined) return;
  if (process.env["CI"] !== undefined) throw new Error(`CI must be able to make namespaces: ${why}`);
  context.skip(`NOT RUN: this system makes no namespaces: ${why}`);
}

/** A machine with a store, or one with nothing but the address. */
class Machine {
  readonly host: Host;
  readonly home: string;
  readonly environment: Record<string, string>;

  constructor(host: Host, home: string, storeDir: string) {
    this.host = host;
    this.home = home;
    this.environment = {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      INTERLOCK_STORE: storeDir,
      INTERLOCK_CACHE: inject("cacheDir"),
      INTERLOCK_MODEL: "asking",
      OPENAI_API_KEY: "key",
      OPENAI_BASE_URL: `http://${COMMON_ADDRESS}:${MODEL_PORT}/v1`,
      TEMPORAL_ADDRESS: SERVER,
    };
  }

  run(...args: string[]): Promise<Outcome> {
    return this.host.run([process.execPath, MAIN, ...args], this.environment, this.home);
  }

  /** What a command that succeeds tells a program. */
  async told(...args: string[]): Promise<unknown> {
    const outcome = await this.run(...args, "--json");
    if (outcome.code !== 0) throw new Error(`${args.join(" ")}: ${outcome.code} ${outcome.stderr}`);
    return jsonOf(outcome);
  }

  async work(): Promise<void> {
    await this.host.start([process.execPath, MAIN, "worker"], {
      ready: /polls/,
      env: this.environment,
      asPid: SAME_PID,
    });
  }
}

interface Row {
  readonly runId: string;
  readonly phase: string;
  readonly question?: string;
  readonly project?: string;
  readonly store?: { readonly name: string };
}

/** Two machines with the store `office` and one with `attic`, and a client with neither. */
async function openPlace() {
  const base = await temporaryDirectory();
  const network = await openNetwork();
  onTestFinished(async () => {
    await network.close();
    await removeFolder(base);
  });
  const [office, attic, server] = ["office", "attic", "server"].map((name) => join(base, name));
  const homes = ["one", "two", "three", "client"].map((name) => join(base, name));
  for (const dir of [join(office ?? "", "shop"), join(attic ?? "", "library"), server ?? "", ...homes]) {
    await mkdir(dir, { recursive: true });
  }
  for (const dir of [office ?? "", attic ?? ""]) await writeTree(join(dir, "package"), twoNodePackage());
  const cli = await findTemporalCli({
    cacheDir: inject("cacheDir"),
    pathVariable: process.env["PATH"] ?? "",
    environment: process.env,
  });
  const attributes = Object.keys(SEARCH_ATTRIBUTES).flatMap((name) => [
    "--search-attribute",
    `${name}=Keyword`,
  ]);
  const places = [
    "--ip",
    "0.0.0.0", // in a network of its own: its services speak to each other by the loopback
    "--port",
    "7233",
    "--headless",
    "--db-filename",
    join(server ?? "", "db"),
  ];
  const environment = { PATH: process.env["PATH"] ?? "", HOME: server ?? "" };
  await network.start(
    [cli.path, "server", "start-dev", ...places, ...attributes],
    /Server:|Temporal server/i,
    environment,
  );
  await network.start([process.execPath, MODEL, COMMON_ADDRESS, String(MODEL_PORT)], /ready/, environment);

  const machine = async (index: number, hostname: string, shared: string | undefined): Promise<Machine> => {
    const home = homes[index] ?? "";
    const hidden = [office, attic, server, ...homes].filter((dir) => dir !== home && dir !== shared);
    const host = await network.host({ number: 10 + index, hostname, hidden: hidden.map(String) });
    return new Machine(host, home, join(shared ?? home, "store"));
  };
  const machines = {
    one: await machine(0, SAME_NAME, office),
    two: await machine(1, SAME_NAME, office),
    three: await machine(2, "attic", attic),
    client: await machine(3, "laptop", undefined),
  };
  await furnish(machines.one, "office", [join(office ?? "", "shop"), join(office ?? "", "package")]);
  await furnish(machines.three, "attic", [join(attic ?? "", "library"), join(attic ?? "", "package")]);
  return { ...machines, office: office ?? "" };
}

/** A store with a name and a queue of its own, a project and a package. */
async function furnish(machine: Machine, name: string, [project = "", dir = ""]: string[]): Promise<void> {
  machine.environment["INTERLOCK_TASK_QUEUE"] = name;
  await machine.told("project", "add", project);
  await machine.told("store", "name", name);
  await machine.told("package", "install", dir);
}

/** Looks until a run of the listing is as wanted. */
async function untilListed(client: Machine, runId: string, phase: string): Promise<Row> {
  let row: Row | undefined;
  await eventually(async () => {
    const rows = (await client.told("runs", "--limit", "100")) as Row[];
    row = rows.find((each) => each.runId === runId);
    return row?.phase === phase;
  }, 200);
  if (row === undefined) throw new Error("not listed");
  return row;
}

/** Each of dozens of commands loads all of its code in a namespace of its own. */
vi.setConfig({ testTimeout: 900_000 });

test("hosts that share nothing but a server, and two of them a store, run what a client starts that has only the address", async (context) => {
  await requireNamespaces(context);
  const { one, two, three, client, office } = await openPlace();
  await Promise.all([one.work(), two.work(), three.work()]);
  const start = async (project: string): Promise<string> => {
    const told = await client.told("run", "two-nodes", "--project", project, "--detach");
    return (told as { runId: string }).runId;
  };

  // Nothing is shared: a host sees neither the other store nor the processes beside it.
  expect((await three.host.run(["ls", office], {}, "/")).stdout).toBe("");
  expect((await client.host.run(["ps", "-e", "-o", "comm="], {}, "/")).stdout).not.toContain("temporal");

  for (const { host } of [one, two]) {
    expect((await host.run(["ps", "-p", String(SAME_PID), "-o", "args="], {}, "/")).stdout).toContain(
      "worker",
    );
  }

  // Stores are found.
  await eventually(async () => {
    const stores = (await client.told("stores")) as {
      name: string;
      workers: unknown[];
      projects: unknown[];
    }[];
    return (
      stores.flatMap(({ workers }) => workers).length === 3 &&
      stores.every(({ projects }) => projects.length === 1)
    );
  }, 200);
  expect(await client.told("stores")).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: "office", hosts: [SAME_NAME], polled: true }),
      expect.objectContaining({ name: "attic", hosts: ["attic"], polled: true }),
    ]),
  );
  const nowhere = await client.run("run", "two-nodes", "--project", "cellar", "--detach");
  expect(nowhere).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("no store has a project of that name"),
  });

  // A run of each store asks; it is answered by the beginning of its id.
  const shop = await start("shop");
  const library = await start("library");
  expect(await untilListed(client, shop, "waiting-user")).toMatchObject({
    question: "Which order do the shelves have?",
    project: "shop",
    store: { name: "office" },
  });
  await untilListed(client, library, "waiting-user");
  expect(await client.told("status", shop.slice(0, 8))).toMatchObject({ runId: shop, phase: "waiting-user" });
  await client.told("answer", `run-${library.slice(0, 9)}`, "Shelves by color");
  await untilListed(client, library, "completed");
  // What lies in a store is read from the client, which has none.
  expect((await client.run("watch", library)).stdout).toMatch(
    /the user says: Shelves by color[^]*finish +completed/,
  );
  expect((await client.run("transcript", library)).stdout).toContain("> Shelves by color");
  expect(await client.told("artifacts", library)).toEqual([]);
  expect((await client.run("transcript", shop)).stdout).toContain("> Which order do the shelves have?");
  expect(await client.told("export", library)).toMatchObject({ runId: library });
  expect(await readdir(client.home)).toContain(`run-${library}.zip`);

  // The attic loses its only host while a run of it waits.
  const left = await start("library");
  await untilListed(client, left, "waiting-user");
  await three.host.kill();

  // Cancelled and retried from the client, on the queue of its own store.
  await client.told("cancel", shop);
  await untilListed(client, shop, "failed");
  await client.told("retry", shop, "--detach");
  await untilListed(client, shop, "waiting-user");

  // One of two hosts is gone: what was under way goes on at the other, which takes it for no process of its own.
  const more = await Promise.all(Array.from({ length: 2 }, () => start("shop")));
  for (const runId of more) await untilListed(client, runId, "waiting-user");
  const answered = [shop, ...more].map((runId) => client.told("answer", runId, "Shelves by color"));
  await one.host.kill();
  await Promise.all(answered);
  for (const runId of [shop, ...more]) {
    await untilListed(client, runId, "completed");
    expect(await two.told("audit", "verify", runId)).toMatchObject({ ok: true });
  }
  expect(await two.told("export", shop)).toMatchObject({ runId: shop });

  // Since the attic is gone, its run waits for a worker; the listing and the status say so.
  await eventually(
    async () => /No worker polls/.test((await client.run("runs", "--store", "attic")).stderr),
    1_000,
  );
  const { stderr } = await client.run("runs", "--store", "attic");
  expect(stderr).toMatch(
    /No worker polls the task queue "attic" of the store attic since .* UTC: 1 run waits/,
  );
  expect(await client.told("runs", "--store", "attic")).toHaveLength(2);
  const status = await client.run("status", left);
  expect(status.stderr).toMatch(/No worker polls the task queue "attic" since .* UTC: the run waits/);
  expect((await readdir(join(office, "store"))).filter((name) => name.includes(".tmp-"))).toEqual([]);
});
