import type { Client } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { askForTools } from "../../src/mcp/ask-for-tools.js";

test("a server that takes its time for each page of its tools holds a turn up for half a minute, and has those that it has said", async () => {
  let now = 0;
  let pages = 0;
  const request = (async () => {
    now += 9_000;
    pages += 1;
    return { tools: [{ name: `tool-${pages}` }], nextCursor: `${pages}` };
  }) as unknown as Client["request"]; // one of its forms
  const { tools, isWhole } = await askForTools({ request }, () => now);
  expect([tools.length, isWhole, now]).toEqual([4, false, 36_000]);
});
