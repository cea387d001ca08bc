import { expect, test } from "vitest";
import { freePort } from "../fakes/free-port.js";
import { goThrough } from "../fakes/proxied.js";

test("a model behind a proxy that is dead is not mended by another base URL: the proxy is named", async () => {
  goThrough({ host: "127.0.0.1", port: await freePort() });
  const { checkModel } = await import("../../src/doctor/check-models.js");
  const settings = { model: "m", baseUrl: "http://model.test/v1", stream: false, timeoutMs: 10_000 };
  const [reachable] = await checkModel({ settings, usedBy: ["default"], keyVariable: "OPENAI_API_KEY" });
  expect(reachable).toMatchObject({
    status: "failed",
    found: "http://model.test/v1: ERR_PROXY_ECONNREFUSED",
    remedy: "Mend what HTTPS_PROXY or HTTP_PROXY names, or name the host in NO_PROXY.",
  });
});
