import { mkdirSync, readFileSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openBundlePlace } from "../../../src/tools/bundle/bundle-workspace.js";
import { BundleWorld, NOW, type OpenRun } from "../../fakes/bundle-world.js";

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

/** Once that place was permitted, a link to `target` stands there. */
function exchangeWhenPermitted(place: string, target: string): void {
  const { roots } = world.store;
  const permit = roots.permit.bind(roots);
  vi.spyOn(roots, "permit").mockImplementation((path, ...rest) => {
    const permitted = permit(path, ...rest);
    if (path === place) {
      renameSync(place, `${place}.before`);
      symlinkSync(target, place);
    }
    return permitted;
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

test("a bundle's own name is not read through a link that leads out of it", async () => {
  world.put("elsewhere/module.yaml", "code: canary\n");
  symlinkSync(world.at("elsewhere/module.yaml"), world.at("room/bmad/desk/module.yaml"));
  const roots = { bundleRoot: world.at("room/bmad/desk"), projectRoot: world.at("room/project") };
  const place = await openBundlePlace(roots, { lockDir: world.store.lockDir, keepOut: [] });
  expect(place).toMatchObject({ ok: true, value: { layout: { bundleNames: ["desk"] } } });
});
