import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDERS = ["src", "test", "bench", "scripts", "docs", "examples", "deploy", "schemas"];

const LINK = /\]\((?![a-z]+:)([^)\s#]*)(?:#([^)\s]+))?\)/g;
/** `src/cli/commands`, wherever it begins a path; `store/disk/` inside of another path does not. */
const PATH = new RegExp(String.raw`(?<![\w/.@-])(?:${FOLDERS.join("|")})/[\w./-]*[\w/]`, "g");
/** `open-run.ts`, `store/runs/runs.ts`: a file of the code by its own name, or by the end of its path. */
const CODE_FILE = /(?<![\w/.@*-])(?!\.)[\w./-]*[\w-]\.(?:ts|mjs|cjs)\b/g;

const files = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((file) => join(folder, file)),
);
const topmost = readdirSync(ROOT);
const documents = [...topmost, ...files.filter((file) => file.startsWith("docs/"))]
  .filter((file) => file.endsWith(".md"))
  .concat("bench/README.md");

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

/** The names that GitHub gives to the headings of a document. */
function anchorsOf(text: string): readonly string[] {
  return [...text.replaceAll(/```[^]*?```/g, "").matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** What a document links to or names and what is not there. */
function missingIn(document: string, text: string): readonly string[] {
  const links = [...text.matchAll(LINK)].flatMap(([link, path = "", anchor]) => {
    const target = path === "" ? document : normalize(join(dirname(document), path));
    if (!existsSync(join(ROOT, target))) return [link];
    return anchor === undefined || anchorsOf(read(target)).includes(anchor) ? [] : [link];
  });
  const paths = [...text.matchAll(PATH)].filter(([path]) => !existsSync(join(ROOT, path)));
  return [...links, ...paths.map(([name]) => name), ...missingFiles(text)];
}

/** The files of the code that a text names and that are not there. */
function missingFiles(text: string): readonly string[] {
  return [...text.matchAll(CODE_FILE)]
    .map(([name]) => name)
    .filter(
      (name) => !topmost.includes(name) && !files.some((file) => file === name || file.endsWith(`/${name}`)),
    );
}

describe("the documents for readers", () => {
  test.each(documents)("%s links to and names only what is there", (document) => {
    expect(missingIn(document, read(document))).toEqual([]);
  });

  test("the map of AGENTS.md has every folder of the code, docs/ARCHITECTURE.md every room that is one", () => {
    const folders = readdirSync(join(ROOT, "src"), { withFileTypes: true }).filter((each) =>
      each.isDirectory(),
    );
    const named = new Set(read("AGENTS.md").match(/(?<![\w/])(?:src\/)?[\w-]+(?=\/ )/g));
    const untold = folders.filter(({ name }) => !named.has(`src/${name}`) && !named.has(name));
    expect(untold.map(({ name }) => name)).toEqual([]);
    const rooms = Object.keys(JSON.parse(read("scripts/rooms.json")) as object);
    const cells = read("docs/ARCHITECTURE.md").match(/^\| [^|]+/gm) ?? [];
    const told = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, room]) => room));
    expect(rooms.filter((room) => !room.endsWith(".ts") && !told.includes(room))).toEqual([]);
  });

  test("what is not there is seen", () => {
    const text =
      "[a](no.md) [b](contracts.md#nowhere) `src/no-room/` `no-such-file.ts` [c](#the-words) src/core/x.ts";
    expect(missingIn("docs/ARCHITECTURE.md", text)).toEqual([
      "](no.md)",
      "](contracts.md#nowhere)",
      "src/no-room/",
      "src/core/x.ts",
      "no-such-file.ts",
      "src/core/x.ts",
    ]);
  });

  test("comments in the code name only files that are there", () => {
    const code = files.filter((file) => /^src\/.*\.ts$/.test(file));
    const missing = code.flatMap((file) => {
      const comments = read(file).match(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm) ?? [];
      return missingFiles(comments.join("\n")).map((name) => `${file}: ${name}`);
    });
    expect(missing).toEqual([]);
    expect(missingFiles("as in `no-such-file.ts`")).toEqual(["no-such-file.ts"]);
  });
});
