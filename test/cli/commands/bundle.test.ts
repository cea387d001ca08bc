import { beforeEach, expect, test, vi } from "vitest";
import { main } from "../../../src/cli/program.js";
import { BundleWorld } from "../../fakes/bundle-world.js";

let world: BundleWorld;
let output: string;
beforeEach(async () => {
  world = await BundleWorld.open();
  output = "";
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, "write").mockImplementation((text) => {
      output += String(text);
      return true;
    }),
  );
  return () => {
    for (const spy of spies) spy.mockRestore();
  };
});

test("bundle check --json has exactly the shape that programs rely on", async () => {
  expect(await main(["bundle", "check", world.at("room"), "--json"])).toBe(0);
  const report = JSON.parse(output) as { workflows: object[]; agents: object[] };
  expect(Object.keys(report)).toEqual(["workflows", "agents"]);
  expect(report.workflows.map((item) => Object.keys(item))).toEqual(
    Array.from({ length: 2 }, () => ["path", "name", "description", "ok", "missing", "errors"]),
  );
  expect(report.agents.map((item) => Object.keys(item))).toEqual([["path", "name", "title", "commands"]]);
});

test("bundle check ends with 1 when a workflow cannot be run, bundle list does not", async () => {
  world.put("room/bmad/desk/workflows/broken/workflow.yaml", "name: [\n");
  expect(await main(["bundle", "check", world.at("room")])).toBe(1);
  expect(output).toMatch(/error {4}bmad\/desk\/workflows\/broken\/workflow\.yaml .*line 2/);
  output = "";
  expect(await main(["bundle", "list", world.at("room")])).toBe(0);
  expect(output).toContain("(cannot be run)");
  expect(output).toContain("3 workflows, 1 agents.");
});

test.each(["nowhere", "room/README.md"])("%s is no directory: wrong usage", async (name) => {
  expect(await main(["bundle", "check", world.at(name)])).toBe(2);
});
