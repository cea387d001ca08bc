import { mkdir, readdir, rename } from "node:fs/promises";
import { ApplicationFailure } from "@temporalio/activity";
import { expect, test } from "vitest";
import { createActivities } from "../../src/activities/create-activities.js";
import { openStore } from "../../src/store/store.js";
import { createToolHost } from "../../src/tools/graph/tool-host.js";
import { RUN_ID, openScene } from "./harness-world.js";

const OTHER_ID = "22222222-3333-4444-8555-666666666666";

test.each(["moved", "on a volume that is not mounted now", "replaced by another one"])(
  "a store that is %s, fails no run for good, and nothing is made in its place",
  async (how) => {
    const { deps, world, opened } = await openScene([]);
    const { dir } = world.store;
    const store = await openStore(dir); // of a worker that has opened no run yet
    const activities = createActivities({ ...deps, store, toolHost: createToolHost({ store }) });
    await rename(dir, `${dir}-elsewhere`);
    if (how.startsWith("on")) await mkdir(dir);
    if (how.startsWith("replaced")) await openStore(dir);
    const before = await readdir(world.dir, { recursive: true });
    const { run } = opened;
    const input = { runId: OTHER_ID, projectRoot: world.projectRoot, packageId: world.packageId };
    for (const asked of [
      () => activities["run.open"]({ kind: "graph", input }),
      () => activities["state.load"]({ run }),
      () =>
        activities["user.input"]({ run, conversation: "visit-1", inputId: "i", nodeId: "ask", text: "x" }),
    ]) {
      const failure: unknown = await asked().catch((error: unknown) => error);
      expect(failure).toMatchObject({ message: expect.stringContaining("Put it back") as unknown });
      expect(failure instanceof ApplicationFailure && failure.nonRetryable === true).toBe(false);
    }
    expect(await readdir(world.dir, { recursive: true })).toEqual(before);
    await rename(dir, `${dir}-other`).catch(() => undefined);
    await rename(`${dir}-elsewhere`, dir);
    await expect(activities["state.load"]({ run })).resolves.toMatchObject({
      frontmatter: { runId: RUN_ID },
    });
  },
);
