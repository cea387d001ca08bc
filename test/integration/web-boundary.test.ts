import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { beforeAll, afterAll, describe, expect, test, vi } from "vitest";
import { openBrowsedServer } from "../embedded/browsed-server.js";
import type { Listener } from "../embedded/listeners.js";

/*
 * A web page in the user's browser reaches nothing of the embedded server: every TCP port that its processes listen on is
 * found and attacked with what a page can make a browser send.
 */

const SECRET = `secret-${randomUUID()}`;
const EVIL = "evil.test";

let browsed: Awaited<ReturnType<typeof openBrowsedServer>>;

beforeAll(async () => {
  browsed = await openBrowsedServer(SECRET);
  await vi.waitUntil(async () => (await browsed.client.workflow.count()).count === 1, 20_000);
});

afterAll(() => browsed.close());

describe.runIf(process.platform === "linux")("every port of the server's processes", () => {
  test("is closed to what a page of another origin or with a rebound name sends", async () => {
    const listeners = await browsed.listeners();
    expect(listeners.length).toBeGreaterThanOrEqual(7);
    const attackable = [];
    for (const listener of listeners) {
      expect(isLoopback(listener.address), `${listener.address} is reached from other machines`).toBe(true);
      if (await isOutOfReach(listener)) continue;
      attackable.push(listener);
    }
    // The Web UI itself and the metrics; all others have been attacked.
    expect(listeners.length - attackable.length).toBe(2);
    for (const { port } of attackable) {
      for (const attack of attacksOn(port)) {
        const answer = await send(port, attack);
        expect({ attack, ...answer, harm: harmIn(answer) }).toMatchObject({ harm: [] });
      }
    }
    expect(await workflowIds()).toEqual([SECRET]);
  });

  test("is opened by no known name in the HTTP API: the one it answers to is drawn anew for each start", async () => {
    const commandLine = await readFile(`/proc/${browsed.server.pid}/cmdline`, "utf8");
    expect(commandLine).toMatch(/frontend\.httpAllowedHosts=\["[0-9a-f-]{36}\.invalid"\]/);
  });
});

test("the Web UI works where it is announced", async () => {
  const page = await fetch(browsed.server.uiUrl);
  expect(page.status).toBe(200);
  expect(page.headers.get("content-type")).toContain("text/html");
  const runs = async () =>
    (await fetch(`${browsed.server.uiUrl}/api/v1/namespaces/default/workflows`)).text();
  await expect.poll(runs, { timeout: 20_000 }).toContain(SECRET);
});

async function workflowIds(): Promise<readonly string[]> {
  const ids: string[] = [];
  // A listing can be older than the last start: the one under test is asked for by its id as well.
  for await (const { workflowId } of browsed.client.workflow.list()) ids.push(workflowId);
  const started = browsed.client.workflow.getHandle("stolen");
  await expect(started.describe()).rejects.toThrow(/not found/i);
  return ids;
}

/** A place that a page cannot name, or whose port browsers refuse to connect to. */
async function isOutOfReach({ address, port }: Listener): Promise<boolean> {
  const names = ["127.0.0.1", "127.0.1.1", "::1"];
  const reached = await Promise.all(names.map((host) => accepts(host, port)));
  if (!reached.includes(true)) return /^127\.(?!0\.)\d+\.\d+\.\d+$/.test(address);
  const refused = await fetch(`http://127.0.0.1:${port}/`).then(
    async (response) => {
      await response.body?.cancel();
      return "";
    },
    (error: Error) => String(error.cause),
  );
  return refused.includes("bad port");
}

async function accepts(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  const accepted = await Promise.race([
    once(socket, "connect").then(() => true),
    new Promise<boolean>((resolve) => socket.once("error", () => resolve(false))),
  ]).catch(() => false);
  socket.destroy();
  return accepted;
}

interface Attack {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

function* attacksOn(port: number): Generator<Attack> {
  const foreign = [EVIL, `${EVIL}:${port}`, "disabled.invalid", "localhost", `127.0.0.1.${EVIL}:${port}`];
  const own = [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
  const start = JSON.stringify({
    workflowType: { name: "graphRun" },
    taskQueue: { name: "interlock" },
    requestId: randomUUID(),
  });
  const starting = { path: "/api/v1/namespaces/default/workflows/stolen", body: start };
  const paths = [
    "/",
    "/metrics",
    "/debug/pprof/",
    "/api/v1/namespaces",
    "/api/v1/namespaces/default/workflows",
    "/namespaces/default/workflows",
    "/cluster/namespaces",
  ];
  for (const host of [...foreign, ...own]) {
    const isOwn = own.includes(host);
    // With a rebound name a page is of the same origin as what it reads; with our own it shows its foreign origin.
    const sent = isOwn
      ? { Host: host, Origin: `http://${EVIL}`, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors" }
      : { Host: host, Origin: `http://${host}`, "Sec-Fetch-Site": "same-origin" };
    for (const path of paths) yield { method: "GET", path, headers: sent };
    yield {
      method: "GET",
      path: "/",
      headers: isOwn ? { ...sent, "Sec-Fetch-Dest": "iframe" } : { Host: host },
    };
    for (const type of ["text/plain", "application/json", "application/x-www-form-urlencoded"]) {
      yield { method: "POST", ...starting, headers: { ...sent, "Content-Type": type } };
    }
    const preflight = {
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "content-type",
    };
    yield { method: "OPTIONS", path: starting.path, headers: { ...sent, ...preflight } };
    yield {
      method: "POST",
      ...starting,
      headers: { Host: host, Origin: `http://${EVIL}`, Cookie: "_csrf=x", "X-CSRF-Token": "x" },
    };
  }
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Null where the port does not speak HTTP as browsers do. */
function send(port: number, { method, path, headers, body }: Attack): Promise<Answer | null> {
  return new Promise((resolve) => {
    const asked = request(
      { host: "127.0.0.1", port, method, path, headers, setHost: false, agent: false },
      (response) => {
        void text(response).then(
          (read) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: read }),
          () => resolve(null),
        );
      },
    );
    asked.once("error", () => resolve(null));
    asked.end(body);
  });
}

function harmIn(answer: Answer | null): readonly string[] {
  if (answer === null) return [];
  const { status, headers, body } = answer;
  return [
    ...(status < 400 ? [`status ${status}`] : []),
    ...(headers["set-cookie"] === undefined ? [] : ["a cookie"]),
    ...(headers["access-control-allow-origin"] === undefined ? [] : ["other origins are let in"]),
    ...(body.includes(SECRET) ? ["the list of runs"] : []),
  ];
}

function isLoopback(address: string): boolean {
  return address.startsWith("127.") || address === "00000000000000000000000001000000";
}
