// Writes schemas/*.schema.json from the zod schemas; a test fails on drift.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundle } from "./build-code.mjs";

const FAMILIES = {
  "core/package/json-schemas": "packageJsonSchemas",
  "core/run/run-event": "eventJsonSchemas",
  "core/notify/notice": "noticeJsonSchemas",
  "attest/statement": "attestationJsonSchemas",
};
const target = new URL("../schemas/", import.meta.url);

const dir = await mkdtemp(join(tmpdir(), "interlock-schemas-"));
await writeFile(join(dir, "package.json"), '{ "type": "module" }');
await bundle(dir, Object.keys(FAMILIES), () => false);
const modules = await Promise.all(
  Object.keys(FAMILIES).map((name) => import(pathToFileURL(join(dir, `${name}.js`)).href)),
);
const [{ renderJsonSchema }] = modules;
await mkdir(target, { recursive: true });
for (const [name, schema] of Object.values(FAMILIES).flatMap((family, at) => [...modules[at][family]()])) {
  await writeFile(new URL(name, target), renderJsonSchema(schema));
}
await rm(dir, { recursive: true });
