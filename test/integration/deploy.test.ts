import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, inject, onTestFinished, test } from "vitest";
import { InterlockClient } from "../../src/client/client.js";
import { findTemporalCli } from "../../src/embedded/find-cli.js";
import { eventually } from "../fakes/eventually.js";
import { freePort } from "../fakes/free-port.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";
import { MAIN } from "./shell.js";

/** What the containers of docker-compose.yml run, run here on the suite's server. */
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

function run(file: string, args: readonly string[], env: Record<string, string>) {
  return new Promise<{ code: number | string; output: string }>((resolve) => {
    execFile(file, args, { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    );
  });
}

test("set-up-namespace.sh makes the namespace with our search attributes, and a second time does nothing", async () => {
  const dir = await temporaryDirectory();
  const pathVariable = process.env["PATH"] ?? "";
  const cli = await findTemporalCli({ cacheDir: inject("cacheDir"), pathVariable, environment: process.env });
  await symlink(cli.path, join(dir, "temporal"));
  const namespace = `deploy-${randomUUID()}`;
  const environment = {
    PATH: `${dir}:${pathVariable}`,
    HOME: dir,
    TEMPORAL_ADDRESS: inject("temporalAddress"),
    TEMPORAL_NAMESPACE: namespace,
  };
  const script = join(ROOT, "deploy/set-up-namespace.sh");

  const first = await run("sh", [script], environment);
  expect(first).toMatchObject({ code: 0, output: expect.stringContaining("RunProject") });
  expect(await run("sh", [script], environment)).toEqual({ code: 0, output: "" });

  const client = await InterlockClient.connect({
    connection: { address: inject("temporalAddress") },
    namespace,
  });
  onTestFinished(() => client.close());
  expect(await client.missingSearchAttributes()).toEqual([]);
});

test("worker-health.mjs passes when the worker is ready, and fails with a sentence when none answers", async () => {
  const dir = await temporaryDirectory();
  const environment = {
    PATH: process.env["PATH"] ?? "",
    HOME: dir,
    INTERLOCK_STORE: join(dir, "store"),
    INTERLOCK_TASK_QUEUE: `deploy-${randomUUID()}`,
    INTERLOCK_HEALTH: `127.0.0.1:${await freePort()}`,
    TEMPORAL_ADDRESS: inject("temporalAddress"),
  };
  const check = () => run(process.execPath, [join(ROOT, "deploy/worker-health.mjs")], environment);

  expect(await check()).toMatchObject({ code: 1, output: expect.stringMatching(/^No worker answers at /) });

  const worker = spawn(process.execPath, [join(ROOT, "dist/cli/main.js"), "worker"], {
    env: environment,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = once(worker, "exit");
  onTestFinished(async () => {
    worker.kill("SIGTERM");
    await ended;
  });
  for await (const line of createInterface({ input: worker.stdout })) if (line.includes("polls")) break;
  await eventually(async () => (await check()).code === 0);
  expect(await check()).toEqual({ code: 0, output: "" });
});

test("the documented unit of systemd starts a worker with what it sets, and stopping it is no failure", async () => {
  const guide = await readFile(join(ROOT, "docs/running-as-a-service.md"), "utf8");
  const [, unit = ""] = /^```ini\n([^]*?)^```$/m.exec(guide) ?? [];
  const dir = await temporaryDirectory();
  const here = unit
    .replaceAll("/var/lib/interlock", join(dir, "state"))
    .replaceAll("/srv/projects", join(dir, "projects"))
    .replaceAll("/run/credentials/interlock.service", dir);
  const valuesOf = (key: string) =>
    [...here.matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].flatMap(([, words = ""]) => words.split(" "));
  await mkdir(join(dir, "projects"));
  await writeFile(join(dir, "openai.key"), "sk-of-this-test\n", { mode: 0o400 });
  await symlink(MAIN, join(dir, "interlock"));
  const [program = "", ...args] = valuesOf("ExecStart");
  const worker = spawn(program, args, {
    cwd: "/",
    env: {
      ...Object.fromEntries(valuesOf("Environment").map((word) => word.split("=", 2))),
      PATH: `${dir}:${process.env["PATH"] ?? ""}`,
      INTERLOCK_MODEL: "scripted",
      INTERLOCK_TASK_QUEUE: `deploy-${randomUUID()}`,
      TEMPORAL_ADDRESS: inject("temporalAddress"),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void worker.kill("SIGKILL"));
  const ended = once(worker, "exit");
  const said: string[] = [];
  for await (const line of createInterface({ input: worker.stdout })) {
    said.push(line);
    if (line.startsWith("Stop with")) worker.kill("SIGTERM");
  }
  expect(said[0]).toContain(`with the store ${join(dir, "state")}`);
  expect(await ended).toEqual([0, null]);
});
