import type { ExitCode } from "./terminal/output.js";

/** Takes what its arguments and options say, as `program.ts` and the files beside it have declared them. */
type RunCommand = (...given: never[]) => Promise<ExitCode>;

/** The action of a command, from what loads it. */
export type WhenCalled = (load: () => Promise<RunCommand>) => (...given: unknown[]) => Promise<void>;

/** Each command is loaded when it is called: most need no Temporal SDK, which takes most of the start-up time. `finish` is told its exit code. */
export function whenCalledTelling(finish: (code: ExitCode) => void): WhenCalled {
  return (load) =>
    async (...given) => {
      const run = await load();
      finish(await run(...(given.slice(0, -1) as never[]))); // the parser adds its own description of the command
    };
}
