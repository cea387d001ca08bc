// Writes schemas/*.schema.json from the zod schemas. Run after `npm run build`; a test fails on drift.
import { mkdir, writeFile } from "node:fs/promises";

const built = new URL("../dist/core/package/json-schemas.js", import.meta.url);
const target = new URL("../schemas/", import.meta.url);

const { packageJsonSchemas, renderJsonSchema } = await import(built.href);
const inputs = new URL("../dist/contract/run-input.js", import.meta.url);
const { runInputJsonSchemas } = await import(inputs.href);
await mkdir(target, { recursive: true });
for (const [name, schema] of [...packageJsonSchemas(), ...runInputJsonSchemas()]) {
  await writeFile(new URL(name, target), renderJsonSchema(schema));
}
