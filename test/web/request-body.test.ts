import { createServer, request } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { bodyWithin } from "../../src/web/request-body.js";
import { listen } from "../fakes/listen.js";

/** What a server that takes four bytes answers to this; a body without a length is sent in chunks, and its end only after the answer. */
async function answerTo(body: string, headers: Record<string, string> = {}): Promise<string> {
  const server = createServer((asked, response) => {
    bodyWithin(asked, 4, new Error("too large")).then(
      (bytes) => response.end(`read ${bytes.toString("utf8")}`),
      (error: unknown) => response.end(String(error)),
    );
  });
  const asking = request({ host: "127.0.0.1", port: await listen(server), method: "POST", headers });
  return new Promise((resolve, reject) => {
    asking.on("error", reject);
    asking.on("response", (response) => void text(response).then(resolve, reject));
    if (body.length > 4 || "Content-Length" in headers) asking.write(body);
    else asking.end(body);
  });
}

test("a body as large as it may be is read whole", async () => {
  expect(await answerTo("abcd")).toBe("read abcd");
  expect(await answerTo("")).toBe("read ");
});

test("who sends more than there may be is told so, while more may come", async () => {
  expect(await answerTo("abcde")).toBe("Error: too large");
});

test("who announces more is told so before it is sent", async () => {
  expect(await answerTo("a", { "Content-Length": "5" })).toBe("Error: too large");
});
