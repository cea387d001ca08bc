/** Bundles the page of `interlock ui` into `dist/page/web/`: one script, one stylesheet, and the licences of what is in it. */
import { cp, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { licensesOf } from "./licenses.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SOURCE = join(ROOT, "src/page/web");

/** What the page is made of besides its script. */
const FILES = ["index.html", "icon.svg"];

/** Builds the page into a directory. */
export async function buildPage(target) {
  const bundle = await rolldown({
    input: join(SOURCE, "main.tsx"),
    platform: "browser",
    tsconfig: join(SOURCE, "tsconfig.json"),
    resolve: { extensionAlias: { ".js": [".ts", ".tsx", ".js"] } },
  });
  const { output } = await bundle.write({
    file: join(target, "page.js"),
    format: "esm",
    minify: true,
    codeSplitting: false,
    comments: { legal: false },
  });
  await bundle.close();
  await mkdir(target, { recursive: true });
  for (const file of FILES) await cp(join(SOURCE, file), join(target, file));
  await writeFile(join(target, "page.css"), await styles());
  await writeFile(join(target, "licenses.txt"), await licensesOf(output[0].moduleIds ?? []));
}

/** The stylesheets, in the order of their names. */
async function styles() {
  const dir = join(SOURCE, "styles");
  const files = (await readdir(dir)).sort((a, b) => a.localeCompare(b));
  return (await Promise.all(files.map((file) => readFile(join(dir, file), "utf8")))).join("\n");
}

if (import.meta.main ?? process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildPage(join(ROOT, "dist/page/web"));
}
