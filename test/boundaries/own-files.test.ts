import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const SRC = fileURLToPath(new URL("../../src", import.meta.url));

/** What opens a file by its path, or follows a link to say whether it is there. Descriptors are fine. */
const OPENS =
  /\b(?:openSync|readFileSync|readFile|writeFile|appendFile|appendFileSync|copyFile|copyFileSync|cp|cpSync|createReadStream|createWriteStream|existsSync|truncate|truncateSync|openAsBlob|open)\b[^;]*\bfrom "node:fs(?:\/promises)?"/;
const importsOf = (text: string): string =>
  (text.match(/import \{[^}]*\} from "node:fs(?:\/promises)?";/g) ?? []).join("\n");

/** Sources that users name: what is installed may be reached through a link, and each file is opened by rules of its own. */
const OF_USERS = ["package-files.ts", "package-archive.ts", "answer-text.ts", "attest.ts"];
/** Tables of the kernel, and the list of the machine's users. */
const OF_THE_SYSTEM = ["root-places.ts", "process-identity.ts", "check-machine.ts"];
/** They fill a folder of the cache that they have just made. */
const OF_THE_CACHE = ["fetch-archive.ts", "fetch-cli.ts", "fetch-way.ts", "fetch-wheel.ts"];
/** They read what the build and its examples are made of. */
const OF_THE_BUILD = ["program.ts", "demo.ts"];
const OTHERS = [...OF_USERS, ...OF_THE_SYSTEM, ...OF_THE_CACHE, ...OF_THE_BUILD];

function filesOf(room: string): readonly string[] {
  return readdirSync(join(SRC, room), { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
}

describe("a file of the service's own", () => {
  test("is opened in one place", () => {
    const openers = ["store", "activities", "embedded", "workflows", "doctor", "cli"].flatMap((room) =>
      filesOf(room)
        .filter((file) => OPENS.test(importsOf(readFileSync(join(SRC, room, file), "utf8"))))
        .filter((file) => !OTHERS.includes(basename(file)))
        .map((file) => join(room, file)),
    );
    expect(openers).toEqual([join("store", "disk", "own-file.ts")]);
  });

  test("nobody in store takes all of node:fs", () => {
    const whole = filesOf("store").filter((file) =>
      /import (?:\* as|\w+ from|\w+,).*"node:fs|require\(|import\("node:fs/.test(
        readFileSync(join(SRC, "store", file), "utf8"),
      ),
    );
    expect(whole).toEqual([]);
  });

  test("the notes of unfinished writes are opened by it", () => {
    const imports = importsOf(readFileSync(join(SRC, "tools/sandbox/temporary-file.ts"), "utf8"));
    // A new file is made in a pinned directory, under a name that nothing has.
    expect(imports.replace("openSync,", "")).not.toMatch(OPENS);
  });

  test("an opener is seen", () => {
    expect('import { readFile } from "node:fs/promises";').toMatch(OPENS);
    expect('import { writeFileSync, existsSync } from "node:fs";').toMatch(OPENS);
    expect('import { writeFileSync, closeSync } from "node:fs";').not.toMatch(OPENS);
  });
});

test("no folder is made with those above it by the call that says ENOENT of a full disk", () => {
  const made = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter(
    (file) =>
      file.endsWith(".ts") && /\bmkdir\([^;]*recursive: true/.test(readFileSync(join(SRC, file), "utf8")),
  );
  expect(made, "mkdirSync of node:fs says ENOSPC").toEqual([]);
});
