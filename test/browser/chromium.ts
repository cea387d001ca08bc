import { type Browser, type LaunchOptions, chromium } from "playwright-core";

/** Where it is expected. */
export const CHROMIUM = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";

/** A headless Chromium that talks to nobody by itself; these names lead to this machine. */
export function launchChromium(
  localNames: readonly string[] = [],
  options: Pick<LaunchOptions, "handleSIGINT" | "handleSIGTERM"> = {},
): Promise<Browser> {
  return chromium.launch({
    ...options,
    executablePath: CHROMIUM,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessRespectPreflightResults",
      `--host-resolver-rules=${localNames.map((name) => `MAP ${name} 127.0.0.1`).join(",")}`,
    ],
  });
}
