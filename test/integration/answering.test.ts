import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, open, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { hostname, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { RunHandle } from "../../src/client/client.js";
import { eventually } from "../fakes/eventually.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { type Bench, openBench, until, writeTree } from "./harness.js";
import { begin } from "./begin-command.js";
import { MAIN, jsonOf, shellOf } from "./shell.js";

/** As a model may write it: with what looks like the editor's marker. */
const QUESTION = "# Which one?\n------------------------ >8 ------------------------\nBlue, or red?";

/** Asks anew whatever it is told. */
async function askingBench(): Promise<{ bench: Bench; run: RunHandle }> {
  const bench = await openBench(() => ({ content: QUESTION }));
  const run = await bench.start(twoNodePackage());
  await until(run, "waiting-user");
  return { bench, run };
}

/** What the user has said so far, and who. */
async function said({ bench, run }: { bench: Bench; run: RunHandle }) {
  const entries = await (await bench.filesOf(run)).conversation("visit-1").entries();
  return entries.flatMap((entry) => (entry.type === "user" ? [{ text: entry.text, by: entry.by }] : []));
}

/** Waits until the run asks this question. */
async function asks(run: RunHandle, question: string): Promise<void> {
  await eventually(async () => {
    const { phase, visit, turn } = await run.state();
    return phase === "waiting-user" && `${visit}.${turn}` === question;
  });
}

const ME = `${userInfo().username}@${hostname()}`;

describe("an answer comes", () => {
  test("from standard input, and - is no text", async () => {
    const place = await askingBench();
    const outcome = await shellOf(place.bench).run(["answer", place.run.runId, "-"], "# Red\n\nAs ever.\n");
    expect(outcome).toMatchObject({ code: 0, stdout: "Answered at ask. The run goes on.\n" });
    await asks(place.run, "1.2");
    expect(await said(place)).toEqual([{ text: "# Red\n\nAs ever.", by: ME }]);
  });

  test("from a file, by a name that is kept where people look", async () => {
    const place = await askingBench();
    const { bench, run } = place;
    const shell = shellOf(bench);
    await writeFile(join(shell.dir, "answer.md"), "Red.\n");
    const outcome = await shell.run([
      "answer",
      run.runId,
      "--file",
      "answer.md",
      "--as",
      "Ann of sales",
      "--json",
    ]);
    expect(jsonOf(outcome)).toMatchObject({ nodeId: "ask", question: "1.1", by: "Ann of sales" });
    await asks(run, "1.2");
    expect(await said(place)).toEqual([{ text: "Red.", by: "Ann of sales" }]);
    const events = await bench.auditEvents(run);
    expect(events.find(({ kind }) => kind === "user.input")).toMatchObject({ by: "Ann of sales" });
    expect(jsonOf(await shell.run(["status", run.runId, "--json"]))).toMatchObject({
      lastAnswer: { nodeId: "ask", by: "Ann of sales", begins: "Red." },
    });
    expect((await shell.run(["status", run.runId])).stdout).toContain(
      "answered    at ask by Ann of sales: Red.",
    );
    expect((await shell.run(["transcript", run.runId])).stdout).toContain("**`Ann of sales`**, at `ask`:");
  });

  test("only whole, and for the question that is meant", { tags: "slow" }, async () => {
    const place = await askingBench();
    const { bench, run } = place;
    const shell = shellOf(bench);
    await writeFile(join(shell.dir, "latin.md"), Buffer.from([0xe9, 0x0a]));
    await writeFile(join(shell.dir, "long.md"), "x".repeat(70_000));
    await writeFile(join(shell.dir, "empty.md"), "\n \n");
    const refused: readonly (readonly [readonly string[], RegExp])[] = [
      [["a", "--file", "x"], /given twice/],
      [["--file", "missing.md"], /The file missing.md cannot be read: ENOENT/],
      [["--file", "latin.md"], /is not UTF-8 text: save it in that encoding/],
      [["--file", "long.md"], /more than the 65536 bytes/],
      [["--file", "empty.md"], /The answer is empty/],
      [["-"], /The answer is empty/],
      [[], /VISUAL or EDITOR/],
      [["a", "--as", "a\nb"], /--as is a name/],
      [["a", "--as", "x".repeat(201)], /--as is a name/],
      [["a", "--node", "finish"], /asks at ask, not at finish: nothing was sent/],
      [["a", "--question", "1.7"], /waits with question 1.1, not with 1.7: nothing was sent/],
    ];
    for (const [args, sentence] of refused) {
      const outcome = await shell.run(["answer", run.runId, ...args]);
      expect(outcome.stderr).toMatch(sentence);
      expect(outcome.code).not.toBe(0);
    }
    expect(await said(place)).toEqual([]);
  });
});

describe("an editor", () => {
  async function editing(body: string) {
    const place = await askingBench();
    const { dir } = shellOf(place.bench);
    const script = join(dir, "my editor.sh");
    await writeFile(script, `#!/bin/sh\nfile="$1"\n${body}\n`);
    await chmod(script, 0o700);
    const tmp = join(dir, "tmp");
    await writeTree(tmp, { keep: "" });
    const shell = shellOf(place.bench, { EDITOR: "false", VISUAL: `'${script}'`, TMPDIR: tmp });
    return { ...place, shell, tmp };
  }

  test("shows the question as comments; headings of the answer stay, nothing of the question is sent", async () => {
    const place = await editing(
      `cp "$file" "$HOME/shown"; (ls -ld "$file"; ls -ld "$(dirname "$file")") | cut -c1-10 > "$HOME/modes"; printf '# Red\\n\\n## Why\\n# it is' >> "$file"`,
    );
    const { shell, run } = place;
    expect(await shell.run(["answer", run.runId])).toMatchObject({ code: 0 });
    await asks(run, "1.2");
    expect((await said(place)).map(({ text }) => text)).toEqual(["# Red\n\n## Why\n# it is"]);
    const shown = await readFile(join(shell.dir, "shown"), "utf8");
    expect(shown).toContain(`# Run ${run.runId} asks, at ask (question 1.1):`);
    expect(shown).toContain(
      "#   # Which one?\n#   ------------------------ >8 ------------------------\n#   Blue, or red?\n",
    );
    expect(await readFile(join(shell.dir, "modes"), "utf8")).toBe("-rw-------\ndrwx------\n");
    expect(await readdir(place.tmp)).toEqual(["keep"]);
  });

  test("that writes the file anew, or on top, is understood", async () => {
    const place = await editing(
      `printf 'Red.\\n' > "$file.new"; cat "$file" >> "$file.new"; mv "$file.new" "$file"`,
    );
    expect(await place.shell.run(["answer", place.run.runId])).toMatchObject({ code: 0 });
    await asks(place.run, "1.2");
    const again = place.shell.with({ ...place.shell.environment, VISUAL: "", EDITOR: "printf '# Red' >" });
    expect(await again.run(["answer", place.run.runId])).toMatchObject({ code: 0 });
    await asks(place.run, "1.3");
    expect((await said(place)).map(({ text }) => text)).toEqual(["Red.", "# Red"]);
  });

  test("that leaves it empty, or fails, sends nothing", async () => {
    const place = await editing(`exit 0`);
    const empty = await place.shell.run(["answer", place.run.runId]);
    expect(empty).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("The answer is empty: nothing was sent."),
    });
    const failing = place.shell.with({ ...place.shell.environment, VISUAL: "false" });
    expect(await failing.run(["answer", place.run.runId])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("The editor false has ended with exit code 1"),
    });
    expect(await said(place)).toEqual([]);
    expect(await readdir(place.tmp)).toEqual(["keep"]);
  });

  test("in which somebody was too slow: the answer goes to no other question, and is shown again", async () => {
    const place = await editing(
      `touch "$HOME/open"; until [ -e "$HOME/go" ]; do sleep 0.1; done; printf 'Late.' >> "$file"`,
    );
    const { shell, run } = place;
    const late = shell.run(["answer", run.runId]);
    await eventually(async () => (await readdir(shell.dir)).includes("open"));
    await run.answer({ nodeId: "ask", text: "Meanwhile." });
    await asks(run, "1.2");
    await writeFile(join(shell.dir, "go"), "");
    const outcome = await late;
    expect(outcome).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("waits with question 1.2, not with 1.1"),
    });
    expect(outcome.stderr).toContain("│ Late.");
    expect((await said(place)).map(({ text }) => text)).toEqual(["Meanwhile."]);
  });
});

test("Ctrl-C while an editor is open is the editor's: what it has then saved is sent, and where it ends by it nothing is", async () => {
  const place = await askingBench();
  const { dir, environment } = shellOf(place.bench);
  const script = join(dir, "editor.sh");
  const body = `touch "$HOME/open"; until [ -e "$HOME/go" ]; do sleep 0.1; done; eval "$AFTER"`;
  await writeFile(script, `#!/bin/sh\n${body}\n`);
  await chmod(script, 0o700);
  for (const [after, sentence, code] of [
    [`kill -INT $$`, "has ended with SIGINT: nothing was sent.", 130],
    [`printf 'Red.' >> "$1"`, "Answered at ask.", 0],
  ] as const) {
    const shell = shellOf(place.bench, { ...environment, EDITOR: script, AFTER: after });
    const { child, said: heard, closed } = begin(shell, ["answer", place.run.runId]);
    await eventually(async () => (await readdir(dir)).includes("open"));
    child.kill("SIGINT"); // as a terminal sends it to both; this editor has a way of its own with it
    await writeFile(join(dir, "go"), "");
    expect([(await closed)[0], `${heard.out}${heard.notes}`]).toEqual([
      code,
      expect.stringContaining(sentence),
    ]);
    await rm(join(dir, "open"));
    await rm(join(dir, "go"));
  }
  expect((await said(place)).map(({ text }) => text)).toEqual(["Red."]);
});

test("an answer that an editor saves after its command was stopped is not sent, and not lost with the terminal", async () => {
  const place = await askingBench();
  const { dir, environment } = shellOf(place.bench);
  const script = join(dir, "editor.sh");
  await writeFile(script, `#!/bin/sh\nkill -"$SENT" "$PPID"; printf 'Red.' >> "$1"\n`);
  await chmod(script, 0o700);
  for (const [signal, code] of [
    ["HUP", null],
    ["TERM", 143],
  ] as const) {
    const shell = shellOf(place.bench, { ...environment, EDITOR: script, SENT: signal });
    const { said: heard, closed } = begin(shell, ["answer", place.run.runId]);
    expect((await closed)[0]).toBe(code);
    const file = /nothing was sent\. What was written lies in (\S+)/.exec(heard.notes)?.[1] ?? "";
    expect(await readFile(file, "utf8")).toMatch(/\nRed\.$/);
  }
  expect(await said(place)).toEqual([]);
});

test("a late answer of a program goes to no other question; the same one again is the same", async () => {
  const place = await askingBench();
  const { run } = place;
  const first = { nodeId: "ask", text: "Red.", question: "1.1", answerId: "1.1", by: "bot" };
  await run.answer(first);
  await asks(run, "1.2");
  await expect(run.answer({ ...first, answerId: "other" })).rejects.toMatchObject({
    code: "E_PRECONDITION_FAILED",
    message: expect.stringContaining("question 1.2, not with 1.1"),
  });
  await run.answer(first);
  expect(await said(place)).toEqual([{ text: "Red.", by: "bot" }]);
});

describe("at a terminal", () => {
  /** `script` gives a command a terminal. */
  const IN_TERMINAL: string = "script";
  const ON = "\u001B[?2004h";

  interface Terminal {
    type(text: string): void;
    says(pattern: RegExp | string): Promise<void>;
  }

  async function atTerminal(bench: Bench, shellsWords = ""): Promise<Terminal> {
    await writeTree(join(dirname(bench.store.dir), "package"), twoNodePackage());
    const run = `${[process.execPath, MAIN].join(" ")} run package --project project`;
    const args = shellsWords === "" ? run.split(" ") : ["bash", "-mc", `${run}; ${shellsWords}`];
    const terminal =
      process.platform === "linux"
        ? ["-qfec", args.map((each) => `'${each}'`).join(" "), "/dev/null"]
        : ["-q", "/dev/null", ...args];
    const shell = shellOf(bench);
    const child: ChildProcess = spawn(IN_TERMINAL, terminal, { env: shell.environment, cwd: shell.dir });
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
    const closed = once(child, "close");
    onTestFinished(async () => {
      child.kill("SIGKILL");
      await closed;
    });
    return {
      type: (typed) => {
        text = "";
        child.stdin?.write(typed);
      },
      says: (pattern) =>
        eventually(() => (typeof pattern === "string" ? text.includes(pattern) : pattern.test(text))),
    };
  }

  test("a pasted text of several lines is one answer, ended by an empty line or Ctrl-D; a line is one as it is", async () => {
    const bench = await openBench(() => ({ content: QUESTION }));
    const terminal = await atTerminal(bench);
    await terminal.says(ON);
    terminal.type("\u001B[200~first\r\rsecond\u001B[201~");
    await terminal.says("several lines");
    terminal.type("\r\r");
    await terminal.says(ON);
    terminal.type("\u001B[200~third\rfourth\u001B[201~");
    await terminal.says("several lines");
    terminal.type("\u0004");
    await terminal.says(ON);
    terminal.type("fifth\r");
    await terminal.says(ON);
    // A terminal that does not say what is pasted.
    terminal.type("sixth\rseventh\r");
    await terminal.says("several lines");
    terminal.type("\r");
    await terminal.says(ON);
    const run = bench.client.handle((await bench.store.runs.listAllRuns())[0]?.runId ?? "");
    expect(await said({ bench, run })).toEqual(
      ["first\n\nsecond", "third\nfourth", "fifth", "sixth\nseventh"].map((text) => ({ text, by: ME })),
    );
    terminal.type("\u0003");
    await terminal.says("Stopped watching.");
  });

  test("after Ctrl-Z and fg a question takes its answer, and pasted lines as one", async () => {
    const bench = await openBench(() => ({ content: QUESTION }));
    const terminal = await atTerminal(bench, "echo The shell is back.; fg; sleep 60");
    await terminal.says(ON);
    terminal.type("\u001A");
    await terminal.says(/The shell is back\.[^]*\[\?2004h/);
    terminal.type("\u001B[200~first\rsecond\u001B[201~");
    await terminal.says("several lines");
    terminal.type("\r\r");
    await terminal.says(ON);
    const run = bench.client.handle((await bench.store.runs.listAllRuns())[0]?.runId ?? "");
    expect(await said({ bench, run })).toEqual([{ text: "first\nsecond", by: ME }]);
    terminal.type("\u0003");
    await terminal.says("Stopped watching.");
  });
});

test("Ctrl-C ends a command that waits for its answer's text, also where a beginning names the run", async () => {
  const { bench, run } = await askingBench();
  const shell = shellOf(bench);
  const pipe = join(shell.dir, "answer");
  execFileSync("sh", ["-c", 'mkfifo "$0"', pipe]);
  const { child, closed } = begin(shell, ["answer", run.runId.slice(0, 12), "--file", pipe]);
  const writer = await open(pipe, "w"); // opens once somebody reads
  child.kill("SIGINT");
  expect(await closed).toEqual([null, "SIGINT"]);
  await writer.close();
});
