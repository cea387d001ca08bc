import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { appendFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { MAX_STREAMS } from "../../src/page/api.js";
import { workflowIdOf } from "../../src/core/run/run-id.js";
import { door } from "../fakes/door.js";
import { startEmptyWorker } from "../fakes/empty-worker.js";
import { eventually } from "../fakes/eventually.js";
import { valueOf } from "../fakes/run-world.js";
import { copyRoom, writeTree } from "../integration/harness.js";
import { BUNDLE_RESULT, notesInParts } from "./field-notes.js";
import { PATIENCE_MS, type PageStand, openPageStand } from "./page-stand.js";

/*
 * Each flow of the page in a real Chromium, on a real Temporal with real runs: what a person does who knows neither docs nor terminal.
 * With INTERLOCK_PICTURES=docs/images the pictures of the documentation are taken on the way.
 */

let stand: PageStand;
/** A run that has seen all: a question, a loop, a refused move, a killed worker. */
let walked: string;
/** What pages have said that should not be: errors, refusals of the Content-Security-Policy. */
const complaints: string[] = [];

beforeAll(async () => {
  stand = await openPageStand();
});

afterAll(async () => {
  await stand?.close();
});

async function open(path: string, options: Parameters<PageStand["open"]>[1] = {}): Promise<Page> {
  const page = await stand.open(path, { viewport: { width: 1240, height: 800 }, ...options });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (/Content.Security.Policy|Uncaught/i.test(message.text())) complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(stand.origin)) complaints.push(`asked another host: ${request.url()}`);
  });
  onTestFinished(() => page.context().close());
  return page;
}

/** What a check of accessibility finds serious. The policy of the page lets no script in, so that it is evaluated from outside. */
async function seriousFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(`axe.run().then(({ violations }) => violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 200)).join(" | ")))`);
}

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env["INTERLOCK_PICTURES"];
  if (folder === undefined) return;
  await writeFile(join(folder, `${name}.png`), await page.screenshot({ animations: "disabled" }));
}

/** Waits until a run's page says that it is in that phase. */
async function phase(page: Page, word: string): Promise<void> {
  await page.locator(".head .phase", { hasText: word }).waitFor();
}

async function answer(page: Page, text: string): Promise<void> {
  await page.getByLabel("Your answer").fill(text);
  await page.getByRole("button", { name: "Answer" }).click();
}

test("a browser without the link is let in nowhere", async () => {
  const context = await stand.browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(`${stand.origin}/`);
  await page.getByText("has not opened the link").first().waitFor();
  expect(await page.locator("main").innerText()).toContain("Open the link");
});

test("another program of the same host that the browser visits is sent nothing of its session", async () => {
  const sent: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    sent.push(request.headers.cookie);
    response.setHeader("Content-Type", "text/html");
    response.end("<!doctype html><title>another program</title>");
  });
  onTestFinished(() => void other.close());
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  const page = await open("");
  await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor();
  const tab = await page.context().newPage(); // of the same browser, and of the same site: cookies know no ports
  const { port } = other.address() as AddressInfo; // it listens on a port
  for (const path of ["", "api", "api/", "api/session", "api/run/live", "open"]) {
    await tab.goto(`http://127.0.0.1:${port}/${path}`);
  }
  expect(sent.length).toBeGreaterThanOrEqual(6);
  expect(sent.filter((cookie) => cookie !== undefined)).toEqual([]);
});

test("a page of others that leads to where the API is not does not lock the user out", async () => {
  const page = await open("");
  const session = page.locator(".standing", { hasText: "default" });
  await session.waitFor();
  const tab = await page.context().newPage();
  await tab.goto(`${stand.origin}/#/opened/api/${"x".repeat(43)}`);
  await tab.waitForURL("**/#/runs");
  await page.reload();
  await session.waitFor();
  expect(await page.getByText("has not opened the link").count()).toBe(0);
});

test("what waits for a person stands on top; it is answered, the worker dies, and another one goes on", async () => {
  walked = await stand.start({ input: "The heron." });
  const page = await open("");
  await page.getByRole("heading", { name: "1 waits for you" }).waitFor();
  await page
    .getByRole("link", { name: /Which of these shall the notes be for/ })
    .first()
    .click();
  await phase(page, "waits for you");
  await page.getByText("Newcomers").waitFor();
  await picture(page, "page-question");
  await stand.killWorker();
  await page.getByLabel("Your answer").fill("For newcomers.");
  await stand.startWorker();
  await page.getByRole("button", { name: "Answer" }).click();
  await phase(page, "completed");
  expect(await page.getByLabel("Your answer").count()).toBe(0);
});

test("a raise that was taken is said to be, also while no worker has written it down", async () => {
  const run = await stand.start({ budget: { run: { turns: 1 } } });
  const page = await open("#/runs");
  // As the run's files are while its worker is away: what stood in them before.
  let former = "";
  let isAway = false;
  await page.route("**/run/standing*", async (route) => {
    if (isAway) return route.fulfill({ contentType: "application/json", body: former });
    const response = await route.fetch();
    former = await response.text();
    return route.fulfill({ response });
  });
  await page.goto(`${stand.origin}/#/runs/${run}`);
  const added = page.getByLabel("Model turns to add");
  await added.waitFor();
  isAway = true;
  await added.fill("100");
  await page.getByRole("button", { name: "Raise the budget" }).click();
  await page.getByText("The budget is raised.").waitFor();
  await page.getByText("The limit is 101 now.").waitFor();
  isAway = false;
  await page.getByLabel("Your answer").waitFor();
  expect(await added.count()).toBe(0);
});

test("what takes longer than the page waits before it asks again is shown when it comes", async () => {
  const page = await open("");
  await page.clock.install();
  let asked = 0;
  let answerAll = () => {};
  const release = new Promise<void>((resolve) => (answerAll = resolve));
  await page.route(/\/run(?:\/standing)?\?/, async (route) => {
    asked += 1;
    await release;
    await route.continue();
  });
  await page.goto(`${stand.origin}/#/runs/${walked}`);
  await expect.poll(() => asked).toBe(2);
  for (let seconds = 0; seconds < 30; seconds += 3) {
    await page.clock.runFor(3_000);
    await page.evaluate(`fetch("icon.svg")`); // what was asked until now has come by, and whether the server is there was answered
  }
  expect(asked).toBe(2);
  answerAll();
  await phase(page, "completed");
});

test("the graph shows the way taken, the loop with its count, and the move that was refused", async () => {
  const page = await open(`#/runs/${walked}`);
  const graph = page.getByRole("group", { name: /^Graph/ });
  await graph.getByRole("link", { name: "Draft the notes (draft) visited 2 times", exact: true }).waitFor();
  expect(await graph.getByRole("link").allTextContents()).toEqual(
    expect.arrayContaining([expect.stringContaining("visited 2 times")]) as string[],
  );
  expect(await page.locator(".edge.taken").count()).toBeGreaterThan(4);
  expect(await page.locator(".graph .edge.refused").count()).toBe(1);
  await page
    .getByRole("region", { name: "Timeline, oldest first" })
    .getByText(/turn \d+\.\d+/)
    .first()
    .waitFor();
  await picture(page, "page-run");
  await page.getByText("The graph as a table").click();
  const table = page.getByRole("table");
  await expect.poll(() => table.innerText()).toContain("no edge: refused once");
  expect(await table.innerText()).toContain("taken 2 times");
});

test("a node shows what was said, the calls with arguments and results, what it wrote and what it changed", async () => {
  const page = await open(`#/runs/${walked}`);
  await page
    .getByRole("group", { name: /^Graph/ })
    .getByRole("link", { name: /Draft the notes/ })
    .click();
  await page.getByText("I write the notes now").waitFor();
  await page.getByText("fs_write").first().click();
  await page.getByRole("heading", { name: "Arguments" }).waitFor();
  await page.getByText("The heron stands still").first().waitFor();
  await page.getByRole("button", { name: "What it wrote" }).click();
  await page.getByRole("button", { name: "What changed" }).click();
  await page.locator("ins", { hasText: "three" }).waitFor();
  await page.locator("del", { hasText: "The heron stands." }).waitFor();
  await page.getByRole("button", { name: "What it changed" }).click();
  await page.locator("ins", { hasText: "currentNodeId" }).waitFor();
  await page.getByLabel("Visited 2 times").selectOption({ index: 0 });
  await page.getByText("I write the notes now").waitFor();
  await picture(page, "page-node");
  expect(page.url()).toContain("/graph/draft/3");
});

test("results are read as they are meant: Markdown as a text, code in colours, with what changed", async () => {
  const page = await open(`#/runs/${walked}/results`);
  await page.getByRole("heading", { name: "Field notes" }).waitFor();
  await page.getByLabel("Version").selectOption({ index: 1 });
  await page.getByText("The heron stands.", { exact: true }).waitFor();
  await page.getByRole("link", { name: "@project/artifacts/list.json" }).click();
  await page.locator(".hljs-string", { hasText: "heron" }).waitFor();
  expect(
    await page
      .getByRole("link", { name: /notes\.md/ })
      .locator("..")
      .innerText(),
  ).toContain("2 versions");
});

describe("what models, packages and projects write", () => {
  test("acts nowhere, loads nothing, hides nothing", async () => {
    const page = await open(
      `#/runs/${walked}/results/${encodeURIComponent("@project/artifacts/sources.md")}`,
    );
    await page.getByText("a page", { exact: true }).waitFor();
    expect(await actingParts(page)).toEqual(HARMLESS);
    expect((await page.locator("main").innerText()).split(SHOWN)).toHaveLength(3);
    await page.goto(`${stand.origin}/#/runs/${walked}/graph/gather`);
    await page.getByText("I look at what is there").waitFor();
    expect(await actingParts(page)).toEqual(HARMLESS);
    expect(await page.locator("main").innerText()).toContain(SHOWN);
  });

  const SHOWN = String.raw`report\u{202e}fdp.exe and zero\u{200b}width`;
  const HARMLESS = {
    elements: 0,
    harmed: undefined,
    links: ["https://example.com/a", "https://example.com/b"].map(
      (href) => `${href} noopener noreferrer nofollow`,
    ),
    images: 1,
    scripts: 1,
  };

  /** What could act on a page, and what is shown in its place. */
  async function actingParts(page: Page) {
    const live = "main :is(script, img, iframe, style, form[action], [onerror], [onload], [style*=url])";
    const links = await page
      .locator("main .markdown a[href]")
      .evaluateAll((all) => all.map((link) => `${link.getAttribute("href")} ${link.getAttribute("rel")}`));
    return {
      elements: await page.locator(live).count(),
      harmed: await page.evaluate("window.harmed"),
      links: [...new Set(links)],
      images: await page.getByText("[image: a picture · https://evil.test/pixel.png]").count(),
      scripts: await page.getByText("<script>window.harmed = 'script'</script>").count(),
    };
  }

  test("is shown in part where it is huge", async () => {
    const huge = ["```", `start ${"word ".repeat(8_000)}end-of-it`, "```"].join("\n");
    const run = await stand.start({ input: huge });
    const page = await open(`#/runs/${run}/graph/gather`);
    await page.getByText("start word").waitFor();
    expect(await page.getByText("end-of-it").count()).toBe(0);
    const end = page.getByText("end-of-it");
    const more = page.getByRole("button", { name: "Show more" }).first();
    await eventually(async () => {
      if ((await end.count()) === 0 && (await more.isVisible())) await more.click();
      return (await end.count()) === 1;
    });
    const box = page
      .getByRole("group", { name: "Text that can be scrolled" })
      .filter({ hasText: "end-of-it" });
    await box.focus();
    await page.keyboard.press("End");
    await eventually(async () => (await box.evaluate((element) => element.scrollTop)) > 0);
    expect(await seriousFindings(page)).toEqual([]);
  });
});

test("a run that waits for a run below it shows what that one asks and takes the answer, and each leads to the other", async () => {
  const packageDir = join(stand.dir, "in-parts");
  await writeTree(packageDir, notesInParts());
  const { packageId } = valueOf(await stand.store.packages.install(packageDir));
  const run = await stand.start({ packageId, workflowRef: "main" });
  const page = await open(`#/runs/${run}`);
  const asked = page.getByRole("region", { name: "A question of a run below" });
  await asked.getByRole("link", { name: /^run \S+ of part$/ }).waitFor();
  await asked.locator("strong", { hasText: "colour" }).waitFor();
  await answer(page, "Blue.");
  await phase(page, "completed");
  await page
    .getByRole("group", { name: /^Graph/ })
    .getByRole("link", { name: /parts/ })
    .click();
  await page.getByRole("link", { name: /^run \S+ of part$/ }).click();
  await page.getByRole("heading", { name: "part", level: 1 }).waitFor();
  await page.getByRole("link", { name: `run ${run.slice(0, 8)}` }).click();
  await page.getByRole("heading", { name: "main", level: 1 }).waitFor();
  expect(page.url()).toContain(run);
});

test("a failed run says why, and Retry lets it go on", async () => {
  stand.mood.refusesKey = true;
  const run = await stand.start();
  const page = await open(`#/runs/${run}`);
  await page.getByRole("heading", { name: "The run has failed" }).waitFor();
  await page.getByText("LLM_AUTH_FAILED").first().waitFor();
  const graph = page.getByRole("group", { name: /^Graph/ });
  await graph.getByRole("link", { name: /failed here/ }).waitFor();
  expect(await page.locator(".graph .node.current.failed").count()).toBe(1);
  await page.getByRole("list").getByText("where the run has failed").waitFor();
  await page.getByText("The graph as a table").click();
  expect(await page.getByRole("table").getByText("failed here").count()).toBe(1);
  expect(await seriousFindings(page)).toEqual([]);
  stand.mood.refusesKey = false;
  await page.getByRole("button", { name: "Retry" }).click();
  await page.getByText("Newcomers").waitFor();
  await phase(page, "waits for you");
  expect(await page.getByRole("heading", { name: "The run has failed" }).count()).toBe(0);
  await graph.getByRole("link", { name: /waits for you/ }).waitFor();
  expect(await page.getByText("where the run has failed").count()).toBe(0);
});

test("a run whose workflow task fails in each worker says that it stands still, why, and what ends that", async () => {
  const run = await stand.start();
  const page = await open(`#/runs/${run}`);
  await phase(page, "waits for you");
  await stand.killWorker();
  const stop = await startEmptyWorker(inject("temporalAddress"), stand.store.taskQueue);
  onTestFinished(stop); // the stand is others' too
  await stand.client.temporal.workflow.getHandle(workflowIdOf(run)).signal("look");
  await page.getByText(/The run stands still: its workflow task fails/).waitFor();
  // The one that was killed may have taken the task with it.
  await page.getByText(/What fails: .*(?:graphRun|their logs do)/).waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await stop();
  await stand.startWorker();
  await page.getByText(/stands still/).waitFor({ state: "detached" });
  await phase(page, "waits for you");
});

test("a run is paused, let go on, and cancelled by forms that say what they do", async () => {
  const run = await stand.start();
  const page = await open(`#/runs/${run}/actions`);
  await phase(page, "waits for you");
  await page.getByText("It stops before its next model turn").click();
  await page.getByRole("button", { name: "Pause the run" }).click();
  await phase(page, "paused");
  await page.getByRole("button", { name: "Let it go on" }).first().click();
  await expect.poll(() => page.getByText("The run is paused").count(), { timeout: PATIENCE_MS }).toBe(0);
  await stand.killWorker();
  await page.getByText("It ends as failed, and can be retried").click();
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await page.getByText("The run is told.").waitFor(); // which nothing else on the page shows until a worker is there
  await stand.startWorker();
  await page.getByRole("heading", { name: "The run was stopped" }).waitFor();
});

test("a run that failed before it was opened says why, and not that there is no such run", async () => {
  const run = await stand.start({ packageId: "no-such-package" });
  const page = await open(`#/runs/${run}`);
  await page.getByRole("heading", { name: "The run has failed" }).waitFor();
  await page.getByText("E_PACKAGE_NOT_FOUND").first().waitFor();
  await page.getByText("The run has not been opened").first().waitFor();
  expect(await page.locator("main").innerText()).not.toContain("There is no run");
});

test("a run whose store has lost it is said to be lost, and not never opened", async () => {
  const projectRoot = join(stand.dir, "lost");
  await mkdir(projectRoot);
  valueOf(await stand.store.roots.add(projectRoot, "write"));
  const run = await stand.start({ projectRoot });
  const page = await open(`#/runs/${run}`);
  await phase(page, "waits for you");
  const { projectId } = valueOf(await stand.store.runs.findRun(run));
  await stand.killWorker();
  await rm(join(stand.store.dir, "projects", projectId), { recursive: true });
  await stand.startWorker();
  await page.reload();
  await page.getByText("though it was opened: its files were lost").first().waitFor();
  expect(await page.locator("main").innerText()).not.toContain("has not been opened");
});

test("a run forks from a node with a changed variable", async () => {
  const page = await open(`#/runs/${walked}/actions`);
  await page.getByText("A new run begins where this one stood").click();
  await page.getByLabel("From where").selectOption({ label: "After visit 2 of ask, at draft" });
  const variables = page.getByLabel("Variables it begins with");
  await expect.poll(() => variables.inputValue()).toContain("newcomers");
  await variables.fill('{ "audience": "colleagues" }');
  await page.getByText("Changed: audience.").waitFor();
  await page.getByRole("button", { name: "Fork the run" }).click();
  await page.getByText("a fork of").waitFor();
  await phase(page, "completed");
  await page.getByRole("link", { name: "State", exact: true }).click();
  await page.getByText("colleagues").first().waitFor();
});

test("an answer is seen while the model gives it", async () => {
  let release = () => undefined as void;
  const held = new Promise<void>((resolve) => (release = resolve));
  stand.mood.beforeDraftEnds = () => held;
  onTestFinished(() => release());
  const run = await stand.start();
  const page = await open(`#/runs/${run}`);
  await answer(page, "For colleagues.");
  await page
    .getByRole("group", { name: /^Graph/ })
    .getByRole("link", { name: /Draft the notes/ })
    .click();
  const live = page.getByLabel("The answer under way");
  await live.getByText("I write the notes now").waitFor();
  stand.mood.beforeDraftEnds = undefined;
  release();
  await phase(page, "completed");
  await expect.poll(() => live.count(), { timeout: PATIENCE_MS }).toBe(0);
});

test("a package shows its graph and agents; a run of it is rehearsed from the form", async () => {
  const page = await open("#/packages");
  await page
    .getByRole("link", { name: /field-notes/ })
    .first()
    .click();
  await page.locator(".graph text", { hasText: "Gather what is known" }).waitFor();
  await page.getByRole("heading", { name: "2 agents" }).waitFor();
  await picture(page, "page-package");
  await page.getByLabel("First words").fill("Begin.");
  await page.getByLabel(/^Rehearse/).check();
  // A limit that is none is refused, and not left out.
  const more = page.getByText(/^More: model/);
  const turns = page.getByLabel("Turns at most");
  await more.click();
  await turns.fill("0");
  await page.getByRole("button", { name: "Rehearse" }).click();
  await page.getByRole("alert").getByText("budget").waitFor();
  await turns.fill("-1");
  await more.click();
  await page.getByRole("button", { name: "Rehearse" }).click();
  await turns.waitFor();
  await turns.fill("");
  await page.getByRole("button", { name: "Rehearse" }).click();
  await page.waitForURL(/#\/runs\/[0-9a-f-]{36}$/);
  await phase(page, "completed");
  await expect.poll(() => page.locator(".node.visited").count(), { timeout: PATIENCE_MS }).toBe(5);
});

test("a page that was open before a worker made its run's files shows them as they come", async () => {
  const room = await copyRoom(stand.dir);
  await stand.killWorker();
  const run = await stand.client.startBundle({ ...room, projectRoot: stand.projectRoot, input: "*intake" });
  const page = await open(`#/runs/${run.runId}`);
  await page.getByText("The run has not been opened").first().waitFor();
  // A time that goes on is not called out to who listens, each few seconds.
  const since = page.getByText("It waits since").last();
  expect(await since.evaluate((words) => words.closest("[aria-live]")?.getAttribute("aria-live"))).toBe(
    "off",
  );
  // Temporal is one of their own: interlock dev would refuse it.
  await page.locator(".note code", { hasText: /^interlock worker$/ }).waitFor();
  expect(await page.locator("main").innerText()).not.toContain("interlock dev");
  await stand.startWorker();
  await phase(page, "completed");
  await page.getByText("{bundle-root}/config.yaml").waitFor();
  const timeline = page.getByRole("region", { name: "Timeline, oldest first" });
  await expect.poll(() => timeline.getByText("save_output").count(), { timeout: PATIENCE_MS }).toBe(1);
});

test("a bundle run has the files it has read and its session folder in the graph's place", async () => {
  const room = await copyRoom(stand.dir);
  const run = await stand.client.startBundle({ ...room, projectRoot: stand.projectRoot, input: "*intake" });
  const page = await open(`#/runs/${run.runId}`);
  await phase(page, "completed");
  await page.getByText("{bundle-root}/config.yaml").waitFor();
  await page.getByText("save_output").waitFor();
  await page
    .getByRole("link", { name: /^Conversation/ })
    .first()
    .click();
  await page.getByText("Everything is saved.").waitFor();
  await page.getByRole("link", { name: BUNDLE_RESULT }).click();
  await page.getByRole("heading", { name: "A quiet book" }).waitFor();
  expect(await seriousFindings(page)).toEqual([]);
});

test("nothing serious stands in the way of a screen reader or the keyboard, in the light and in the dark, and a narrow screen shows all in its width", async () => {
  const paths = ["", `#/runs/${walked}`, `#/runs/${walked}/graph/draft`, `#/runs/${walked}/results`];
  const itsPackage = `#/packages/${stand.store.taskQueue}/${stand.packageId}`;
  const more = [`#/runs/${walked}/state`, `#/runs/${walked}/actions`, "#/packages", itsPackage];
  const dark = await open("", { colorScheme: "dark", viewport: { width: 320, height: 640 } });
  const light = await open("");
  for (const path of [...paths, ...more]) {
    for (const page of [light, dark]) {
      await page.goto(`${stand.origin}/${path}`);
      await page.locator("main h1").first().waitFor();
      await page.waitForLoadState("networkidle").catch(() => undefined); // a live stream never ends
      await page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })");
      await page.waitForLoadState("networkidle").catch(() => undefined); // what is open asks for more
      const found = await seriousFindings(page);
      const beyond = await page.evaluate(`
        document.documentElement.scrollWidth > innerWidth ||
        [...document.querySelectorAll("nav a")].some((link) => link.getBoundingClientRect().right > innerWidth)
      `);
      expect({ path, found, beyond }).toEqual({ path, found: [], beyond: false });
    }
  }
  await dark.goto(`${stand.origin}/#/runs/${walked}`);
  await dark.getByRole("group", { name: /^Graph/ }).waitFor();
});

test("who has set larger texts in the browser has all of them larger, and loses none", async () => {
  for (const width of [1280, 480]) {
    const page = await open("", { viewport: { width, height: 800 } });
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Page.setFontSizes", { fontSizes: { standard: 32, fixed: 26 } });
    const size = await page.evaluate("Number.parseFloat(getComputedStyle(document.body).fontSize)");
    expect(size).toBeGreaterThanOrEqual(30);
    for (const path of ["#/runs", `#/runs/${walked}`, `#/runs/${walked}/actions`, "#/packages"]) {
      await page.goto("about:blank");
      await page.goto(`${stand.origin}/${path}`);
      await page.locator("main :is(.virtual li, summary, .card)").first().waitFor();
      const cut = await page
        .locator(".virtual li")
        .evaluateAll((rows) => rows.filter((row) => row.scrollHeight > row.clientHeight + 1).length);
      const beyond = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
      expect({ width, path, cut, beyond }).toEqual({ width, path, cut: 0, beyond: false });
    }
  }
});

test("what was typed for a question that somebody else answers first is kept, and said to be not taken", async () => {
  const run = await stand.start();
  const [page, other] = [await open(`#/runs/${run}`), await open(`#/runs/${run}`)];
  await page.getByLabel("Your answer").fill("A long and careful answer.");
  await answer(other, "Blue.");
  const kept = page.getByLabel("What you have typed was not taken");
  expect(await kept.inputValue()).toBe("A long and careful answer.");
  await phase(page, "completed");
  await page.getByRole("button", { name: "Discard it" }).click();
  expect(await kept.count()).toBe(0);
});

test("what was typed for a question is there again after another view, another page, and while it is sent", async () => {
  const run = await stand.start();
  const page = await open(`#/runs/${run}`);
  const box = page.getByLabel("Your answer");
  await box.fill("A long and careful answer.");
  await page.getByRole("link", { name: "Runs" }).click();
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  await page.goBack();
  expect(await box.inputValue()).toBe("A long and careful answer.");
  await page.reload();
  expect(await box.inputValue()).toBe("A long and careful answer.");
  await page.goto("about:blank");
  await page.goBack();
  expect(await box.inputValue()).toBe("A long and careful answer.");

  // What is on its way is taken, though the page that has sent it is gone before it hears so.
  await page.route("**/run/answer", async (route) => {
    await route.fetch();
    await page.reload();
  });
  await page.getByRole("button", { name: "Answer" }).click();
  await phase(page, "completed");
  expect(await page.getByLabel("What you have typed was not taken").count()).toBe(0);
});

test("when the page's server answers again, what it is asked seldom is asked again at once", async () => {
  const page = await open("");
  let isDown = true;
  const asked: string[] = [];
  await page.route(/\/run[?/]/, (route) => {
    if (isDown) return route.abort();
    asked.push(new URL(route.request().url()).pathname.replace(/^\/api\/[^/]+/, ""));
    return route.continue();
  });
  await page.goto(`${stand.origin}/#/runs/${walked}`);
  const fault = page.getByText("The server of this page does not answer");
  await fault.first().waitFor();
  isDown = false;
  await page.getByRole("group", { name: /^Graph/ }).waitFor();
  await fault.first().waitFor({ state: "detached" });
  // The run itself is asked for every three seconds, its graph every fifteen.
  const before = asked.slice(0, asked.indexOf("/run/graph")).filter((path) => path === "/run");
  expect(before.length).toBeLessThanOrEqual(2);
});

test("a server of the page that answers nothing is told of, also where something is sent to it", async () => {
  const run = await stand.start();
  const page = await open(`#/runs/${run}`);
  await page.getByLabel("Your answer").fill("Into the void.");
  // As of a process that was stopped: what is asked is taken, and never answered.
  await page.route(/\/(?:api\/.*|healthz)$/, () => undefined);
  await page.getByRole("button", { name: "Answer" }).click();
  const fault = page.locator("form, .asking").getByText("The server of this page does not answer");
  await fault.first().waitFor({ timeout: 40_000 });
  expect(await page.getByLabel("Your answer").inputValue()).toBe("Into the void.");
  await page.unrouteAll();
  await page.getByRole("button", { name: "Answer" }).click();
  await phase(page, "completed");
});

test("beside a Temporal that stands still, several tabs say that of it, and not of the page's own server", async () => {
  const temporal = await door(inject("temporalAddress"));
  const run = await stand.start();
  const first = await stand.openElsewhere({ TEMPORAL_ADDRESS: temporal.address }, `#/runs/${run}`);
  onTestFinished(() => first.context().close());
  const tabs = [first, await first.context().newPage(), await first.context().newPage()];
  for (const tab of tabs) {
    await tab.goto(first.url());
    await tab.getByRole("group", { name: /^Graph/ }).waitFor();
  }
  temporal.still();
  // All of what they ask waits now, on all the connections that a browser has for it.
  for (const tab of tabs) {
    const fault = tab.getByText(/does not answer/).first();
    await fault.waitFor({ timeout: PATIENCE_MS });
    expect(await fault.innerText()).toBe("Temporal does not answer. It is asked again.");
  }
});

test("in forced colours the chosen tab alone is underlined", async () => {
  const page = await open(`#/runs/${await stand.start()}`, { forcedColors: "active" });
  await page.locator('.tabs a[aria-current="page"]').waitFor();
  const colours = `[...document.querySelectorAll(".tabs a")].map((tab) => [
    tab.ariaCurrent === "page",
    getComputedStyle(tab).borderBottomColor !== getComputedStyle(document.body).backgroundColor,
  ])`;
  const tabs = (await page.evaluate(colours)) as readonly (readonly [boolean, boolean])[];
  expect(tabs.length).toBeGreaterThan(2);
  for (const [isChosen, isUnderlined] of tabs) expect(isUnderlined).toBe(isChosen);
});

test("by keyboard alone a question is found and answered", async () => {
  const run = await stand.start();
  const page = await open(`#/runs`);
  const card = page.locator(`.waiting a[href="#/runs/${run}"]`);
  await card.waitFor();
  await picture(page, "page-runs");
  await tabTo(page, card);
  await page.keyboard.press("Enter");
  const box = page.getByLabel("Your answer");
  await box.waitFor();
  await tabTo(page, box);
  // What is asked and answered in Arabic or Hebrew runs from the right.
  const asked = `[".asking .markdown p", "textarea"].map((part) => getComputedStyle(document.querySelector(part)).unicodeBidi)`;
  expect(await page.evaluate(asked)).toEqual(["plaintext", "plaintext"]);
  const sent: (string | null)[] = [];
  page.on("request", (request) => void (request.url().endsWith("/answer") && sent.push(request.postData())));
  await page.keyboard.press("Control+Enter"); // nothing is typed yet
  await page.keyboard.type("By keyboard.");
  await tabTo(page, page.getByRole("button", { name: "Answer" }));
  await page.keyboard.press("Enter");
  await phase(page, "completed");
  await box.waitFor({ state: "detached" });
  // Who has sent it goes on from here, and not from the top of the page.
  expect(await page.evaluate("document.activeElement.tagName")).toBe("MAIN");
  expect(sent).toEqual([expect.stringContaining("By keyboard.")]);
  const node = page
    .getByRole("group", { name: /^Graph/ })
    .getByRole("link")
    .first();
  await tabTo(page, node);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Gather what is known" }).waitFor();
  expect(page.url()).toContain("/graph/gather");
});

/** Presses Tab until something has the focus. */
async function tabTo(page: Page, target: ReturnType<Page["locator"]>): Promise<void> {
  for (let presses = 0; presses < 80; presses += 1) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error("Tab does not lead there.");
}

test("the filters of the list are those of the command, and stand in the address", async () => {
  await stand.start();
  const page = await open("#/runs?phase=completed");
  const phases = page.getByRole("region", { name: "Runs, newest first" }).locator(".phase");
  await phases.first().waitFor();
  expect(new Set(await phases.allTextContents())).toEqual(new Set(["completed"]));
  await page.getByLabel("Phase").selectOption("");
  await phases.getByText("waits for you").first().waitFor();
  await eventually(() => page.url().endsWith("#/runs"));
  await page.getByLabel("Package begins with").fill("no-such-package");
  await page.getByLabel("Package begins with").press("Enter");
  await page.getByText("No run fits.").waitFor();
  expect(page.url()).toContain("package=no-such-package");
  // Who filters by keyboard goes on from the field, and not from the top of the page.
  await page.keyboard.press("Tab");
  await page.keyboard.type("attic");
  await page.keyboard.press("Enter");
  await eventually(() => page.url().includes("project=attic"));
  const project = page.getByLabel("Project");
  expect(await project.evaluate((field) => field === field.ownerDocument.activeElement)).toBe(true);
  await page.getByLabel("Package begins with").fill("");
  await page.keyboard.press("Tab");
  await eventually(() => page.url().endsWith("#/runs?project=attic"));
  await page.keyboard.press("End");
  await page.keyboard.type("s");
  expect(await project.inputValue()).toBe("attics");
  await page.goBack();
  await eventually(() => page.url().includes("no-such-package"));
  await eventually(async () => (await page.getByLabel("Package begins with").inputValue()) !== "");
});

test("a filter that is typed into the address and that no option has is shown as what the list goes by", async () => {
  await stand.start();
  const page = await open("#/runs?phase=waiting-user,running");
  const phases = page.getByRole("region", { name: "Runs, newest first" }).locator(".phase");
  await phases.getByText("waits for you").first().waitFor();
  expect(await page.getByLabel("Phase").inputValue()).toBe("waiting-user,running");
});

test("who goes back at once sees in the fields what the list is filtered by", async () => {
  const page = await open("#/runs?package=attic");
  const field = page.getByLabel("Package begins with");
  await expect.poll(() => field.inputValue(), { timeout: PATIENCE_MS }).toBe("attic");
  await field.fill("");
  // The address changes twice before the page is told of the first time.
  await page.evaluate(`
    document.activeElement.dispatchEvent(new Event("change"));
    location.hash = "#/runs?package=attic";
  `);
  await expect.poll(() => field.inputValue(), { timeout: PATIENCE_MS }).toBe("attic");
});

describe("what happens while nobody looks, or before an answer has come", () => {
  test("an answer of the model's that has ended while nobody looked is not under way any more", async () => {
    let release = () => undefined as void;
    const held = new Promise<void>((resolve) => (release = resolve));
    stand.mood.beforeQuestionEnds = () => held;
    onTestFinished(() => {
      stand.mood.beforeQuestionEnds = undefined;
      release();
    });
    const run = await stand.start();
    const page = await open(`#/runs/${run}/graph/ask`);
    const live = page.getByLabel("The answer under way");
    await live.getByText("Which of these").waitFor();
    const isHidden = (hidden: boolean) =>
      page.evaluate(`
        Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} });
        document.dispatchEvent(new Event("visibilitychange"));
      `);
    await isHidden(true);
    release();
    await phase(await open(`#/runs/${run}`), "waits for you");
    await isHidden(false);
    await page.locator(".talk strong", { hasText: "Newcomers" }).waitFor();
    await expect.poll(() => live.count(), { timeout: PATIENCE_MS }).toBe(0);
  });

  test("a retry that fails before the page has asked again is in its timeline", async () => {
    stand.mood.refusesKey = true;
    onTestFinished(() => void (stand.mood.refusesKey = false));
    const run = await stand.start();
    const page = await open("");
    let isSlow = false;
    await page.route(/\/run\?/, async (route) => {
      if (isSlow) await eventually(async () => (await failures()) === 2);
      await route.continue();
    });
    const failures = async () => {
      const { projectId } = valueOf(await stand.store.runs.findRun(run));
      const { logFile } = valueOf(await stand.store.runs.openFiles(projectId, run));
      return (await readFile(logFile, "utf8")).split('"phase":"failed"').length - 1;
    };
    await page.goto(`${stand.origin}/#/runs/${run}`);
    const rows = page.locator(".event-row", { hasText: "LLM_AUTH_FAILED" });
    await rows.waitFor();
    const retry = page.getByRole("button", { name: "Retry" });
    await retry.waitFor(); // the page knows that it has failed
    isSlow = true;
    await retry.click();
    await expect.poll(() => rows.count(), { timeout: PATIENCE_MS }).toBe(2);
  });

  test("a run that is looked at in more places than a browser has streams for goes on in all of them", async () => {
    const run = await stand.start();
    const first = await open(`#/runs/${run}`);
    const context = first.context();
    const tabs = [first];
    for (let more = 0; more < MAX_STREAMS; more += 1) {
      const tab = await context.newPage();
      await tab.goto(first.url());
      tabs.push(tab);
    }
    for (const tab of tabs) await tab.locator(".event-row", { hasText: "waits for an answer" }).waitFor();
    await stand.client.handle(run).pause(); // what is over is told of by another way
    await phase(first, "paused");
    await answer(first, "For newcomers.");
    for (const tab of tabs) await tab.locator(".event-row", { hasText: "For newcomers." }).waitFor();
    expect(tabs).toHaveLength(MAX_STREAMS + 1);
  });

  test("what is typed last before somebody leaves is there again, and so is what is refused after that", async () => {
    const run = await stand.start();
    const page = await open(`#/runs/${run}`);
    const box = page.getByLabel("Your answer");
    await box.fill("A long");
    await page.evaluate(`{
      const box = document.querySelector(".asking textarea");
      box.value = "A long and careful answer.";
      box.dispatchEvent(new Event("input", { bubbles: true }));
      location.hash = "#/runs";
    }`);
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    await page.goBack();
    expect(await box.inputValue()).toBe("A long and careful answer.");
    const line = await slowLine(page, "**/run/answer");
    await page.getByRole("button", { name: "Answer" }).click();
    await page.getByRole("link", { name: "Runs" }).click();
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    await answer(await open(`#/runs/${run}`), "Blue.");
    await line();
    await page.goBack();
    await phase(page, "completed");
    const kept = page.getByLabel("What you have typed was not taken");
    await kept.waitFor();
    expect(await kept.inputValue()).toBe("A long and careful answer.");
  });

  test("a run that begins while somebody has gone elsewhere does not take them there", async () => {
    const page = await open(`#/packages/${stand.store.taskQueue}/${stand.packageId}`);
    await page.getByLabel(/^Rehearse/).check();
    const line = await slowLine(page, "**/start");
    await page.getByRole("button", { name: "Rehearse" }).click();
    await page.getByRole("link", { name: "Runs" }).click();
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    await line();
    await page.evaluate("new Promise((resolve) => setTimeout(resolve))"); // what came was heard
    expect(page.url()).toMatch(/#\/runs$/);
  });

  test("a start that nobody has heard of, sent again, is one run; changed meanwhile it is another, with its own words", async () => {
    const page = await open(`#/packages/${stand.store.taskQueue}/${stand.packageId}`);
    await page.getByLabel(/^Rehearse/).check();
    const words = page.getByLabel("First words");
    await words.fill("First.");
    const begun: string[] = [];
    await page.route("**/start", async (route) => {
      const answer = await route.fetch();
      begun.push(((await answer.json()) as { readonly runId: string }).runId);
      if (begun.length === 3) await route.fulfill({ response: answer });
      else await route.abort();
    });
    const send = async (times: number) => {
      await page.getByRole("button", { name: "Rehearse" }).click();
      await expect.poll(() => begun.length, { timeout: PATIENCE_MS }).toBe(times);
    };
    await send(1);
    await page.getByRole("alert").waitFor();
    await send(2);
    await page.getByRole("alert").waitFor();
    await words.fill("Second.");
    await send(3);
    await page.waitForURL(/#\/runs\/[0-9a-f-]{36}$/);
    const [first, again, changed] = begun;
    expect({ first, changed: changed === first }).toEqual({ first: again, changed: false });
    expect(page.url()).toContain(changed);
  });
});

/** Holds what is asked there back. What it gives lets it through, and waits for the answer. */
async function slowLine(page: Page, path: string): Promise<() => Promise<void>> {
  let letThrough = () => undefined as void;
  const held = new Promise<void>((resolve) => (letThrough = resolve));
  await page.route(path, async (route) => {
    await held;
    await route.continue();
  });
  return async () => {
    const answered = page.waitForResponse(path);
    letThrough();
    await (await answered).finished();
  };
}

test("first words stay while another workflow of the package is chosen", async () => {
  const packageDir = join(stand.dir, "in-parts");
  await writeTree(packageDir, notesInParts());
  const { packageId } = valueOf(await stand.store.packages.install(packageDir));
  const page = await open(`#/packages/${stand.store.taskQueue}/${packageId}`);
  const words = page.getByLabel("First words");
  await words.fill("A long beginning.");
  await page.getByLabel("Workflow").selectOption("part");
  await page.locator(".graph text", { hasText: "colour" }).first().waitFor();
  expect(await words.inputValue()).toBe("A long beginning.");
});

test("first words are there again after another view and after another page, until a run has them", async () => {
  const page = await open(`#/packages/${stand.store.taskQueue}/${stand.packageId}`);
  const words = page.getByLabel("First words");
  await words.fill("A long beginning.");
  await page.getByRole("link", { name: "Runs" }).click();
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  await page.goBack();
  await expect.poll(() => words.inputValue(), { timeout: PATIENCE_MS }).toBe("A long beginning.");
  await page.reload();
  await expect.poll(() => words.inputValue(), { timeout: PATIENCE_MS }).toBe("A long beginning.");
  await page.getByLabel(/^Rehearse/).check();
  await page.getByRole("button", { name: "Rehearse" }).click();
  await page.waitForURL(/#\/runs\/[0-9a-f-]{36}$/);
  await page.goBack();
  await expect.poll(() => words.inputValue(), { timeout: PATIENCE_MS }).toBe("");
});

test("each conversation begins at its end, and who turns its pages by keyboard stays at the button", async () => {
  const room = await copyRoom(stand.dir);
  const run = await stand.client.startBundle({ ...room, projectRoot: stand.projectRoot, input: "*intake" });
  const page = await open("");
  await page.route(/\/run\/conversation\?/, (route) => {
    const asked = new URL(route.request().url()).searchParams;
    const from = Number(asked.get("from"));
    const first = from < 0 ? 60 + from : from;
    const entries = Array.from({ length: Math.min(25, 60 - first) }, (_, at) => {
      const text = { text: `${asked.get("name")} says ${first + at}`, bytes: 9, isCut: false };
      return { type: "user", nodeId: "", text };
    });
    return route.fulfill({ json: { from: first, total: 60, entries } });
  });
  await page.goto(`${stand.origin}/#/runs/${run.runId}/graph/one`);
  await page.getByText("one says 59").waitFor();
  await page.getByRole("button", { name: "Earlier" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("one says 10").waitFor();
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Earlier");
  await page.goto(`${stand.origin}/#/runs/${run.runId}/graph/two`);
  await page.getByText("two says 59").waitFor();
});

describe("where there is very much", () => {
  test("of a run with thousands of calls, what is seen is in the page, and the rest comes when it is wanted", async () => {
    const run = await stand.start();
    const page = await open(`#/runs/${run}`);
    await phase(page, "waits for you");
    const { projectId } = valueOf(await stand.store.runs.findRun(run));
    const { logFile } = valueOf(await stand.store.runs.openFiles(projectId, run));
    await appendFile(logFile, manyEvents(5_000));
    await page.reload();
    const timeline = page.getByRole("region", { name: "Timeline, oldest first" });
    const rows = timeline.locator(".event-row");
    await rows.getByText("turn 9.5000").waitFor();
    expect(await rows.count()).toBeLessThan(60);
    await page.getByRole("button", { name: "Show earlier" }).click();
    await timeline.focus();
    await page.keyboard.press("Home");
    await rows.first().waitFor();
    expect(await rows.count()).toBeLessThan(60);
    expect(Number(await page.evaluate("document.querySelectorAll('*').length"))).toBeLessThan(2_000);
  });

  test("of hundreds of runs, what is seen is in the page, and older ones come when they are scrolled to", async () => {
    await startMany(300);
    const page = await open("");
    const { list, scrollTo } = await newestOf(page);
    await scrollTo(300);
    expect(await list.locator(".run-row").count()).toBeLessThan(60);
  });

  test("on paper all that the list has come to stands there, one below the other, and on the screen it is where it was", async () => {
    await startMany(300);
    const page = await open("");
    const { list } = await newestOf(page);
    await list.evaluate((box) => void (box.scrollTop = 4_000));
    const rows = list.locator("li");
    const onScreen = async () => (await rows.count()) < 60;
    const place = () => list.evaluate((box) => box.scrollTop);
    expect([await onScreen(), await place()]).toEqual([true, 4_000]);
    await page.emulateMedia({ media: "print" });
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    const all = await rows.first().getAttribute("aria-setsize");
    const ends = await rows.evaluateAll((items) => items.map((item) => item.getBoundingClientRect()));
    expect(ends.length).toBe(Number(all));
    expect(ends.every(({ top }, index) => top >= (ends[index - 1]?.bottom ?? top) - 1)).toBe(true);
    expect(await list.evaluate((box) => box.scrollHeight <= box.clientHeight)).toBe(true);
    await page.emulateMedia({ media: "screen" });
    await page.evaluate("dispatchEvent(new Event('afterprint'))");
    await expect.poll(onScreen).toBe(true);
    expect(await place()).toBe(4_000);
  });

  test("far down in the list, too, a run is shown as it stands now", async () => {
    await startMany(900);
    const page = await open("");
    const { list, scrollTo } = await newestOf(page);
    await scrollTo(800);
    // In the midst of those that are in the page: one that ends moves behind others of its millisecond.
    const rows = list.locator(".run-row", { has: page.locator(".phase.idle") });
    const row = rows.nth(Math.floor((await rows.count()) / 2));
    const link = (await row.getAttribute("href")) ?? "";
    const phase = list.locator(`.run-row[href="${link}"] .phase`);
    await stand.client.temporal.workflow.getHandle(workflowIdOf(link.split("/").at(-1) ?? "")).terminate();
    await expect.poll(() => phase.innerText(), { timeout: PATIENCE_MS }).toBe("failed");
  });
});

test("no page has failed at something, been refused something by its policy, or asked another host", () => {
  expect(complaints).toEqual([]);
});

/** Begins runs that nobody works on. */
async function startMany(count: number): Promise<void> {
  const { workflow } = stand.client.temporal;
  const start = () =>
    workflow.start("graphRun", { taskQueue: "nobody", workflowId: `run-${randomUUID()}`, args: [{}] });
  for (let begun = 0; begun < count; begun += 100) await Promise.all(Array.from({ length: 100 }, start));
}

/** The list of runs once it has its first page, and how it stands: how many it has, where it is scrolled to, what has failed. */
async function newestOf(page: Page) {
  const words = page.getByRole("status").last();
  await expect.poll(() => words.innerText(), { timeout: PATIENCE_MS }).toMatch(/^200 newest/);
  const list = page.getByRole("region", { name: "Runs, newest first" });
  const standing = async () => ({
    runs: Number.parseInt(await words.innerText(), 10),
    scrolled: await list.evaluate(({ scrollTop, scrollHeight }) => `${scrollTop} of ${scrollHeight} px`),
    hasFocus: await list.evaluate((box) => box === box.ownerDocument.activeElement),
    failures: await page.getByRole("alert").allInnerTexts(),
  });
  /** A key that is pressed once may be lost: a browser that is too busy to draw skips its smooth scrolling. */
  const scrollTo = async (runs: number) => {
    await list.focus();
    const isThere = async () => {
      await page.keyboard.press("End");
      return standing();
    };
    await expect.poll(isThere, { timeout: PATIENCE_MS }).toSatisfy((now) => now.runs >= runs);
    // The list scrolls smoothly: rows that are seen on the way are not there any more in the end.
    let before = "";
    const isAtRest = async () => before === (before = (await standing()).scrolled);
    await expect.poll(isAtRest, { timeout: PATIENCE_MS, interval: 500 }).toBe(true);
  };
  return { list, scrollTo };
}

/** Lines of an audit log: a turn and a call, in turns. */
function manyEvents(count: number): string {
  const common = { ts: new Date().toISOString(), nodeId: "ask", agentId: "author", durationMs: 5 };
  const lines = Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? {
          ...common,
          kind: "tool.exec",
          toolCallId: `many-${index}`,
          toolName: "fs.list",
          input: {},
          output: { ok: true },
        }
      : { ...common, kind: "model.turn", id: `9.${index + 1}`, model: "scripted", calls: 1 },
  );
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
