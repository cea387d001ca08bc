import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openBundlePlace } from "../../../src/tools/bundle/bundle-workspace.js";
import { BundleWorld, NOW, type OpenRun } from "../../fakes/bundle-world.js";
import { valueOf } from "../../fakes/run-world.js";
import { withoutRights } from "../../fakes/unprivileged.js";

/*
 * Somebody else may write in the directory that holds an agent's file or a session, and they exchange it for a link to a place that is no
 * root: just after it was permitted. What is opened is what was permitted, or nothing.
 */

let world: BundleWorld;
let open: OpenRun;
let elsewhere: string;
beforeEach(async () => {
  world = await BundleWorld.open();
  open = await world.openRun();
  elsewhere = world.at("elsewhere");
  mkdirSync(elsewhere);
});
afterEach(() => vi.restoreAllMocks());

/** Once `permitted` was permitted, a link to `target` stands in a place, where it lies or on the way to it. */
function exchangeWhenPermitted(place: string, target: string, permitted = place): void {
  const { roots } = world.store;
  const permit = roots.permit.bind(roots);
  vi.spyOn(roots, "permit").mockImplementation((path, ...rest) => {
    const answer = permit(path, ...rest);
    if (path === permitted && !existsSync(`${place}.before`)) {
      renameSync(place, `${place}.before`);
      symlinkSync(target, place);
    }
    return answer;
  });
}

const begin = () =>
  world.host.begin(open.run.runId, { intent: "start", autopilot: false, yolo: false, now: NOW });

test("an agent's file that is exchanged after it was permitted is not followed", async () => {
  const agent = world.at("room/bmad/desk/agents/iris.md");
  world.put("elsewhere/secret.md", readFileSync(agent, "utf8").replaceAll("Iris", "Canary"));
  exchangeWhenPermitted(agent, join(elsewhere, "secret.md"));
  const begun = await begin();
  expect(begun).toMatchObject({ ok: false, error: { code: "E_INTERNAL" } });
  expect(JSON.stringify(begun)).not.toContain("Canary");
});

const MANIFEST = "manifest.json";

test("a session folder that is exchanged after it was permitted gives no manifest of another place", async () => {
  const there = JSON.stringify({
    ...JSON.parse(readFileSync(join(open.session, MANIFEST), "utf8")),
    agent: "Canary",
  });
  world.put(`elsewhere/${MANIFEST}`, there);
  exchangeWhenPermitted(open.session, elsewhere);
  expect(await world.host.readSession(open.run.runId)).toMatchObject({
    ok: false,
    error: { code: "E_SANDBOX_VIOLATION" },
  });
});

test("a session folder that is exchanged after it was permitted has nothing written in its stead", async () => {
  const there = readFileSync(join(open.session, MANIFEST), "utf8");
  world.put(`elsewhere/${MANIFEST}`, there);
  exchangeWhenPermitted(open.session, elsewhere);
  expect(await world.host.markSession(open.run.runId, "complete", NOW)).toMatchObject({
    ok: false,
    error: { code: "E_SANDBOX_VIOLATION" },
  });
  expect(readFileSync(join(elsewhere, MANIFEST), "utf8")).toBe(there);
  expect(readdirSync(elsewhere)).toEqual([MANIFEST]);
});

test.each(["results", "results/deep"])(
  "a new session folder is not made through a link that has come into its way (%s)",
  async (onTheWay) => {
    const outputRoot = world.at("results/deep");
    mkdirSync(outputRoot, { recursive: true });
    const run = valueOf(await world.createRun({ outputRoot, sessionId: "s" }));
    exchangeWhenPermitted(world.at(onTheWay), elsewhere, join(outputRoot, "s"));
    expect(await world.host.openSession(run.runId, { now: NOW })).toMatchObject({
      ok: false,
      error: { code: "E_SANDBOX_VIOLATION", message: expect.stringContaining("results") as unknown },
    });
    expect(readdirSync(elsewhere)).toEqual([]);
  },
);

test("what the system says while a manifest is written names its host path", async () => {
  chmodSync(open.session, 0o555);
  const marking = withoutRights(world.dir, () => world.host.markSession(open.run.runId, "complete", NOW));
  const error = await marking.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "EACCES", path: expect.stringContaining(open.session) as unknown });
  expect(inspect(error)).toContain(`open '${open.session}/.tmp-${MANIFEST}`);
  expect(inspect(error)).not.toContain("/proc/");
});

test("a bundle's own name is not read through a link that leads out of it", async () => {
  world.put("elsewhere/module.yaml", "code: canary\n");
  symlinkSync(world.at("elsewhere/module.yaml"), world.at("room/bmad/desk/module.yaml"));
  const roots = { bundleRoot: world.at("room/bmad/desk"), projectRoot: world.at("room/project") };
  const place = await openBundlePlace(roots, { lockDir: world.store.lockDir, keepOut: [] });
  expect(place).toMatchObject({ ok: true, value: { layout: { bundleNames: ["desk"] } } });
});
