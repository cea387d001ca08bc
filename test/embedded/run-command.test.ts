import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "../../src/embedded/run-command.js";
import { temporaryDirectory } from "../fakes/package-fixture.js";

async function why(text: string): Promise<string> {
  const cwd = await temporaryDirectory();
  const file = join(cwd, "temporal");
  await writeFile(file, `#!/bin/sh\ncat >&2 <<'END'\n${text}\nEND\nexit 2\n`);
  await chmod(file, 0o755);
  const thrown: unknown = await runCommand(file, [], { cwd, env: {} }).catch((error: unknown) => error);
  return (thrown as Error).message;
}

/** As a program in Go ends where it may have no further thread. */
const NO_THREAD = `runtime: failed to create new OS thread (have 9 already; errno=11)
runtime: may need to increase max user processes (ulimit -u)
fatal error: newosproc

runtime stack:
runtime.throw({0x5a2b7e1?, 0x0?})
	/usr/local/go/src/runtime/panic.go:1101 +0x48`;

const PANIC = `time=2026-11-30T10:00:00Z level=ERROR msg="no such namespace"
goroutine 1 [running]:
go.temporal.io/sdk/internal.errorInterceptor({0x6086a60?, 0x2feb1414f0a0?}, ...)`;

test("a program that may start no further thread, or process, is told of with the limit to raise", async () => {
  expect(await why(NO_THREAD)).toContain(
    "may start no further process now (EAGAIN): raise the limit (ulimit -u",
  );
});

test("what a program says before its stack traces is why it has failed, and not a line of them", async () => {
  expect(await why(PANIC)).toBe('time=2026-11-30T10:00:00Z level=ERROR msg="no such namespace"');
});
