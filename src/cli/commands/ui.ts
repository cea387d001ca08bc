import { isIPv4 } from "node:net";
import { interruption, lookAround } from "../environment.js";
import { portForBrowsers } from "../numbers.js";
import { EXIT, type ExitCode, UsageError, print } from "../output.js";
import { startPage } from "../start-page.js";
import { openTemporalSession } from "../temporal-session.js";

interface UiOptions {
  readonly port?: string;
  readonly host?: string;
  /** False: the link is printed only. */
  readonly open: boolean;
}

/** `interlock ui`: serves the page until Ctrl-C. It needs Temporal, and neither a store nor a worker of its own. */
export async function uiCommand({ port, host, open }: UiOptions): Promise<ExitCode> {
  const place = { ...portOf(port), ...hostOf(host), isOpened: open };
  const { config, store } = await lookAround();
  const signal = interruption();
  const session = await openTemporalSession(config, store, signal, { serves: true });
  try {
    const page = await startPage(session, { config, store }, place);
    print("Stop with Ctrl-C.");
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await page.close();
    return EXIT.done;
  } finally {
    await session.close();
  }
}

/** Browsers come by 127.0.0.1: what listens on IPv6 alone they do not reach. Node takes an empty host for all of them. */
function hostOf(host: string | undefined): { readonly host?: string } {
  if (host === undefined) return {};
  if (isIPv4(host) || host === "::") return { host };
  throw new UsageError("--host takes an IPv4 address, as 0.0.0.0 in a container, or :: for all.");
}

function portOf(text: string | undefined): { readonly port?: number } {
  return text === undefined ? {} : { port: portForBrowsers(text) };
}
