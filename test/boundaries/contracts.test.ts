import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PLACES = ["src", "test", "docs", "bench", "scripts"];
/** `contracts §7`, `contracts, §§7 and 9`, `contracts.md#7-file-tools` stand for sections of docs/contracts.md. */
const CITATION = /contracts(?:\.md\))?,? §{1,2}(\d+)(?:(?:, §?| and §?)(\d+))?|contracts\.md#(\d+)-/g;

const contracts = readFileSync(join(ROOT, "docs/contracts.md"), "utf8");
const sections = [...contracts.matchAll(/^## (\d+)\. (.+)$/gm)].map(([, number, title]) => ({
  number: Number(number),
  title,
}));

function citationsOf(text: string): readonly number[] {
  return [...text.matchAll(CITATION)].flatMap(([, ...numbers]) =>
    numbers.flatMap((n) => (n ? [Number(n)] : [])),
  );
}

describe("docs/contracts.md", () => {
  test("numbers its sections from 1 and lists them", () => {
    expect(sections.map(({ number }) => number)).toEqual(sections.map((_, index) => index + 1));
    const contents = (/^Contents: ([^]+?)\n\n/m.exec(contracts)?.[1] ?? "")
      .replaceAll("\n", " ")
      .split(" · ");
    expect(contents).toHaveLength(sections.length);
  });

  test("has every section that is cited", () => {
    const files = PLACES.flatMap((place) =>
      readdirSync(join(ROOT, place), { recursive: true, encoding: "utf8" })
        .filter((file) => /\.(?:ts|mjs|md)$/.test(file))
        .map((file) => join(place, file)),
    );
    const cited = files.flatMap((file) => citationsOf(readFileSync(join(ROOT, file), "utf8")));
    expect(cited.length).toBeGreaterThan(80);
    const known = sections.map(({ number }) => number);
    expect([...new Set(cited)].filter((number) => !known.includes(number))).toEqual([]);
  });

  test("a citation is seen", () => {
    expect(
      citationsOf("see contracts §7, contracts §§5 and 6, [contracts §14](contracts.md#14-what)"),
    ).toEqual([7, 5, 6, 14, 14]);
  });
});
