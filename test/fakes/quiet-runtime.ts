import { DefaultLogger, Runtime, makeTelemetryFilterString } from "@temporalio/worker";

let installed = false;
/** Workers of this process run workflow code in its thread: starting one for each takes a third of a test's time. */
process.env["TEMPORAL_DEBUG"] = "1";

/** Workers of this process log errors only. */
export function quietRuntime(): void {
  if (!installed) {
    const filter = makeTelemetryFilterString({ core: "ERROR", other: "ERROR" });
    const telemetryOptions = { logging: { filter } };
    Runtime.install({ logger: new DefaultLogger("ERROR"), telemetryOptions, shutdownSignals: [] });
  }
  installed = true;
}
