import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/core/json.js";
import { summarizeForAudit } from "../../../src/store/runs/audit-summary.js";

const digest = (text: string, preview: string) => ({
  bytes: Buffer.byteLength(text),
  sha256: createHash("sha256").update(text).digest("hex"),
  preview,
});

describe("contents are replaced by size, hash and a short preview", () => {
  test.each(["content", "contentPreview", "text"])("%s, however short", (key) => {
    expect(summarizeForAudit({ path: "@project/a", [key]: "é" })).toEqual({
      path: "@project/a",
      [key]: digest("é", "é"),
    });
  });

  test("matches of a search, as a whole", () => {
    const matches = [{ path: "@project/a", line: 1, text: "secret words", before: ["b"], after: ["c"] }];
    const text = JSON.stringify(matches);
    expect(summarizeForAudit({ ok: true, matches })).toEqual({
      ok: true,
      matches: digest(text, `${text.slice(0, 60)}…`),
    });
  });

  test("lines before and after are contents, numbers of them are not", () => {
    expect(summarizeForAudit({ before: 1, after: 2 })).toEqual({ before: 1, after: 2 });
    expect(summarizeForAudit({ before: ["x"] })).toEqual({ before: digest('["x"]', '["x"]') });
  });

  test("any text beyond 160 characters, any list beyond twenty items, anything deep", () => {
    const long = "a".repeat(161);
    expect(summarizeForAudit({ reason: long })).toEqual({ reason: digest(long, `${"a".repeat(60)}…`) });
    expect(summarizeForAudit({ reason: "a".repeat(160) })).toEqual({ reason: "a".repeat(160) });
    expect(summarizeForAudit({ list: Array.from({ length: 21 }, () => 1) })).toMatchObject({
      list: { items: 21, bytes: 43 },
    });
    const deep = JSON.parse(`${'{"a":'.repeat(12)}"the bottom"${"}".repeat(12)}`) as JsonValue;
    expect(JSON.stringify(summarizeForAudit(deep))).toContain('{"bytes":30,');
  });

  test("a path stays as long as any path may be: a file with a long name would vanish from what is told and signed of a run", () => {
    const long = `@project/artifacts/${"报告".repeat(40)}/${'"'.repeat(3_800)}.md`;
    expect(Buffer.byteLength(long)).toBeLessThanOrEqual(4_096);
    const output = { ok: true, path: long, bytesWritten: 1, sha256After: "ab".repeat(32) };
    expect(summarizeForAudit(output)).toEqual(output);
    const beyond = "a".repeat(4_097);
    expect(summarizeForAudit({ path: beyond })).toEqual({ path: digest(beyond, `${"a".repeat(60)}…`) });
  });

  test("everything, when the rest is still too much", () => {
    const wide = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`k${index}`, "some value"]));
    expect(Object.keys(summarizeForAudit(wide) as JsonObject)).toEqual(["bytes", "sha256", "preview"]);
  });
});

describe("secrets stay out", () => {
  test.each<[string, JsonValue, string]>([
    ["in a text", { note: "use sk-abcdefghijklmnop please" }, '{"note":"use <secret> please"}'],
    [
      "under a name",
      { variables: { apiKey: "hunter2", password: "x" } },
      '{"variables":{"apiKey":"<secret>","password":"<secret>"}}',
    ],
    ["as a key", { "sk-abcdefghijklmnop": 1 }, '{"<secret>":1}'],
    ["in a URL", { url: "https://me:pa55@host/x" }, '{"url":"https://<secret>@host/x"}'],
  ])("%s", (_, value, expected) => {
    expect(JSON.stringify(summarizeForAudit(value))).toBe(expected);
  });

  test("in a preview, also where it is cut", () => {
    const content = `${"x".repeat(50)} sk-${"a".repeat(40)}`;
    const summary = JSON.stringify(summarizeForAudit({ content }));
    expect(summary).not.toContain("sk-a");
    const pem = `-----BEGIN PRIVATE KEY-----\n${"QUJD".repeat(100)}\n-----END PRIVATE KEY-----`;
    expect(JSON.stringify(summarizeForAudit({ content: pem }))).not.toContain("QUJD");
  });
});

describe("hostile values", () => {
  test("a key named __proto__ is a key", () => {
    const summary = summarizeForAudit(JSON.parse('{"__proto__": {"polluted": true}}') as JsonValue);
    expect(JSON.stringify(summary)).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("halves of surrogate pairs in a preview are replaced", () => {
    expect(JSON.stringify(summarizeForAudit({ content: "\ud800" }))).toContain('"preview":"\ufffd"');
  });

  test("the summary is bounded whatever the value", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6 }),
        fc.string({ unit: "binary", maxLength: 500 }),
        (value, text) => {
          const summary = summarizeForAudit({
            [text]: value as JsonValue,
            content: text,
            list: [text, value as JsonValue],
          });
          expect(Buffer.byteLength(JSON.stringify(summary))).toBeLessThanOrEqual(12_192);
        },
      ),
      { numRuns: 300, seed: 8 },
    );
  });

  test("a key of a megabyte is not written out", () => {
    expect(JSON.stringify(summarizeForAudit({ ["k".repeat(1_000_000)]: 1 })).length).toBeLessThan(300);
  });
});
