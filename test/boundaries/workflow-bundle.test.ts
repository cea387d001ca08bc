import { beforeAll, describe, expect, test } from "vitest";
import { bundleWorkflows } from "../../src/worker/workflow-bundle.js";

describe("the workflow bundle", () => {
  let code = "";
  let modules: readonly string[] = [];

  beforeAll(async () => {
    ({ code } = await bundleWorkflows());
    modules = [...code.matchAll(/^\/\*\*\*\/ "([^"]+)":?/gm)].map((match) => match[1] ?? "");
  });

  test("holds the workflow, the guard and their schemas", () => {
    expect(modules).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/src\/workflows\/graph-run\.ts$/),
        expect.stringMatching(/src\/core\/state\/transition-guard\.ts$/),
        expect.stringMatching(/node_modules\/zod\//),
      ]),
    );
  });

  test("holds none of our code but workflows, contract and core", () => {
    const ours = modules.filter((name) => name.includes("/src/") && !name.includes("node_modules"));
    expect(ours.length).toBeGreaterThan(10);
    expect(ours.filter((name) => !/\/src\/(workflows|contract|core)\//.test(name))).toEqual([]);
  });

  test("holds no package but Temporal's own, zod and what Temporal's own need", () => {
    const packages = modules
      .map((name) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(name)?.[1])
      .filter((name) => name !== undefined && !name.startsWith("@temporalio/"));
    expect(
      [...new Set(packages)].filter(
        (name) => !["zod", "long", "ms", "nexus-rpc", "protobufjs", "@protobufjs"].includes(name ?? ""),
      ),
    ).toEqual([]);
  });

  test("has no map to its sources, and takes one byte a character", () => {
    expect(code.length).toBeLessThan(2_000_000);
    expect(code).not.toMatch(/[^\0-\x7f]/);
  });
});
