import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { openStore } from "../../src/store/store.js";
import { temporaryDirectory } from "./harness.js";
import { Shell } from "./shell.js";

const EXAMPLE = join(import.meta.dirname, "../../examples/create-story/package");

async function newShell(): Promise<Shell> {
  return new Shell(await realpath(await temporaryDirectory()));
}

test("the tab key is offered commands, options and the runs of the store at hand, and else files", async () => {
  const shell = await newShell();
  const project = join(shell.dir, "project");
  await mkdir(project);
  const store = await openStore(join(shell.dir, "store"));
  const installed = await store.packages.install(EXAMPLE);
  if (!installed.ok) throw new Error(installed.error.message);
  const { packageId } = installed.value;
  const created = await store.runs.createRun({
    projectRoot: project,
    packageId,
    workflowRef: "",
    activeAgentId: "story-author",
  });
  if (!created.ok) throw new Error(created.error.message);

  const offered = async (...words: string[]) => (await shell.run(["complete", "--", ...words])).stdout;
  expect(await offered("ret")).toBe("retry\tlet a failed or cancelled run go on from its document\n:0\n");
  expect(await offered("bundle", "")).toMatch(/^run\t.*\nlist\t/);
  expect(await offered("runs", "--pro")).toMatch(/^--project\t/);
  expect(await offered("status", "")).toBe(`${created.value.runId}\tidle ${packageId}\n:0\n`);
  expect(await offered("package", "check", "")).toBe(":0\n");
});

test("the tab key makes no store where there is none, and says nothing of a damaged one", async () => {
  const shell = await newShell();
  expect((await shell.run(["complete", "--", "status", ""])).stdout).toBe(":0\n");
  expect(existsSync(join(shell.dir, "store"))).toBe(false);
  await mkdir(join(shell.dir, "store"));
  await writeFile(join(shell.dir, "store", "store.json"), "{");
  expect(await shell.run(["complete", "--", "status", ""])).toEqual({ code: 0, stdout: ":0\n", stderr: "" });
});

test("interlock completion prints a script that the shell can read", async () => {
  const shell = await newShell();
  const { stdout } = await shell.run(["completion", "bash"]);
  await writeFile(join(shell.dir, "completion.bash"), stdout);
  const source = `source ${join(shell.dir, "completion.bash")}; complete -p interlock`;
  await expect(promisify(execFile)("bash", ["-c", source])).resolves.toMatchObject({
    stdout: expect.stringContaining("interlock"),
  });
  // What is typed so far is never run: not a command in it, and nothing is written where it would write to.
  const typed = `${source}; interlock() { printf '%s|' "$@" >asked; printf 'answer\\ta\\nartifacts\\tb\\nrun\\tc\\n:0\\n'; }
    COMP_WORDS=(interlock '"$(touch run)"' '>' 'notes' 'a'); COMP_CWORD=4
    __interlock_complete; echo "\${COMPREPLY[*]}"`;
  await writeFile(join(shell.dir, "notes"), "kept");
  const { stdout: offered } = await promisify(execFile)("bash", ["-c", typed], { cwd: shell.dir });
  expect(offered).toMatch(/answer artifacts\n$/);
  expect(await readFile(join(shell.dir, "asked"), "utf8")).toBe('complete|--|"$(touch run)"|>|notes|a|');
  expect(await readFile(join(shell.dir, "notes"), "utf8")).toBe("kept");
  expect(existsSync(join(shell.dir, "run"))).toBe(false);
  expect((await shell.run(["completion", "zsh"])).stdout).not.toMatch(/\beval\b|_arguments/);
  for (const other of ["zsh", "fish", "powershell"])
    expect((await shell.run(["completion", other])).stdout).toMatch(/interlock.* complete/);
  expect(await shell.run(["completion", "tcsh"])).toMatchObject({ code: 2 });
});
