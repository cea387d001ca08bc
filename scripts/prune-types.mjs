import { readFile, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Removes the declarations (`.d.ts` files below a directory) that none of these modules reaches: they are nobody's interface. */
export async function pruneTypes(dir, names) {
  const kept = new Set();
  const waiting = names.map((name) => join(dir, `${name}.d.ts`));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (kept.has(path)) continue;
    kept.add(path);
    const text = await readFile(path, "utf8");
    for (const [, target] of text.matchAll(/(?:from |import\()"(\.[^"]+)\.js"/g)) {
      waiting.push(join(dirname(path), `${target}.d.ts`));
    }
  }
  const files = (await readdir(dir, { recursive: true })).map((file) => join(dir, file));
  await Promise.all(
    files.filter((path) => path.endsWith(".d.ts") && !kept.has(path)).map((path) => rm(path)),
  );
}
