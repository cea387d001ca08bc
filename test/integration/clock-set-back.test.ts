import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { openBench, until } from "./harness.js";

test("a run goes on by retry where Temporal's clock was set back since it did so last", async () => {
  const bench = await openBench(() => ({ content: "Which colour?" }));
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  const goOn = async () => {
    await run.cancel();
    await expect(run.result()).rejects.toThrow("canceled");
    await bench.client.retry(run.runId);
    await Promise.race([until(run, "waiting-user"), run.result()]);
  };
  await goOn();
  // As a server has written it whose clock was years ahead.
  const { dir } = await bench.filesOf(run);
  const ahead = join(dir, "execution.2");
  const begun = JSON.parse(await readFile(ahead, "utf8")) as { id: string; startedAt: number };
  await writeFile(ahead, JSON.stringify({ ...begun, startedAt: begun.startedAt + 2 * 365 * 86_400_000 }));
  await goOn();
  expect((await bench.filesOf(run)).executions.newest()).toBe(3);
  await goOn();
  expect((await bench.filesOf(run)).executions.newest()).toBe(4);
});
