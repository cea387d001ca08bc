import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { buildProgram, main } from "../../../src/cli/program.js";
import { commandOutput } from "../../fakes/command-output.js";
import { validPackage } from "../../fakes/package-fixture.js";
import { type RunWorld, openRunWorld, valueOf } from "../../fakes/run-world.js";

const output = commandOutput();
let world: RunWorld;
beforeEach(async () => {
  world = await openRunWorld(validPackage());
  vi.stubEnv("INTERLOCK_STORE", world.store.dir);
  vi.stubEnv("TEMPORAL_ADDRESS", undefined);
  return () => vi.unstubAllEnvs();
});

test("a package that is not there is named, and what is wrong with one leaves standard output to the id", async () => {
  const printed = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const nowhere = join(world.dir, "nowhere");
  expect(await main(["package", "install", nowhere])).toBe(2);
  expect(output.text).toBe(
    `E_PACKAGE_NOT_FOUND: There is no package directory or .bmad archive at ${nowhere}.\n`,
  );
  const broken = join(world.dir, "broken.bmad");
  await writeFile(broken, "no zip");
  expect(await main(["package", "install", broken])).toBe(1);
  expect(printed).not.toHaveBeenCalled();
});

test("a package that is to be removed by its name is said by its id, and stays", async () => {
  const { packageId } = world;
  const { name } = valueOf(await world.store.packages.open(packageId)).manifest;
  expect(await main(["package", "remove", name])).toBe(2);
  expect(output.text).toBe(`A package is removed by its id. "${name}" is now: ${packageId}\n`);
  expect(await main(["package", "remove", "nothing"])).toBe(2);
  expect(output.text).toContain("See: interlock package list");
  expect(await world.store.packages.open(packageId)).toMatchObject({ ok: true });
});

test("a project that was registered for writing is not said to be read only", async () => {
  const dir = join(world.dir, "a project");
  await mkdir(dir);
  expect(await main(["project", "add", dir])).toBe(0);
  expect(output.text).not.toContain("as before");
  expect(await main(["project", "add", dir, "--read-only"])).toBe(0);
  expect(output.text).toContain(
    `may write there as before: it was registered for that. First: interlock project remove '${dir}'`,
  );
});

test("run- with nothing behind it, as of a variable that is not set, names no run", async () => {
  const { projectRoot, packageId } = world;
  valueOf(await world.store.runs.createRun({ projectRoot, packageId, activeAgentId: "author" }, new Date()));
  for (const text of ["run-", "run-abc"]) {
    expect(await main(["status", text])).toBe(2);
    expect(output.text).toContain(`There is no run "${text}" in this store.`);
  }
});

test("the page is not served on a port that no browser opens", async () => {
  expect(await main(["ui", "--no-open", "--port", "6000"])).toBe(2);
  expect(output.text).toBe(
    "--port: browsers are barred from port 6000, which other protocols have. Choose another port.\n",
  );
});

test("what stands in a file that is no history does not begin lines of its own", async () => {
  const file = join(world.dir, "h.txt");
  await writeFile(file, "x\nRun is fine\n");
  expect(await main(["replay", file])).toBe(2);
  expect(output.text).toMatch(/^"[^"\n]*h\.txt" is no history as JSON: [^\n]*\n$/);
});

test.each([
  [["status"], "status", "missing required argument 'runId'"],
  [["runs", "--wating"], "runs", "(Did you mean --waiting?)"],
  [["runs", "prune", "--older"], "runs prune", "unknown option '--older'"],
  [["watch", "one", "two"], "watch", "too many arguments"],
  [["artifacts", "one", "--save"], "artifacts", "argument missing"],
  [["run", "package"], "run", "required option '--project <project>' not specified"],
  [["audit", "0123abcd"], "audit", "unknown command '0123abcd'"],
  [["package", "chek"], "package", "(Did you mean check?)"],
])("what the parser refuses of %j ends with where the right words are", async (args, command, words) => {
  expect(await main(args)).toBe(2);
  expect(output.text).toContain(words);
  expect(output.text.endsWith(`\nSee: interlock ${command} --help\n`)).toBe(true);
});

test("help for a command that there is not says which was meant", async () => {
  expect(await main(["help", "statsu"])).toBe(2);
  expect(output.text).toMatch(/^error: unknown command 'statsu'\n\(Did you mean .*status/);
  expect(output.text).not.toContain("Usage:");
  expect(await main(["help", "completion"])).toBe(0);
  expect(output.text).toContain("Usage: interlock completion");
});

test("a package that the store has no place for is no wrong usage, and is not called one with findings", async () => {
  const packages = join(world.store.dir, "packages");
  await rename(packages, `${packages} elsewhere`);
  await writeFile(packages, "");
  const source = join(world.dir, "package");
  expect(await main(["run", source, "--project", world.projectRoot, "--rehearse"])).toBe(1);
  expect(output.text).toContain("The packages of the store could not be written (EEXIST)");
  expect(output.text).not.toContain("package check");
});

test("help for a command below another is that command's", async () => {
  for (const [words, usage] of [
    ["package new", "package new [options] <dir>"],
    ["runs prune", "runs prune [options]"],
    ["package", "package [options] [command]"],
    ["status more", "status [options] <runId>"],
    ["attest more", "attest [options] [command] <runId>"],
  ] as const) {
    output.text = "";
    expect(await main(["help", ...words.split(" ")])).toBe(0);
    expect(output.text).toMatch(`Usage: interlock ${usage}`);
  }
  expect(await main(["help", "package", "chekc"])).toBe(2);
  expect(output.text).toContain("(Did you mean check?)");
});

test("where no graph can be drawn, standard output is empty: it may be a document", async () => {
  const printed = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  expect(await main(["package", "graph", join(world.dir, "nowhere")])).toBe(2);
  expect(output.text).toMatch(/nowhere" does not exist\.\n$/);
  const broken = join(world.dir, "broken");
  await mkdir(broken);
  expect(await main(["package", "graph", broken, "--format", "mermaid"])).toBe(1);
  expect(output.text).toContain("bmad.json  $  is missing");
  expect(output.text).toContain("Nothing was drawn");
  expect(printed).not.toHaveBeenCalled();
});

test("the help of run begins with what it needs", () => {
  const run = buildProgram(() => undefined).commands.find((command) => command.name() === "run");
  expect(run?.options[0]?.long).toBe("--project");
});
