// Writes schemas/*.schema.json from the zod schemas. Run after `npm run build`; a test fails on drift.
import { mkdir, writeFile } from "node:fs/promises";

const built = new URL("../dist/core/package/json-schemas.js", import.meta.url);
const events = new URL("../dist/core/run/run-event.js", import.meta.url);
const attestations = new URL("../dist/attest/statement.js", import.meta.url);
const notices = new URL("../dist/core/notify/notice.js", import.meta.url);
const target = new URL("../schemas/", import.meta.url);

const { packageJsonSchemas, renderJsonSchema } = await import(built.href);
const { eventJsonSchemas } = await import(events.href);
const { attestationJsonSchemas } = await import(attestations.href);
const { noticeJsonSchemas } = await import(notices.href);
await mkdir(target, { recursive: true });
const families = [packageJsonSchemas, eventJsonSchemas, noticeJsonSchemas, attestationJsonSchemas];
for (const [name, schema] of families.flatMap((family) => [...family()])) {
  await writeFile(new URL(name, target), renderJsonSchema(schema));
}
