import { lookAround } from "../session/environment.js";
import { hostForBrowsers, portForBrowsers } from "../options/numbers.js";
import { EXIT, type ExitCode, print } from "../terminal/output.js";
import { startPage } from "../serve/start-page.js";
import { type StoreSession, withTemporal } from "../session/temporal-session.js";
import { untilStopped } from "../terminal/interruption.js";

interface UiOptions {
  readonly port?: string;
  readonly host?: string;
  /** False: the link is printed only. */
  readonly open: boolean;
}

/** `interlock ui`: serves the page until Ctrl-C. It needs Temporal, and neither a store nor a worker of its own. */
export async function uiCommand({ port, host, open }: UiOptions): Promise<ExitCode> {
  const place = { ...portOf(port), ...hostOf(host), isOpened: open };
  const served = async ({ session, signal, store }: StoreSession): Promise<ExitCode> => {
    const page = await startPage(session, store, place);
    print("Stop with Ctrl-C.");
    await untilStopped(signal);
    await page.close();
    return EXIT.done;
  };
  return withTemporal(await lookAround(), served, { serves: true });
}

function hostOf(text: string | undefined): { readonly host?: string } {
  return text === undefined ? {} : { host: hostForBrowsers(text) };
}

function portOf(text: string | undefined): { readonly port?: number } {
  return text === undefined ? {} : { port: portForBrowsers(text) };
}
