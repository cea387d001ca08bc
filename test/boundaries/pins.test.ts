import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { SEARCH_ATTRIBUTES } from "../../src/contract/names.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { ERROR_CODES } from "../../src/core/errors.js";
import { FILE_FUNCTION_TOOLS, FILE_TOOLS } from "../../src/core/tools/tool-specs.js";
import { graphRun } from "../../src/workflows/index.js";

interface Lock {
  readonly packages: Record<
    string,
    {
      readonly version?: string;
      readonly integrity?: string;
      readonly link?: boolean;
      readonly optionalDependencies?: Record<string, string>;
    }
  >;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));

describe("names that others see", () => {
  test("error codes", () => {
    expect(ERROR_CODES).toEqual([
      "ENOENT",
      "E_SANDBOX_VIOLATION",
      "E_READ_LIMIT",
      "E_WRITE_LIMIT",
      "E_INVALID_FRONTMATTER",
      "E_SCHEMA_VALIDATION",
      "E_INVALID_TRANSITION",
      "E_PRECONDITION_FAILED",
      "E_INTERNAL",
      "TOOL_ARGS_INVALID_JSON",
      "TOOL_ARGS_INVALID",
      "TOOL_NOT_AVAILABLE",
      "TOOL_FAILED",
      "TOOL_OUTCOME_UNKNOWN",
      "LLM_AUTH_FAILED",
      "LLM_TIMEOUT",
      "LLM_RATE_LIMITED",
      "LLM_HTTP_ERROR",
      "LLM_BAD_RESPONSE",
      "LLM_REFUSED",
      "LLM_CONTENT_FILTERED",
      "LLM_CONTEXT_EXCEEDED",
      "ENGINE_MAX_TURNS_EXCEEDED",
      "ENGINE_LOOP_DETECTED",
      "ENGINE_ABORTED",
      "E_PROJECT_INVALID",
      "E_PACKAGE_NOT_FOUND",
      "E_PACKAGE_INVALID",
      "E_WORKFLOW_REF_REQUIRED",
      "E_WORKFLOW_NOT_FOUND",
      "E_AGENT_NOT_FOUND",
      "E_RUN_NOT_FOUND",
      "E_INDEX_WRITE_FAILED",
    ]);
  });

  test("tools, in both spellings", () => {
    expect(FILE_TOOLS).toEqual(["fs.list", "fs.read", "fs.search", "fs.write", "fs.apply_patch"]);
    expect(FILE_FUNCTION_TOOLS.map((tool) => tool.function.name)).toEqual([
      "fs_list",
      "fs_read",
      "fs_search",
      "fs_write",
      "fs_apply_patch",
    ]);
  });

  test("what Temporal sees", () => {
    expect(graphRun.name).toBe("graphRun");
    expect(workflowIdOf("x")).toBe("run-x");
    expect(SEARCH_ATTRIBUTES).toEqual({
      RunPhase: "Keyword",
      RunNode: "Keyword",
      RunWorkflow: "Keyword",
      RunPackage: "Keyword",
      RunAgent: "Keyword",
      RunProject: "Keyword",
    });
  });
});

test("the installed package lies in files, since runs open its examples and workers its workflow code as files", () => {
  expect(readJson("../../package.json")).toHaveProperty("preferUnplugged", true); // Yarn keeps packages zipped otherwise
});

describe("dependencies", () => {
  const manifest = readJson("../../package.json") as Record<
    "dependencies" | "devDependencies",
    Record<string, string>
  >;
  const lock = readJson("../../package-lock.json") as Lock;

  test("are pinned exactly", () => {
    const versions = Object.values({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });

  test("hold one version of Temporal's packages, each once", () => {
    const temporal = Object.entries(lock.packages).filter(([path]) =>
      path.includes("node_modules/@temporalio/"),
    );
    expect(temporal.length).toBeGreaterThan(8);
    expect([...new Set(temporal.map(([, { version }]) => version))]).toEqual(["1.24.0"]);
    expect(temporal.filter(([path]) => path.split("node_modules/").length > 2)).toEqual([]);
  });

  test("give replay the protobufjs it needs", () => {
    expect(lock.packages["node_modules/protobufjs"]?.version).toMatch(/^8\./);
  });

  test("are locked for every platform, so that npm ci works on each", () => {
    const missing = Object.entries(lock.packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) =>
          !(`node_modules/${name}` in lock.packages) && !(`${path}/node_modules/${name}` in lock.packages),
      ),
    );
    expect(missing).toEqual([]); // else: node scripts/complete-lockfile.mjs
  });

  test("are known by their hash, on every platform: nothing else is installed under their names", () => {
    const unknown = Object.entries(lock.packages).filter(
      ([path, { integrity = "", link }]) =>
        path !== "" && link !== true && !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity),
    );
    expect(unknown.map(([path]) => path)).toEqual([]); // else: node scripts/complete-lockfile.mjs
  });

  test("name no registry", () => {
    expect(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8")).not.toContain(
      '"resolved"',
    );
  });
});
