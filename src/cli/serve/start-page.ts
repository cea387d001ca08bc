import type { PageServer } from "../../page/server/serve-page.js";
import type { Store } from "../../store/store.js";
import { version } from "../../worker/version.js";
import { mayLive } from "../../worker/worker-identity.js";
import { answeredBy } from "../terminal/answer-text.js";
import { CommandError, outputIsTerminal, print, printNote, waitForNoTerminal } from "../terminal/output.js";
import { localReader } from "../session/readers.js";
import type { TemporalSession } from "../session/temporal-session.js";
import { systemCode, wordsOf } from "../../core/system-code.js";
import { notListening } from "../../environment/listen-address.js";

export type { PageServer };

/** Where the page is looked for first. */
const PAGE_PORT = 8234;
const HOST = "127.0.0.1";

export interface PagePlace {
  /** Absent: `PAGE_PORT`, or any that is free. */
  readonly port?: number;
  /** Absent: 127.0.0.1. */
  readonly host?: string;
  /** The first link is shown in the user's browser. */
  readonly isOpened?: boolean;
}

/** Serves the page over a command's session. Throws a `CommandError` where its address is taken. */
export async function startPage(
  { client, webUi, embedded, away }: TemporalSession,
  store: Store | undefined,
  { port, host, isOpened = false }: PagePlace,
): Promise<PageServer> {
  waitForNoTerminal();
  const { servePage } = await import("../../page/server/serve-page.js");
  let links = 0;
  const serve = (wanted: number) =>
    servePage({
      client,
      webUi,
      startWorker: embedded ? "interlock dev" : "interlock worker", // each refuses the other's Temporal
      mayLive,
      version: version(),
      by: answeredBy(undefined),
      readerOf: (there) =>
        store !== undefined && there.taskQueue === store.taskQueue ? localReader(store) : there.reader(),
      away,
      port: wanted,
      ...(host === undefined ? {} : { host }),
      onLink: (url) => {
        links += 1;
        print(`${links === 1 ? "Page" : "The next link to the page, good once"}: ${url}`);
        if (links === 1 && isOpened && outputIsTerminal()) void openBrowser(url);
      },
      onFailure: (error) => printNote(`The page's server has failed: ${wordsOf(error)}`),
    });
  try {
    return await serve(port ?? PAGE_PORT);
  } catch (error) {
    if (port === undefined && systemCode(error) === "EADDRINUSE") return serve(0);
    const at = { host: host ?? HOST, port: port ?? PAGE_PORT };
    const sentence = notListening(error, at, { port: "--port", address: "--host" });
    throw sentence === undefined ? error : new CommandError(sentence, { cause: error });
  }
}

/** A machine may have no browser: the link stands there. */
async function openBrowser(url: string): Promise<void> {
  const { default: open } = await import("open");
  await open(url).catch(() => undefined);
}
