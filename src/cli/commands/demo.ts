import { cp, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ExitCode, printNote } from "../terminal/output.js";
import { runCommand } from "./run.js";
import { loadConfig } from "../../config.js";
import { packageFile } from "../../package-place.js";

const EXAMPLE = packageFile("examples/create-story");

/** `interlock demo`: the example package on a copy of the example project, rehearsed where no model is configured. */
export async function demoCommand(options: { json?: boolean; rehearse?: boolean }): Promise<ExitCode> {
  const config = loadConfig();
  const hasModel = config.modelSettingsFor("story-author") !== undefined;
  const rehearse = options.rehearse ?? !hasModel;
  const project = join(await mkdtemp(join(tmpdir(), "interlock-demo-")), "shelfmark");
  await cp(join(EXAMPLE, "project"), project, { recursive: true });
  printNote(`The example project is copied to ${project}`);
  if (rehearse) {
    printNote(
      "No model is asked: this is a rehearsal. A scripted stand-in walks the graph and writes placeholder texts.",
    );
    printNote("Once, on purpose, it tries a move the graph does not allow: watch the guard refuse it.");
  }
  return runCommand(join(EXAMPLE, "package"), {
    project,
    rehearse,
    forbiddenJump: rehearse,
    waitForAnswers: true,
    ...(options.json === undefined ? {} : { json: options.json }),
  });
}
