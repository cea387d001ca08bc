import { expect, test } from "vitest";
import { localReader } from "../../../src/cli/session/readers.js";
import { outcomeOf } from "../../../src/cli/report/run-outcome.js";
import { NO_USAGE } from "../../../src/core/run/usage.js";
import { validPackage } from "../../fakes/package-fixture.js";
import { openRunWorld, valueOf } from "../../fakes/run-world.js";

test("a run that says that it waits is judged as waiting, also before its files say so", async () => {
  const { store, projectRoot, packageId } = await openRunWorld(validPackage());
  const run = valueOf(
    await store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }, new Date()),
  );
  await store.runs.setPhase(run, "running", new Date());
  const { runId } = run;
  const reader = localReader(store);
  const usage = { ...NO_USAGE, modelTurns: 1 };
  await expect(outcomeOf(reader, runId)).resolves.toMatchObject({ phase: "running", usage: NO_USAGE });
  await expect(outcomeOf(reader, runId, { phase: "waiting-user", usage })).resolves.toMatchObject({
    phase: "waiting-user",
    usage,
  });
});
