import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");

test("npx in a checkout runs the build that is there: another one would take it from what runs beside it", async () => {
  const place = await mkdtemp(join(tmpdir(), "interlock-npx-"));
  const checkout = join(place, "checkout");
  await mkdir(join(checkout, "dist/cli"), { recursive: true });
  for (const name of ["package.json", "scripts"])
    await cp(join(ROOT, name), join(checkout, name), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(checkout, "node_modules"));
  const program = '#!/usr/bin/env node\nconsole.log("as it was built");\n';
  await writeFile(join(checkout, "dist/cli/main.js"), program, { mode: 0o755 });
  await writeFile(join(checkout, "dist/workflow-bundle.cjs"), "");
  const { PATH } = process.env;
  const { stdout } = await promisify(execFile)("npx", ["interlock"], {
    cwd: checkout,
    env: { PATH, HOME: place, npm_config_offline: "true", npm_config_update_notifier: "false" },
  });
  expect(stdout).toBe("as it was built\n");
  expect(await readFile(join(checkout, "dist/cli/main.js"), "utf8")).toBe(program);
});
