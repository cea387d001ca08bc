import type { ConnectionOptions } from "@temporalio/client";
import { temporalWords, workerTlsTrouble } from "../client/temporal/temporal-words.js";
import { defined } from "../core/defined.js";
import { wordsOf } from "../core/system-code.js";
import { inTime } from "../within.js";
import { type Finding, failed, passed } from "./finding.js";

const NAME = "a worker's TLS";

/** Whether a worker's connection comes about, where a command's has: it speaks TLS by a library of its own, which takes less. */
export async function checkWorkerConnection(
  connection: ConnectionOptions,
  limitMs: number,
): Promise<Finding> {
  const [{ DefaultLogger, Runtime }, { connectNatively }] = await Promise.all([
    import("@temporalio/worker"),
    import("../worker/native-connection.js"),
  ]);
  Runtime.install({
    logger: new DefaultLogger("ERROR", () => undefined),
    telemetryOptions: { logging: { filter: "off" } },
    shutdownSignals: [],
  });
  const { address, tls, apiKey, metadata } = connection;
  const key = typeof apiKey === "function" ? apiKey() : apiKey;
  const options = defined({ address, tls, apiKey: key, metadata });
  const connected = connectNatively(options).then((made) => made.close());
  try {
    await inTime(limitMs, connected, () => new Error(`no answer within ${limitMs / 1_000} s`));
    return passed(NAME, "a worker comes to a connection, too");
  } catch (error) {
    const said = temporalWords(error) ?? wordsOf(error);
    const { found, remedy } = workerTlsTrouble(wordsOf(error)) ?? { found: said, remedy: OTHER_REMEDY };
    return failed(NAME, found, remedy);
  }
}

const OTHER_REMEDY = "Check the TLS settings (TEMPORAL_TLS and its kin).";
