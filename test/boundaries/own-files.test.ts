import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const SRC = fileURLToPath(new URL("../../src", import.meta.url));

/** What opens a file by its path, or follows a link to say whether it is there. Descriptors are fine. */
const OPENS =
  /\b(?:openSync|readFileSync|readFile|writeFile|appendFile|appendFileSync|copyFile|copyFileSync|cp|cpSync|createReadStream|createWriteStream|existsSync|truncate|truncateSync|openAsBlob|open)\b[^;]*\bfrom "node:fs(?:\/promises)?"/;
const importsOf = (text: string): string =>
  (text.match(/import \{[^}]*\} from "node:fs(?:\/promises)?";/g) ?? []).join("\n");

/** Sources that users name: what is installed may be reached through a link, and each file is opened by rules of its own. */
const OF_USERS = ["package-files.ts", "package-archive.ts"];

describe("a file of the service's own", () => {
  test("is opened in one place", () => {
    for (const room of ["store", "activities"]) {
      const openers = readdirSync(join(SRC, room))
        .filter((file) => OPENS.test(importsOf(readFileSync(join(SRC, room, file), "utf8"))))
        .filter((file) => !OF_USERS.includes(file));
      expect(openers).toEqual(room === "store" ? ["own-file.ts"] : []);
    }
  });

  test("nobody in store takes all of node:fs", () => {
    const whole = readdirSync(join(SRC, "store")).filter((file) =>
      /import (?:\* as|\w+ from|\w+,).*"node:fs|require\(|import\("node:fs/.test(
        readFileSync(join(SRC, "store", file), "utf8"),
      ),
    );
    expect(whole).toEqual([]);
  });

  test.each(["server-record.ts", "file-lock.ts"])("embedded/%s opens by it", (file) => {
    expect(importsOf(readFileSync(join(SRC, "embedded", file), "utf8"))).not.toMatch(OPENS);
  });

  test("an opener is seen", () => {
    expect('import { readFile } from "node:fs/promises";').toMatch(OPENS);
    expect('import { writeFileSync, existsSync } from "node:fs";').toMatch(OPENS);
    expect('import { writeFileSync, closeSync } from "node:fs";').not.toMatch(OPENS);
  });
});
