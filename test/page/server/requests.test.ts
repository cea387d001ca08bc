import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { parseRequest } from "../../../src/page/server/requests.js";

test("what is nested without end is refused as the request's fault, not as the server's", () => {
  const fork = (set: string): unknown =>
    JSON.parse(`{"run":"r","visit":0,"newRunId":"${randomUUID()}","set":{"a":${set}}}`);
  const refused = expect.objectContaining({ status: 400, code: "E_SCHEMA_VALIDATION" }) as Error;
  for (const depth of [200, 20_000, 100_000]) {
    expect(() => parseRequest("fork", fork("[".repeat(depth) + "]".repeat(depth)))).toThrow(refused);
  }
  expect(() => parseRequest("fork", fork(`[${"0,".repeat(50_000)}0]`))).toThrow(refused);
  expect(() => parseRequest("fork", fork('{"__proto__":{"b":1}}'))).toThrow(refused);
  expect(parseRequest("fork", fork("[[1]]"))).toMatchObject({ set: { a: [[1]] } });
});
