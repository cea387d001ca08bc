import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { mcpTools, oneToEnd } from "../../src/mcp/mcp-tools.js";
import { mcpServersSchema } from "../../src/mcp/server-settings.js";
import { ExternalTools } from "../../src/tools/external/external-tools.js";
import { Interrupted, NotReached, type ToolPlace } from "../../src/tools/external/tool-source.js";
import { eventually } from "../fakes/eventually.js";
import { freePort } from "../fakes/free-port.js";
import { FAKE_MCP_SERVER } from "../fakes/mcp-world.js";
import { isAlive } from "../fakes/processes.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";
import { removeFolder } from "../fakes/remove-folder.js";

const FAKE = FAKE_MCP_SERVER;
const binOf = (name: string) =>
  createRequire(import.meta.url).resolve(`@modelcontextprotocol/server-${name}/dist/index.js`);

/** The tools of one server, as an agent has them that may use it, in a project of the test's. */
function open(server: object, variables: Readonly<Record<string, string>> = {}, others: object = {}) {
  const projectRoot = realpathSync(mkdtempSync(join(tmpdir(), "interlock-mcp-")));
  const notes: string[] = [];
  const source = mcpTools({
    servers: mcpServersSchema.parse({ s: server, ...others }),
    dir: tmpdir(),
    version: "0",
    variable: (name) => variables[name],
    note: (sentence) => notes.push(sentence),
  });
  onTestFinished(async () => {
    await source.close();
    rmSync(projectRoot, { recursive: true });
  });
  const place: ToolPlace = { agentId: "a", allowedServers: ["s", ...Object.keys(others)], projectRoot };
  const external = new ExternalTools([source], (sentence) => notes.push(sentence));
  async function call(tool: string, args: object = {}, signal = new AbortController().signal) {
    const found =
      (await external.find(place, `mcp.s.${tool}`)) ?? expect.fail(`no ${tool}: ${notes.join(" ")}`);
    const scope = { runId: "r", nodeId: "n", agentId: "a", callId: "c", projectRoot, signal };
    return found.run({ ...args }, scope);
  }
  const names = async () => (await source.tools(place)).map(({ name, effect }) => `${name} ${effect}`);
  return { source, place, external, projectRoot, notes, call, names };
}

function fake(manner: string, more: object = {}) {
  const dir = mkdtempSync(join(tmpdir(), "interlock-mcp-log-"));
  onTestFinished(() => removeFolder(dir));
  const log = join(dir, "log");
  const flag = join(dir, "flag");
  const lines = () => (existsSync(log) ? readFileSync(log, "utf8").split("\n") : []);
  return { server: { command: process.execPath, args: [FAKE, manner, log, flag], ...more }, flag, lines };
}

describe("the public servers", () => {
  test("everything: its tools are offered, and answer", async () => {
    const { call, names, notes } = open({ command: process.execPath, args: [binOf("everything")] });
    expect(await names()).toContain("mcp.s.echo none");
    expect(await call("echo", { message: "hi" })).toEqual({ content: "Echo: hi", isError: false });
    expect((await call("get-tiny-image")).content).toContain("[image image/png is left out]");
    const wrong = await call("get-sum", { a: "x" }).catch((error: unknown) => ({
      content: String(error),
      isError: true,
    }));
    expect(wrong.isError).toBe(true);
    expect((await call("get-resource-links", { count: 1 })).content).toMatch(/\n\[a link to .+, demo:\/\//);
    expect(notes).toEqual([expect.stringContaining("simulate-research-query as tasks only")]);
  });

  test("filesystem: works in the run's project, and nowhere else", async () => {
    const { call, projectRoot, names } = open({
      command: process.execPath,
      args: [binOf("filesystem"), "@project"],
    });
    expect(await names()).toEqual(
      expect.arrayContaining(["mcp.s.read_text_file none", "mcp.s.write_file idempotent"]),
    );
    await call("write_file", { path: join(projectRoot, "a.txt"), content: "there" });
    expect(readFileSync(join(projectRoot, "a.txt"), "utf8")).toBe("there");
    expect((await call("read_text_file", { path: "/etc/passwd" })).isError).toBe(true);
  });

  test("filesystem: takes the project's paths as they are shown", async () => {
    const { call, projectRoot } = open({
      command: process.execPath,
      args: [binOf("filesystem"), "@project"],
    });
    await call("create_directory", { path: "@project/docs" });
    await call("write_file", { path: "@project/docs/a.txt", content: "@project/docs\nis where it lies" });
    expect(readFileSync(join(projectRoot, "docs/a.txt"), "utf8")).toBe("@project/docs\nis where it lies");
    const found = await call("search_files", { path: "@project", pattern: "**/*.txt" });
    expect(found.content).toBe(join(projectRoot, "docs/a.txt"));
    const read = await call("read_multiple_files", { paths: ["@project/docs/a.txt"] });
    expect(read).toMatchObject({ isError: false, content: expect.stringContaining("is where it lies") });
    expect((await call("read_text_file", { path: "@project/../a.txt" })).isError).toBe(true);
  });

  test("a server that is not one of the project's is not told where the project lies", async () => {
    const { call } = open({ command: process.execPath, args: [binOf("everything")] });
    expect((await call("echo", { message: "@project/a" })).content).toBe("Echo: @project/a");
  });

  test("memory: a call that creates is one that is made once", async () => {
    const { call, names, projectRoot } = open({
      command: process.execPath,
      args: [binOf("memory")],
      env: { MEMORY_FILE_PATH: join(tmpdir(), `interlock-memory-${process.pid}.json`) },
    });
    onTestFinished(() => rmSync(join(tmpdir(), `interlock-memory-${process.pid}.json`), { force: true }));
    expect(projectRoot).not.toBe("");
    const known = await names();
    expect(known).toContain("mcp.s.read_graph none");
    expect(known.find((name) => name.startsWith("mcp.s.create_entities"))).toMatch(/once|idempotent/);
    await call("create_entities", { entities: [{ name: "Ada", entityType: "person", observations: [] }] });
    expect((await call("read_graph")).content).toContain("Ada");
  });

  test("everything over HTTP: the token of the settings, no redirects", async () => {
    /** Undefined where another process has taken the port meanwhile: then the server ends. */
    const begin = async () => {
      const port = await freePort();
      const env = { PORT: String(port) };
      const child = spawn(process.execPath, [binOf("everything"), "streamableHttp"], {
        env,
        stdio: "ignore",
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      const tools = open({ url: `http://127.0.0.1:${port}/mcp`, bearerVariable: "T" }, { T: "token" });
      const known = () => tools.names().catch(() => []);
      await eventually(async () => child.exitCode !== null || (await known()).length > 0);
      return child.exitCode === null ? tools : undefined;
    };
    const tools = (await begin()) ?? (await begin());
    expect(await tools?.call("echo", { message: "hi" })).toEqual({ content: "Echo: hi", isError: false });
  });
});

describe("a server", () => {
  test("that has no beginning any more is asked without, and its answer that asks for more is none", async () => {
    const { call } = open(fake("unbegun").server);
    expect(await call("act", { how: "say" })).toMatchObject({ isError: false });
    await expect(call("act", { how: "wants input" })).rejects.toThrow("The server asks for more before it");
  });

  test("that the agent's policy does not name, or the operator, has no tools", async () => {
    const { source, place } = open(fake("plain").server);
    expect(await source.tools({ ...place, allowedServers: ["other"] })).toEqual([]);
    expect(await source.tools({ ...place, allowedServers: ["constructor", "__proto__"] })).toEqual([]);
  });

  test("offers what the operator lets it, and its annotations give way to the operator's word", async () => {
    expect(await open(fake("plain").server).names()).toEqual([
      "mcp.s.look none",
      "mcp.s.act once",
      "mcp.s.set idempotent",
    ]);
    const effects = { act: "idempotent", look: "once", lok: "none" };
    const limited = open(fake("plain", { tools: ["act", "look", "acts"], effects }).server);
    expect(await limited.names()).toEqual(["mcp.s.look once", "mcp.s.act idempotent"]);
    expect(limited.notes).toEqual(["The MCP server s has no tool acts, lok, which its settings name."]);
  });

  test("has no variable of the worker's that the settings do not name", async () => {
    process.env["OPENAI_API_KEY_OF_TEST"] = "sk-secret";
    onTestFinished(() => void delete process.env["OPENAI_API_KEY_OF_TEST"]);
    const { server } = fake("plain", { env: { GIVEN: "1" }, envVariables: ["TOKEN", "ABSENT"] });
    const { call } = open(server, { TOKEN: "t" });
    const { content } = await call("act", { how: "environment" });
    expect(JSON.parse(content)).toMatchObject({ GIVEN: "1", TOKEN: "t" });
    expect(content).not.toContain("sk-secret");
    expect(
      Object.keys(JSON.parse(content) as object).filter((name) =>
        /INTERLOCK|OPENAI|TEMPORAL|VITEST/.test(name),
      ),
    ).toEqual([]);
  });

  test("has each variable under the name that the settings give it", async () => {
    const env = { NODE_NO_WARNINGS: "1", KEPT_TEA: "1", KEPT_NODE_TEA: "1" };
    const { content } = await open(fake("plain", { env }).server).call("act", { how: "environment" });
    const had = JSON.parse(content) as Readonly<Record<string, string>>;
    expect(
      Object.keys(had)
        .filter((name) => /^(?:KEPT_|NODE_|TEA)/.test(name))
        .sort(),
    ).toEqual(Object.keys(env).sort());
  });

  test.each(["of the worker's that is called one", "of the settings that is called one"])(
    "that tells a secret, a variable %s, has not told it",
    async (whose) => {
      const secret = "correct-horse-battery";
      const more = whose.startsWith("of the worker's")
        ? { envVariables: ["TEA_TOKEN", "TEA_PLACE"] }
        : { env: { TEA_TOKEN: secret, TEA_PLACE: "Darjeeling" } };
      const { call, notes } = open(fake("plain", more).server, {
        TEA_TOKEN: secret,
        TEA_PLACE: "Darjeeling",
      });
      expect((await call("act", { how: "tell" })).content).toBe("it is <secret> of Darjeeling");
      await expect(call("act", { how: "refuse with it" })).rejects.toThrow(/: 401 for <secret>$/);
      await expect(call("act", { how: "die with it" })).rejects.toThrow(Interrupted);
      expect(notes.join()).toMatch(/It said: .*<secret>/);
      expect(notes.join()).not.toContain(secret);
    },
  );

  test("is told where the project is, in an option, a path and a variable, and has a process for each project", async () => {
    const { server } = fake("plain", { env: { PLACE: "@project/docs" } });
    const { source, projectRoot } = open({
      ...server,
      args: [...server.args, "--root=@project", "@project/sub"],
    });
    const elsewhere = realpathSync(await temporaryDirectory());
    for (const root of [projectRoot, elsewhere]) {
      const place = { agentId: "a", allowedServers: ["s"], projectRoot: root };
      const [tool] = await source.tools(place);
      const scope = { runId: "r", nodeId: "n", callId: "c", signal: new AbortController().signal };
      const told = await tool?.run({ how: "arguments" }, { ...place, ...scope });
      expect(JSON.parse(told?.content ?? "")).toEqual([`--root=${root}`, `${root}/sub`, `${root}/docs`]);
    }
  });

  test("works in the project's directory where the settings say so", async () => {
    const { call, projectRoot } = open(fake("plain", { cwd: "@project" }).server);
    expect((await call("act", { how: "where" })).content).toBe(projectRoot);
  });

  test("with hostile names, texts and schemas: what is unfit is left out, what is left is printable", async () => {
    const { external, place, notes } = open(fake("hostile").server);
    const offer = await external.offer(place);
    const { functions } = offer;
    expect(functions.map((tool) => tool.function.name)).toEqual([
      "mcp_s___proto__",
      "mcp_s_bidi",
      "mcp_s_either",
      "mcp_s_look",
      "mcp_s_marker",
      "mcp_s_none",
      "mcp_s_php",
      "mcp_s_proto",
    ]);
    const empty = functions.find((tool) => tool.function.name === "mcp_s_php");
    expect(empty?.function.parameters).toEqual({ type: "object", properties: {} });
    // As servers describe what has no arguments: an object, which providers want to be told.
    expect(functions.map((tool) => tool.function.parameters["type"])).toEqual(functions.map(() => "object"));
    const text = JSON.stringify(functions);
    expect(text).not.toMatch(/[\u202E\u200B]|\\u001b/u);
    expect(text.length).toBeLessThan(10_000);
    expect(offer.offeredFor({ name: "mcp_s_bidi" })).toMatchObject({ name: "mcp.s.bidi", effect: "once" });
    for (const word of ["deep", "wide", "long", "far", "list", "hidden"]) {
      expect(notes.join("\n")).toContain(`mcp.s.${word}`);
    }
    expect(notes.join("\n")).not.toMatch(/[\u202E\u200B]/u);
  });

  test("without an end to its list is cut off, and the operator is told", async () => {
    const { names, notes, call } = open(fake("endless").server);
    const listed = await names();
    expect(listed.length).toBeLessThanOrEqual(20);
    const [first = ""] = listed;
    await call(first.split(" ")[0]?.replace("mcp.s.", "") ?? "", { how: "change" });
    await eventually(async () => !(await names()).includes(first)); // they were asked for again
    expect(notes).toEqual(["The MCP server s has more tools than the first 20, which are looked at."]);
  });

  test.each(["null after two pages", "an empty one after two pages", "the same one again and again"])(
    "whose list ends with a cursor that is %s has its tools, and is asked no further",
    async (manner) => {
      const { server, lines } = fake(manner);
      const { names, notes } = open(server);
      expect(await names()).toEqual(["first once", "second once"].map((name) => `mcp.s.${name}`));
      expect(lines().filter((line) => line.startsWith("asked for page"))).toHaveLength(2);
      expect(notes).toEqual([]);
    },
  );

  test("with hostile tools is looked at once, and the operator is told once", async () => {
    const { source, place, notes } = open(fake("hostile").server);
    const [first, second] = [await source.tools(place), await source.tools(place)];
    expect(second[0]).toBe(first[0]);
    expect(notes).toEqual([
      "The MCP server s describes tools that cannot be offered: yes (inputSchema: Invalid input: expected record, received boolean), one without a name (name: Invalid input: expected string, received number), one without a name (Invalid input: expected object, received null), one without a name (Invalid input: expected object, received string).",
    ]);
  });

  test("that cannot be started is not reached, and says why to the operator", async () => {
    const { source, place, notes } = open({
      command: process.execPath,
      args: ["-e", "console.error('no such \\u001b[31mthing'); process.exit(1)"],
    });
    await expect(source.tools(place)).rejects.toThrow(
      new NotReached("The MCP server s ended before it had begun."),
    );
    expect(notes.join()).toContain("no such");
    expect(notes.join()).not.toContain("\u001B");
    const wordy = open({
      command: process.execPath,
      args: ["-e", `console.error("first" + ", and so on".repeat(150) + ", last"); process.exit(1)`],
    });
    await expect(wordy.source.tools(wordy.place)).rejects.toThrow(NotReached);
    expect(wordy.notes.join()).toMatch(/It said: first.*, last$/);
    expect(wordy.notes.join().length).toBeLessThan(1_100);
    const elsewhere = open({ command: process.execPath, cwd: "/none/such" });
    await expect(elsewhere.source.tools(elsewhere.place)).rejects.toThrow(
      "cannot be started: its cwd /none/such is no directory",
    );
    for (const [command, words] of [
      ["/none/such", "cannot be started: /none/such is no program that can be started"],
      ["no-such-server", "cannot be started: no program no-such-server is on the PATH"],
    ] as const) {
      const missing = open({ command }, { PATH: "/usr/bin:/bin" });
      await expect(missing.source.tools(missing.place)).rejects.toThrow(words);
    }
  });

  test("that speaks another version of the protocol is said to", async () => {
    const { names } = open(fake("later").server);
    await expect(names()).rejects.toThrow(/does not speak the protocol as it is known here: .*2999-01-01/);
  });

  test("that dies in a call interrupts it, and is begun again by the next", async () => {
    const { server, lines } = fake("plain");
    const { call } = open(server);
    await expect(call("act", { how: "die" })).rejects.toThrow(
      new Interrupted("The MCP server s has ended while the call ran."),
    );
    expect((await call("act")).content).toBe("act {}");
    expect(lines().filter((line) => line.startsWith("begun"))).toHaveLength(2);
  });

  test("that floods is cut off, in bounded memory, and is begun again", async () => {
    const { call } = open(fake("plain").server);
    await expect(call("act", { how: "flood" })).rejects.toThrow(
      new Interrupted("The MCP server s was ended: it has said more than 10 MiB at once. Ask for less."),
    );
    expect((await call("act")).content).toBe("act {}");
  });

  test("that writes without end to its error output goes on answering", async () => {
    const { call } = open(fake("plain").server);
    expect((await call("act", { how: "stderr" })).content).toBe("said");
    expect((await call("act")).content).toBe("act {}");
  });

  test("that answers after the call was given up is not listened to, and goes on", async () => {
    const { server, lines } = fake("plain");
    const { call } = open(server);
    const given = new AbortController();
    const late = call("act", { how: "late" }, given.signal);
    await eventually(() => Promise.resolve(lines().includes("called act")));
    given.abort(new Error("given up"));
    await expect(late).rejects.toThrow(Interrupted);
    expect((await call("look", { how: "none" })).content).toContain("look");
    expect(lines().filter((line) => line.startsWith("begun"))).toHaveLength(1);
    expect(lines()).toContain("cancelled");
  });

  test("that stops for good under a call is begun again for the next, also while other calls still wait for it", async () => {
    const { server, lines } = fake("plain");
    const { call } = open(server);
    const [given, later] = [new AbortController(), new AbortController()];
    const waiting = call("look", { how: "hang" }, later.signal);
    await eventually(() => lines().includes("called look"));
    const hung = call("act", { how: "stop" }, given.signal);
    await eventually(() => lines().includes("called act"));
    given.abort(new Error("given up"));
    await expect(hung).rejects.toThrow(Interrupted);
    expect((await call("act")).content).toBe("act {}");
    expect(lines().filter((line) => line.startsWith("begun"))).toHaveLength(2);
    const pid = Number(lines()[0]?.split(" ")[1]);
    expect(isAlive(pid)).toBe(true); // the call that waits may be answered yet
    later.abort(new Error("given up"));
    await expect(waiting).rejects.toThrow(Interrupted);
    await eventually(() => !isAlive(pid));
    expect((await call("act")).content).toBe("act {}");
    expect(lines().filter((line) => line.startsWith("begun"))).toHaveLength(2);
  });

  test("that dies and leaves a process which holds its output has ended all the same, and so has that process", async () => {
    const { call } = open(fake("plain").server);
    await expect(call("act", { how: "abandon" })).rejects.toThrow("has ended while the call ran");
    expect((await call("act")).content).toBe("act {}");
  });

  test("ends with all that it has started", async () => {
    const { source, call } = open(fake("plain").server);
    const child = Number((await call("act", { how: "child" })).content);
    await source.close();
    await eventually(() => !isAlive(child));
    expect(isAlive(child)).toBe(false);
  });

  test("that needs long to begin is waited for, by one after the other, and is not begun again", async () => {
    const { setTimeout: later } = globalThis;
    const timers = vi.spyOn(globalThis, "setTimeout");
    timers.mockImplementation(((then: () => void, delay: number) =>
      later(then, delay === 30_000 ? 500 : delay)) as typeof setTimeout);
    onTestFinished(() => timers.mockRestore());
    const { server, flag, lines } = fake("slow");
    const { names, notes } = open(server);
    for (const _ of [1, 2]) await expect(names()).rejects.toThrow("has not begun within 30 seconds");
    writeFileSync(flag, "");
    await eventually(() =>
      names().then(
        (found) => found.length > 0,
        () => false,
      ),
    );
    expect(lines().filter((line) => line.startsWith("begun"))).toHaveLength(1);
    expect(notes).toEqual([expect.stringContaining("It is waited for further")]);
  });

  test("that has not begun when the worker ends does not hold it up", async () => {
    const { server, lines } = fake("unborn");
    const { source, names } = open(server);
    const asked = names().catch((error: unknown) => error);
    await eventually(() => lines().includes("asked"));
    await source.close();
    expect(await asked).toBeInstanceOf(NotReached);
  }, 15_000);

  test("that asks for a model, a person or directories is refused each, and goes on", async () => {
    const { call } = open(fake("plain").server);
    expect((await call("act", { how: "request" })).content).toBe("-32601,-32601,-32601,-32601");
  });

  test("that asks without end is ended, in bounded memory, and is begun again", async () => {
    const { call, notes } = open(fake("plain").server);
    await expect(call("act", { how: "ask" })).rejects.toThrow("has ended while the call ran");
    expect(notes.join("\n")).toContain("nobody has asked for");
    expect((await call("act")).content).toBe("act {}");
  });

  test("that answers with a structure alone: it is shown as JSON, and left out where it is too deep", async () => {
    const { call } = open(fake("plain").server);
    expect(await call("act", { how: "structure" })).toEqual({ content: '{"n":"no number"}', isError: false });
    const { content } = await call("act", { how: "deep" });
    expect(content).toBe("[an answer that is nested more than 100 levels deep is left out]");
  });

  test.each([
    ["nulls", "poured\nwords"],
    ["structure alone", '{"cups":2}'],
    ["structure beside words", 'Two are there.\n{"cups":2}'],
    ["a number in others", '12 teas of 2026, 2.5 g each.\n{"cups":2}'],
    ["a word in another", 'Looked at it.\n{"state":"ok"}'],
    ["links", "[a link to Tea, text/markdown, file:///tea.md: How to brew]\n[a link to two, tea://2]"],
    ["a picture twice", "[image image/png is left out]"],
    ["structure that is said", '{ "b": 1, "a": [2] }'],
    ["structure that is said without spaces", '{"isWhole":true,"cups":[1,2]}'],
    ["wrapped list that is said", "[1,2,3]"],
    ["words wrapped", 'a "cup"\nof tea\n{"isWhole":true}'],
    ["a flag beside words", 'Looked at.\n{"approved":false}'],
    ["flags beside words", '12 Oolong: true to its kind\n{"leaves":[{"isWhole":false}]}'],
    ["wrapped list", "oolong\nassam"],
    ["first version", '{"toolResult":{"cups":2}}'],
  ])("whose answer has %s is read, and no more is said twice than it has said", async (how, content) => {
    const { call } = open(fake("plain").server);
    expect(await call("act", { how })).toEqual({ content, isError: false });
  });

  test("that takes calls of a tool as tasks only has no such tool, and the operator is told", async () => {
    const { names, notes } = open(fake("tasks").server);
    expect(await names()).toEqual(["mcp.s.look none", "mcp.s.act once"]);
    expect(notes).toEqual([
      "The MCP server s takes calls of brew as tasks only, which are not made: left out.",
    ]);
  });

  test("whose structure has flags without end, or words that are hard to find, holds nobody up", async () => {
    const { call } = open(fake("plain").server);
    expect((await call("act", { how: "flags without end" })).content).toMatch(/tru true$/);
    expect((await call("act", { how: "words that are hard to find" })).content).toMatch(/ a+ba+$/);
  });

  test("whose names have dots is looked at with all its tools that change nothing", async () => {
    const { external, place } = open(fake("dotted").server);
    expect(await external.looksOf(place, "mcp.s.admin.act")).toEqual(["mcp.s.look", "mcp.s.look.at"]);
  });

  test("that answers with garbage, or with an error of the protocol: neither is a result", async () => {
    const { call } = open(fake("plain").server);
    await expect(call("act", { how: "garbage" })).rejects.toThrow(Interrupted);
    await expect(call("act", { how: "refuse" })).rejects.toThrow(/refuses the call: .*not like this/);
  });

  test("that refuses a call says where a person has to go first, and what is wrong with the arguments", async () => {
    const { call } = open(fake("plain").server);
    await expect(call("act", { how: "log in" })).rejects.toThrow(
      "The server refuses the call: More is needed. Log in. https://tea.example/in?a=1",
    );
    await expect(call("act", { how: "which argument" })).rejects.toThrow(
      'The server refuses the call: Invalid. [{"path":["cup"],"message":"is cold"}]',
    );
  });

  test.each(["wants input", "wants to be asked again"])(
    "that asks for more in place of an answer (%s) has not answered",
    async (how) => {
      const { call } = open(fake("plain").server);
      await expect(call("act", { how })).rejects.toThrow("The server asks for more before it answers");
    },
  );

  test.each(["text alone", "texts alone", "block alone"])(
    "that answers without a list of blocks (%s) has answered",
    async (how) => {
      const { call } = open(fake("plain").server);
      expect(await call("act", { how })).toEqual({ content: "just so", isError: false });
    },
  );

  test.each(["torn", "bare", "without version"])(
    "whose answer cannot be read (%s) is waited for no longer, and goes on",
    async (how) => {
      const { server, lines } = fake("plain");
      const { call } = open(server);
      await expect(call("act", { how })).rejects.toThrow(
        new Interrupted("The MCP server s has not given an answer that can be read."),
      );
      expect((await call("act")).content).toBe("act {}");
      expect(lines().filter((line) => line.startsWith("begun"))).toHaveLength(1);
    },
  );

  test.each(["marked", "in lists"])("whose messages come %s is understood", async (manner) => {
    const { names, call } = open(fake(manner).server);
    expect(await names()).toContain("mcp.s.act once");
    expect((await call("act")).content).toBe("act {}");
  });

  test("that is a proxy whose own server has ended is begun again, and is not asked in vain ever after", async () => {
    const { server, lines } = fake("plain");
    const { call } = open(server);
    await expect(call("act", { how: "lose" })).rejects.toThrow(/does not say what .*: Connection closed/);
    expect((await call("act")).content).toBe("act {}");
    expect(await call("act", { how: "lose quietly" })).toEqual({
      content: "Connection closed",
      isError: true,
    });
    expect((await call("act")).content).toBe("act {}");
    expect((await call("act")).content).toBe("act {}");
    expect(lines().filter((line) => line.startsWith("begun"))).toHaveLength(3);
  });

  test("that refuses to begin is told with its words", async () => {
    const { names } = open(fake("refuses to begin").server);
    await expect(names()).rejects.toThrow("The MCP server s refuses to begin: No licence is set.");
  });

  test("whose messages are none of JSON-RPC is said to be so at once", async () => {
    const { names } = open(fake("no version").server);
    await expect(names()).rejects.toThrow(
      "The MCP server s does not speak the protocol as it is known here: its answer is no message of JSON-RPC 2.0.",
    );
  });

  test("that fails in a call by an error of its own has not refused it: something may have been done", async () => {
    const { call } = open(fake("plain").server);
    await expect(call("act", { how: "stumble" })).rejects.toThrow(
      /has failed in the call, and does not say what it had done by then: .*fetch failed/,
    );
  });

  test("that hands on what it was itself refused amid a call has not refused the call, and says what it was", async () => {
    const { call } = open(fake("plain").server);
    await expect(call("act", { how: "hand on" })).rejects.toThrow(
      "has failed in the call, and does not say what it had done by then: roots/list is not answered here: a tool has what its arguments say",
    );
  });

  test("is called whatever has become of another one, and of that one's tools alone it is known what they are", async () => {
    const { call, external, place } = open(
      fake("plain").server,
      {},
      { gone: { command: "/no/such/program" } },
    );
    expect((await call("act")).content).toBe("act {}");
    expect(await external.looksOf(place, "mcp.s.act")).toEqual(["mcp.s.look"]);
    await expect(external.find(place, "mcp.gone.act")).rejects.toThrow("gone cannot be started");
    await expect(external.offer(place)).rejects.toThrow("gone cannot be started");
  });

  test("that changes its tools is asked for them again", async () => {
    const { server, flag } = fake("changing");
    const { names, call } = open(server);
    expect(await names()).toEqual(["mcp.s.look none", "mcp.s.act once"]);
    writeFileSync(flag, "");
    expect(await names()).toEqual(["mcp.s.look none", "mcp.s.act once"]); // nobody has said so
    await call("look", { how: "change" });
    await eventually(async () => (await names()).includes("mcp.s.later once"));
  });

  test("that refuses a call is asked for its tools again: it may have others, and have told nobody", async () => {
    const { server, flag } = fake("changing");
    const { names, call } = open(server);
    expect(await names()).toContain("mcp.s.act once");
    writeFileSync(flag, "");
    await expect(call("act", { how: "refuse" })).rejects.toThrow("refuses the call");
    expect(await names()).toEqual(["mcp.s.look none", "mcp.s.later once"]);
  });

  test("ends with the worker's end, even one that would rather stay", async () => {
    for (const manner of ["plain", "stays"]) {
      const { server, lines } = fake(manner);
      const { source, names } = open(server);
      await names();
      const pid = Number(lines()[0]?.split(" ")[1]);
      await source.close();
      await eventually(() => Promise.resolve(!isAlive(pid)));
      await expect(names()).rejects.toThrow("stopping");
    }
  });
});

test("of too many processes of projects the idle one is ended that was not used for longest, never one at work", () => {
  const of = (...idle: readonly boolean[]) => idle.map((isIdle, index) => [`p${index}`, { isIdle }] as const);
  expect(oneToEnd(of(true, true), 2)).toBeUndefined();
  expect(oneToEnd(of(true, true, true), 2)?.[0]).toBe("p0");
  expect(oneToEnd(of(false, true, true), 2)?.[0]).toBe("p1");
  expect(oneToEnd(of(false, false, false), 2)).toBeUndefined();
});
