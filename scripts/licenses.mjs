import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

/** The licences of the packages that modules of a bundle belong to, as text. The bundle has none of their comments. */
export async function licensesOf(modules) {
  const inside = modules.flatMap((id) => /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? []);
  const parts = [];
  for (const dir of [...new Set(inside)].sort((a, b) => a.localeCompare(b))) {
    const { name, version, license } = JSON.parse(await readFile(join(dir, "package.json"), "utf8"));
    const files = (await readdir(dir)).filter((file) => /^licen[cs]e/i.test(file));
    const texts = await Promise.all(files.map((file) => readFile(join(dir, file), "utf8")));
    if (texts.length === 0) texts.push(`License: ${license}`);
    parts.push(`${name} ${version}\n\n${texts.join("\n\n").trim()}\n`);
  }
  return parts.join(`\n${"-".repeat(80)}\n\n`);
}
