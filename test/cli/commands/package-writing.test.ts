import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { askForPackage } from "../../../src/cli/commands/package-new.js";
import { main } from "../../../src/cli/program.js";
import { commandOutput } from "../../fakes/command-output.js";

const output = commandOutput();
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "interlock-writing-"));
  vi.stubEnv("INTERLOCK_STORE", join(dir, "store"));
  return () => vi.unstubAllEnvs();
});

function put(path: string, text: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
}

async function run(...args: readonly string[]) {
  output.text = "";
  return main(["package", ...args.map((arg) => arg.replace(/^~/, dir))]);
}

const digest = (path: string) =>
  createHash("sha256")
    .update(readFileSync(join(dir, path)))
    .digest("hex");

describe("interlock package new", () => {
  test.each<[string, readonly string[]]>([
    ["as it comes", []],
    ["of many steps", ["--steps", "a,b,c", "--agents", "one,two,three,four"]],
    ["with a branch", ["--branch", "brief,thorough,none-at-all"]],
    ["with a gate", ["--gate", "--agents", "ines,otto"]],
    ["with all", ["--name", "Tea.2_ways", "--steps", "a, b", "--branch", "c,d", "--gate", "--agents", "x,y"]],
  ])("makes a package %s that check finds nothing in", async (_name, options) => {
    expect(await run("new", "~/tea", "--json", ...options)).toBe(0);
    expect(JSON.parse(output.text)).toMatchObject({ ok: true, out: join(dir, "tea") });
    expect(await run("check", "~/tea")).toBe(0);
    expect(output.text).toBe("The package is valid (0 warnings).\n");
    expect(readdirSync(dir)).toEqual(["tea"]);
  });

  test.each<[string, readonly string[], boolean]>([
    ["binding, and the run has no story", ["--conditions"], true],
    ["binding", ["--conditions", "--story", "tea-1"], false],
    ["advice", [], false],
  ])("makes a gate of which a run says what keeps it closed: %s", async (_name, options, isSaid) => {
    await run("new", "~/tea", "--gate");
    mkdirSync(join(dir, "project"));
    output.text = "";
    const where = ["--project", join(dir, "project"), "--rehearse", "--print-input"];
    expect(await main(["run", join(dir, "tea"), ...where, ...options])).toBe(0);
    expect(output.text.includes("a run without a story has none: add --story")).toBe(isSaid);
  });

  test("counts one warning as one", async () => {
    await run("new", "~/tea");
    const file = join(dir, "tea/workflow.graph.json");
    const graph = JSON.parse(readFileSync(file, "utf8")) as { edges: object[] };
    const edges = [...graph.edges, { ...graph.edges[0], isDefault: false }];
    writeFileSync(file, JSON.stringify({ ...graph, edges }));
    expect(await run("check", "~/tea")).toBe(0);
    expect(output.text).toContain("The package is valid (1 warning).");
  });

  test("makes it in a directory that is there and empty, as version control left it", async () => {
    mkdirSync(join(dir, "tea/.git"), { recursive: true });
    expect(await run("new", "~/tea", "--gate")).toBe(0);
    expect(output.text).toContain(`Made ${join(dir, "tea")}.`);
    expect(output.text).toContain("--rehearse --story story-1 --conditions\n");
    expect(readdirSync(join(dir, "tea")).sort()).toEqual([
      ".git",
      "agents.json",
      "bmad.json",
      "steps",
      "tests",
      "workflow.graph.json",
      "workflow.md",
    ]);
  });

  test.each(["tea/mine.txt", "tea/.hidden", "tea/steps/draft.md", "tea"])(
    "leaves a directory alone in which %s stands",
    async (path) => {
      put(path, "mine");
      expect(await run("new", "~/tea", "--name", "tea")).toBe(1);
      expect(output.text).toContain("is there already: name another directory, or remove it");
      expect(readFileSync(join(dir, path), "utf8")).toBe("mine");
      expect(readdirSync(dir)).toEqual(["tea"]);
    },
  );

  test("says so where it would lie in a file", async () => {
    put("tea", "mine");
    expect(await run("new", "~/tea/pot", "--name", "tea")).toBe(1);
    expect(output.text).toContain("cannot be written (ENOTDIR): check the directory it is to lie in");
  });

  test("writes nothing where a link leads nowhere, or the directory cannot be made", async () => {
    symlinkSync(join(dir, "nowhere"), join(dir, "tea"));
    expect(await run("new", "~/tea", "--name", "tea")).toBe(1);
    expect(await run("new", "~/no/such", "--name", "tea")).toBe(1);
    expect(output.text).toContain("cannot be written (ENOENT)");
    expect(readdirSync(dir)).toEqual(["tea"]);
  });

  test.each<[string, readonly string[], string]>([
    ["a directory that is no name", ["~/bad name*"], '--name: "bad name*" is no name for a package'],
    ["no directory", [" "], "Name the directory"],
    ["a path as a name", ["~/tea", "--name", "a/b"], '--name: "a/b" is no name'],
    ["a path as a step", ["~/tea", "--steps", "../up"], '--steps: "../up" is no id'],
    ["a name that is there twice", ["~/tea", "--agents", "a,a"], "--agents names a twice"],
    ["one way", ["~/tea", "--branch", "one"], "--branch names one"],
    ["no way", ["~/tea", "--branch", ","], "--branch names none"],
    ["no step", ["~/tea", "--steps", " , "], "--steps names none"],
    ["a number of none", ["~/tea", "--steps", "0"], "--steps names none"],
    ["a number of too many", ["~/tea", "--agents", "51"], "--agents names more than 50"],
    ["a number without end", ["~/tea", "--steps", "9".repeat(400)], "--steps names more than 50"],
  ])("refuses %s, names the option, and makes nothing", async (_name, args, problem) => {
    expect(await run("new", ...args)).toBe(2);
    expect(output.text).toContain(problem);
    expect(readdirSync(dir)).toEqual([]);
  });

  test("takes a number as how many there are to be", async () => {
    expect(
      await run("new", "~/bad name*", "--name", "tea", "--steps", "2", "--branch", "3", "--agents", "2"),
    ).toBe(0);
    expect(readdirSync(join(dir, "bad name*/steps")).sort()).toEqual(
      ["choose", "done", "step-1", "step-2", "way-1", "way-2", "way-3"].map((id) => `${id}.md`),
    );
    const { agents } = JSON.parse(readFileSync(join(dir, "bad name*/agents.json"), "utf8")) as {
      readonly agents: readonly { readonly id: string }[];
    };
    expect(agents.map(({ id }) => id)).toEqual(["agent-1", "agent-2"]);
  });

  test("says that there is something already before it asks what the package is to be", async () => {
    put("tea/notes.md", "");
    expect(await run("new", "~/tea", "--steps", "draft,draft")).toBe(1);
    expect(output.text).toContain("is there already: name another directory, or remove it");
  });

  test("asks for all of it; an empty answer takes what is offered", async () => {
    const asked: string[] = [];
    const answers = ["", "gather, draft", "brief thorough", "Yes", ""];
    const wanted = await askForPackage("tea", (question, otherwise) => {
      asked.push(question);
      return Promise.resolve(answers[asked.length - 1] || otherwise);
    });
    expect(asked).toHaveLength(5);
    expect(wanted).toEqual({
      name: "tea",
      steps: ["gather", "draft"],
      branch: ["brief", "thorough"],
      gate: true,
      agents: ["author"],
    });
  });

  test("offers a name that can be one, and asks no further after one that cannot", async () => {
    const asked: string[] = [];
    const say = (answer: string) => (question: string, otherwise: string) => {
      asked.push(`${question} [${otherwise}]`);
      return Promise.resolve(answer || otherwise);
    };
    expect(await askForPackage("Grüner Tee!", say(""))).toMatchObject({ name: "gruner-tee" });
    asked.length = 0;
    await expect(askForPackage("tea", say("a/b"))).rejects.toThrow('--name: "a/b" is no name');
    expect(asked).toEqual(["What is the package called? [tea]"]);
  });
});

describe("interlock package pack", () => {
  test("makes an archive that installs as the directory does", async () => {
    await run("new", "~/tea", "--gate");
    expect(await run("pack", "~/tea", "--out", "~/tea.bmad")).toBe(0);
    expect(output.text).toMatch(
      /^Made .*tea\.bmad of 9 files, \d+ bytes\.\nInstall it with: interlock package install /,
    );
    expect(await run("check", "~/tea.bmad")).toBe(0);
    expect(await run("install", "~/tea")).toBe(0);
    const packageId = output.text;
    expect(await run("install", "~/tea.bmad")).toBe(0);
    expect(output.text).toBe(packageId);
  });

  test("gives the same bytes for the same files: whenever, wherever, in whatever order they were made", async () => {
    await run("new", "~/one", "--name", "tea");
    for (const path of [
      "workflow.md",
      "steps/done.md",
      "steps/draft.md",
      "workflow.graph.json",
      "bmad.json",
      "agents.json",
      "tests/walk.yaml",
    ]) {
      put(`other/two/${path}`, readFileSync(join(dir, "one", path), "utf8"));
      utimesSync(join(dir, "other/two", path), 1_000_000_000, 1_000_000_000);
    }
    put("other/two/.git/config", "no part of it");
    expect(await run("pack", "~/one", "--out", "~/one.bmad")).toBe(0);
    vi.stubEnv("TZ", "Pacific/Auckland");
    expect(await run("pack", "~/other/two", "--out", "~/two.bmad")).toBe(0);
    expect(digest("two.bmad")).toBe(digest("one.bmad"));
    put("one/assets/more.txt", "more");
    expect(await run("pack", "~/one", "--out", "~/one.bmad", "--json")).toBe(0);
    expect(JSON.parse(output.text)).toMatchObject({
      ok: true,
      archive: join(dir, "one.bmad"),
      files: 8,
      findings: [],
    });
    expect(digest("two.bmad")).not.toBe(digest("one.bmad"));
  });

  test("holds what compresses too well to be taken back compressed, and empty files", async () => {
    await run("new", "~/tea", "--name", "tea");
    put("tea/assets/zeros.bin", "\0".repeat(3 * 1024 * 1024));
    put("tea/assets/empty.txt", "");
    expect(await run("pack", "~/tea", "--out", "~/tea.bmad")).toBe(0);
    expect(await run("check", "~/tea.bmad")).toBe(0);
  });

  test("refuses what check calls an error, and leaves an archive that is there", async () => {
    await run("new", "~/tea", "--name", "tea");
    put("tea.bmad", "the last one");
    put("tea/steps/draft.md", "no front matter\n");
    expect(await run("pack", "~/tea", "--out", "~/tea.bmad")).toBe(1);
    expect(output.text).toContain("error  steps/draft.md");
    expect(output.text).toContain("Nothing was packed: mend the errors first.");
    expect(readFileSync(join(dir, "tea.bmad"), "utf8")).toBe("the last one");
    expect(readdirSync(dir).sort()).toEqual(["tea", "tea.bmad"]);
  });

  test("refuses links, and places in the package itself", async () => {
    await run("new", "~/tea", "--name", "tea");
    for (const out of ["~/tea/x.bmad", "~/tea/steps/x.bmad"]) {
      expect(await run("pack", "~/tea", "--out", out)).toBe(2);
      expect(output.text).toContain("The archive would lie in the package itself");
    }
    expect(await run("pack", "~/tea", "--out", "~/tea.zip")).toBe(2);
    expect(await run("pack", "~/tea", "--out", "~/no/tea.bmad")).toBe(2);
    expect(await run("pack", "~/nothing")).toBe(2);
    symlinkSync(join(dir, "secret"), join(dir, "tea/assets"));
    expect(await run("pack", "~/tea", "--out", "~/tea.bmad")).toBe(1);
    expect(readdirSync(dir)).toEqual(["tea"]);
  });
});

describe("interlock package graph", () => {
  test("draws a directory and its archive alike", async () => {
    await run("new", "~/tea", "--branch", "brief,thorough", "--gate");
    await run("pack", "~/tea", "--out", "~/tea.bmad");
    expect(await run("graph", "~/tea")).toBe(0);
    const drawn = output.text;
    expect(drawn).toMatch(
      /^workflow tea\n\n▶ draft {2}step, "Draft", by author, writes artifacts\/draft\.md\n/,
    );
    expect(drawn).toContain(
      "  ├─ brief → brief  (default)\n  │    if Say here when brief is the way to go.\n",
    );
    expect(await run("graph", "~/tea.bmad")).toBe(0);
    expect(output.text).toBe(drawn);
    expect(await run("graph", "~/tea", "--format", "mermaid")).toBe(0);
    expect(output.text).toMatch(/^flowchart TD\n[^]*w0n1\{"choose: Choose"\}/);
  });

  test("says what is wrong instead", async () => {
    expect(await run("graph", "~/nothing")).toBe(2);
    expect(output.text).toContain('nothing" does not exist.');
    await run("new", "~/tea", "--name", "tea");
    expect(await run("graph", "~/tea", "--format", "svg")).toBe(2);
    expect(await run("graph", "~/tea", "--workflow", "coffee")).toBe(2);
    expect(output.text).toContain("(there are: tea)");
  });
});
