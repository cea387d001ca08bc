import { type RequestListener, createServer } from "node:http";
import { describe, expect, test } from "vitest";
import { webLinkOf } from "../../../src/cli/session/web-link.js";
import { listen } from "../../fakes/listen.js";

const RUN = { workflowId: "run-1", executionRunId: () => Promise.resolve("exec") };

/** A Web UI that answers every request so. */
async function webUi(answer: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(createServer(answer))}`;
}

function sessionWith(
  webUi: string | undefined,
  {
    embedded = false,
    lasts = true,
    webUiCheck,
  }: { embedded?: boolean; lasts?: boolean; webUiCheck?: string } = {},
) {
  return {
    webUi,
    webUiCheck,
    embedded,
    webUiLasts: () => Promise.resolve(lasts),
    client: { namespace: "shop" },
  };
}

describe("the link to a run in the Web UI", () => {
  test("leads to its page, where one answers a HEAD", async () => {
    const asked: string[] = [];
    const url = await webUi((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.writeHead(302, { location: "/login" }).end();
    });
    const link = await webLinkOf(sessionWith(`${url}/`), RUN, { after: true });
    expect(link.url).toBe(`${url}/namespaces/shop/workflows/run-1/exec/user-metadata`);
    expect(asked).toEqual(["HEAD /"]);
  });

  test.each([
    ["nobody listens", () => Promise.resolve("http://127.0.0.1:9")],
    ["what stands before it has lost it", () => webUi((_, response) => response.writeHead(502).end())],
    ["nothing comes", () => webUi(() => undefined)],
  ])("is none where %s, and says how to come to one", async (_, place) => {
    const url = await place();
    const link = await webLinkOf(sessionWith(url), RUN, { after: false });
    expect(link.url).toBeNull();
    expect(link.how).toContain(`${url} does not answer`);
    expect(link.how).toContain("INTERLOCK_WEB_UI");
  });

  test("is that which people open, where it answers at another address from here, as in a container", async () => {
    const refused = await webUi((_, response) => response.writeHead(403).end());
    const elsewhere = sessionWith("http://127.0.0.1:9", { webUiCheck: `${refused}/healthz` });
    expect((await webLinkOf(elsewhere, RUN, { after: true })).url).toMatch(/^http:\/\/127\.0\.0\.1:9\//);
    const gone = sessionWith("http://127.0.0.1:9", { webUiCheck: "http://127.0.0.1:9" });
    expect((await webLinkOf(gone, RUN, { after: true })).url).toBeNull();
  });

  test("is none where nobody has said where it is", async () => {
    const link = await webLinkOf(sessionWith(undefined), RUN, { after: false });
    expect(link).toEqual({ url: null, how: "set INTERLOCK_WEB_UI to that of your Temporal" });
  });

  test("of the embedded server is none at the end of its last user, and names interlock dev", async () => {
    const url = await webUi((_, response) => response.end());
    const ours = sessionWith(url, { embedded: true, lasts: false });
    expect((await webLinkOf(ours, RUN, { after: false })).url).not.toBeNull();
    const end = await webLinkOf(ours, RUN, { after: true });
    expect(end).toEqual({ url: null, how: expect.stringContaining("interlock dev") as string });
    const shared = sessionWith(url, { embedded: true });
    expect((await webLinkOf(shared, RUN, { after: true })).url).not.toBeNull();
  });

  test("of the embedded server leads to its Web UI that has yet to come up behind the gate", async () => {
    let asked = 0;
    const url = await webUi((_, response) => response.writeHead((asked += 1) < 3 ? 502 : 200).end());
    const link = await webLinkOf(sessionWith(url, { embedded: true }), RUN, { after: false });
    expect(link.url).not.toBeNull();
    expect(asked).toBe(3);
  });
});
