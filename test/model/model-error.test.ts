import { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from "openai";
import { describe, expect, test } from "vitest";
import { ModelError, classifyModelError, readRetryAfter } from "../../src/model/model-error.js";

const NOW = new Date("2026-03-04T05:06:07.000Z");

function classified(error: unknown, apiKey?: string): ModelError {
  const result = classifyModelError(error, NOW, apiKey);
  if (!(result instanceof ModelError)) throw new Error("not a model error");
  return result;
}

const answered = (status: number, message = "why", headers: Record<string, string> = {}) =>
  APIError.generate(status, { error: { message } }, undefined, new Headers(headers));

describe("an answer of the provider", () => {
  test.each([
    [400, "LLM_HTTP_ERROR", false],
    [401, "LLM_AUTH_FAILED", false],
    [403, "LLM_AUTH_FAILED", false],
    [404, "LLM_HTTP_ERROR", false],
    [408, "LLM_TIMEOUT", true],
    [409, "LLM_HTTP_ERROR", true],
    [413, "LLM_HTTP_ERROR", false],
    [418, "LLM_HTTP_ERROR", false],
    [422, "LLM_HTTP_ERROR", false],
    [429, "LLM_RATE_LIMITED", true],
    [500, "LLM_HTTP_ERROR", true],
    [502, "LLM_HTTP_ERROR", true],
    [503, "LLM_HTTP_ERROR", true],
    [504, "LLM_HTTP_ERROR", true],
    [529, "LLM_HTTP_ERROR", true],
  ])("of status %i is %s, worth another try: %s", (status, code, retryable) => {
    const error = classified(answered(status));
    expect([error.code, error.retryable]).toEqual([code, retryable]);
    expect(error.message).toBe(`The model endpoint answered ${status} why`);
  });

  test("asks for a wait only where another try is worth it", () => {
    const wait = { "retry-after": "3" };
    expect(classified(answered(429, "", wait)).retryAfterMs).toBe(3_000);
    expect(classified(answered(503, "", wait)).retryAfterMs).toBe(3_000);
    expect(classified(answered(400, "", wait)).retryAfterMs).toBeUndefined();
    expect(classified(answered(429)).retryAfterMs).toBeUndefined();
  });
});

describe("everything else", () => {
  test.each<[string, unknown, string]>([
    ["a timeout of the client", new APIConnectionTimeoutError(), "LLM_TIMEOUT"],
    [
      "no connection",
      new APIConnectionError({ message: "connect ECONNREFUSED 127.0.0.1:1" }),
      "LLM_HTTP_ERROR",
    ],
    [
      "a connection that breaks",
      new TypeError("terminated", {
        cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }),
      }),
      "LLM_HTTP_ERROR",
    ],
    [
      "a connection that is reset",
      new TypeError("terminated", {
        cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }),
      }),
      "LLM_HTTP_ERROR",
    ],
    ["a bug of ours", new TypeError("x is not a function"), "LLM_BAD_RESPONSE"],
    ["JSON that cannot be parsed", new SyntaxError("Unexpected token"), "LLM_BAD_RESPONSE"],
    [
      "an error in a stream",
      new APIError(undefined, { message: "overloaded" }, undefined, undefined),
      "LLM_BAD_RESPONSE",
    ],
    ["no error at all", "text", "LLM_BAD_RESPONSE"],
    ["nothing", undefined, "LLM_BAD_RESPONSE"],
  ])("%s is worth another try", (_, thrown, code) => {
    expect(classified(thrown)).toMatchObject({ code, retryable: true });
  });

  test("what was judged before and what was aborted stay what they are", () => {
    const judged = new ModelError({ code: "LLM_TIMEOUT", message: "", retryable: true });
    const abort = Object.assign(new Error("stop"), { name: "AbortError" });
    for (const error of [judged, abort, new APIUserAbortError()]) {
      expect(classifyModelError(error, NOW)).toBe(error);
    }
  });
});

describe("a message enters histories, so it", () => {
  test.each([
    [
      "repeats no key by its shape",
      "Incorrect API key provided: sk-abcdefghijklmnopqrst.",
      /provided: <secret>\.$/u,
    ],
    ["repeats no path of the machine", "cannot open /home/me/models/x.gguf", /cannot open <path>$/u],
    ["stays on one line", "a\nb\u2028c\r\n\u001b[2Jd", /answered 400 a b c +\[2Jd$/u],
  ])("%s", (_, text, expected) => {
    expect(classified(answered(400, text)).message).toMatch(expected);
  });

  test("repeats not even a key of no known shape, when it is the one in use", () => {
    const error = classified(
      answered(401, "your key hunter2hunter2 is wrong; hunter2hunter2!"),
      "hunter2hunter2",
    );
    expect(error.message).toBe("The model endpoint answered 401 your key <secret> is wrong; <secret>!");
    expect(classified(new Error("key hunter2hunter2"), "hunter2hunter2").message).not.toContain("hunter2");
  });

  test("is bounded", () => {
    expect(classified(answered(500, "x".repeat(1_000_000))).message.length).toBeLessThan(400);
  });
});

describe("Retry-After", () => {
  test.each<[Record<string, string>, number | undefined]>([
    [{}, undefined],
    [{ "retry-after": "7" }, 7_000],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": "1.5" }, 1_500],
    [{ "retry-after": " 2 " }, 2_000],
    [{ "retry-after": "999999999" }, 600_000],
    [{ "retry-after-ms": "250" }, 250],
    [{ "retry-after-ms": "250", "retry-after": "9" }, 250],
    [{ "retry-after-ms": "soon", "retry-after": "9" }, 9_000],
    [{ "retry-after": "Wed, 04 Mar 2026 05:06:37 GMT" }, 30_000],
    [{ "retry-after": "Wed, 04 Mar 2020 05:06:37 GMT" }, 0],
    [{ "retry-after": "Wed, 04 Mar 2099 05:06:37 GMT" }, 600_000],
    [{ "retry-after": "later" }, undefined],
    [{ "retry-after": "" }, undefined],
    [{ "retry-after": "1e9" }, undefined],
  ])("%j asks for %s ms", (headers, expected) => {
    expect(readRetryAfter(new Headers(headers), NOW)).toBe(expected);
  });
});
