import { describe, expect, test } from "vitest";
import {
  boundFindings,
  errorFinding,
  jsonPath,
  listNames,
  quote,
  warningFinding,
  faultFinding,
} from "../../../src/core/package/findings.js";

test("a JSON path is written so that every key can be told apart", () => {
  expect(jsonPath([])).toBe("$");
  expect(jsonPath(["nodes", 2, "agentId"])).toBe("$.nodes[2].agentId");
  expect(jsonPath(["a b", "1", "", '"'])).toBe(String.raw`$["a b"]["1"][""]["\""]`);
});

describe("boundFindings", () => {
  const errors = (count: number) =>
    Array.from({ length: count }, (_, i) => errorFinding("f", `$[${i}]`, "no"));
  const warnings = (count: number) =>
    Array.from({ length: count }, (_, i) => warningFinding("f", `$[${i}]`, "hm"));

  test("puts errors first, and each finding once", () => {
    const [error, warning] = [errorFinding("f", "$", "no"), warningFinding("f", "$", "hm")];
    expect(boundFindings([warning, error, error, warning])).toEqual([error, warning]);
  });

  test("leaves 100 as they are", () => {
    expect(boundFindings([...errors(50), ...warnings(50)])).toHaveLength(100);
  });

  test("cuts more, says so, and does not turn warnings into errors", () => {
    const cut = boundFindings([...warnings(100), ...errors(1)]);
    expect(cut).toHaveLength(100);
    expect(cut[0]?.severity).toBe("error");
    expect(cut.at(-1)).toEqual(warningFinding(".", "$", "and 2 more findings: mend these first"));
    expect(boundFindings(errors(500)).at(-1)).toEqual(
      errorFinding(".", "$", "and 401 more findings: mend these first"),
    );
  });
});

test("names from packages stay on one line and bounded", () => {
  expect(quote('a"b\n')).toBe(String.raw`"a\"b\n"`);
  expect(quote("\u202eab\u200b")).toBe(String.raw`"\u202eab\u200b"`);
  expect(listNames(["a\u202e", "b\n"])).toBe(String.raw`a\u{202e}, b\u{a}`);
  expect(quote("x".repeat(1000)).length).toBeLessThan(130);
  expect(quote(`${"x".repeat(119)}😀`)).toBe(`"${"x".repeat(119)}\ufffd…"`);
  expect(listNames([])).toBe("none");
  expect(listNames(new Set(["a", "b"]))).toBe("a, b");
  expect(listNames(Array.from({ length: 12 }, (_, i) => `n${i}`))).toMatch(/^n0, .*n9, and 2 more$/);
  expect(errorFinding("f\u001b", "$\n", "a\u2028b")).toEqual({
    severity: "error",
    file: String.raw`f\u001b`,
    path: String.raw`$\u000a`,
    message: String.raw`a\u2028b`,
  });
});

test("a fault's finding has the line that the fault names, where it names one", () => {
  const fault = { code: "E_INVALID_FRONTMATTER", message: "Tabs." } as const;
  const plain = { severity: "error", file: "a.md", path: "$", message: "Tabs." };
  expect(faultFinding("a.md", fault)).toEqual(plain);
  expect(faultFinding("a.md", { ...fault, details: { line: 3 } })).toEqual({ ...plain, line: 3 });
});
