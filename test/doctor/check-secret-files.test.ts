import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config.js";
import { checkSecretFiles } from "../../src/doctor/check-secret-files.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";

test("files of secrets that others may open are named by their variables, also those that the settings name", async () => {
  const dir = await temporaryDirectory();
  const key = join(dir, "key");
  const token = join(dir, "token");
  await writeFile(key, "sk-abcdefghijklmnop\n", { mode: 0o600 });
  await writeFile(token, "another\n");
  await chmod(token, 0o640);
  await writeFile(
    join(dir, "settings.json"),
    JSON.stringify({ models: { big: { model: "big", apiKeyVariable: "BIG_KEY" } } }),
  );
  const { secretFiles } = loadConfig({
    HOME: dir,
    INTERLOCK_STORE: dir,
    OPENAI_API_KEY_FILE: key,
    BIG_KEY_FILE: token,
    OTHER_FILE: token,
    TEMPORAL_API_KEY_FILE: "",
  });
  expect(await checkSecretFiles(secretFiles)).toMatchObject([
    { status: "ok", found: "OPENAI_API_KEY_FILE" },
    {
      status: "warning",
      found: "BIG_KEY_FILE names a file that others may open (0640)",
      remedy: 'chmod 600 "$BIG_KEY_FILE"',
    },
  ]);
});
