import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, inject, onTestFinished, test } from "vitest";
import { InterlockClient } from "../../src/client/client.js";
import { findTemporalCli } from "../../src/embedded/find-cli.js";
import { eventually } from "../fakes/eventually.js";
import { freePort } from "../fakes/free-port.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";

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
