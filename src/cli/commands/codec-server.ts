import { randomBytes } from "node:crypto";
import { loadConfig } from "../../config.js";
import { SealCodec } from "../../seal/seal-codec.js";
import { startCodecServer } from "../../seal/codec-server.js";
import { hostForBrowsers, portForBrowsers } from "../options/numbers.js";
import {
  CommandError,
  EXIT,
  type ExitCode,
  UsageError,
  print,
  waitForNoTerminal,
} from "../terminal/output.js";
import { notListening } from "../../environment/listen-address.js";
import { interruption, untilStopped } from "../terminal/interruption.js";

interface CodecServerCommand {
  readonly port?: string;
  readonly host?: string;
  readonly origin?: readonly string[];
}

/** `interlock codec-server`: lets Temporal's Web UI and command line read what is sealed, on this machine. */
export async function codecServerCommand({
  port = "8877",
  host = "127.0.0.1",
  origin = [],
}: CodecServerCommand): Promise<ExitCode> {
  const { sealKeys, webUi, codecToken } = loadConfig();
  const origins = [...origin, ...(webUi === undefined ? [] : [webUi])].map(originOf);
  if (sealKeys === undefined) {
    throw new UsageError(
      "There is no key here: name a file of keys in INTERLOCK_SEAL_KEYS_FILE (docs/sealed-histories.md).",
    );
  }
  const at = { host: hostForBrowsers(host), port: portForBrowsers(port) };
  waitForNoTerminal();
  const token = codecToken ?? randomBytes(24).toString("base64url");
  const signal = interruption();
  const server = await startCodecServer({
    codec: new SealCodec(sealKeys, "client"),
    ...at,
    token,
    origins,
  }).catch((error: unknown) => {
    const sentence = notListening(error, at, { port: "--port", address: "--host" });
    throw sentence === undefined ? error : new CommandError(sentence, { cause: error });
  });
  print(`codec server  ${server.address}/${token}`);
  print(`pages of      ${origins.join(", ") || "nowhere: name the Web UI's address with --origin"}`);
  // No argument: those are in the list of processes, for all users of the machine.
  print(
    `temporal      TEMPORAL_CODEC_ENDPOINT=${server.address}/${token} temporal workflow show --workflow-id …`,
  );
  await untilStopped(signal);
  await server.close();
  return EXIT.done;
}

function originOf(address: string): string {
  // A list would be taken for one host with a comma in its name.
  if (/^https?:[^,\s]+$/.test(address) && URL.canParse(address)) return new URL(address).origin;
  throw new UsageError(`--origin: "${address}" is no address like http://127.0.0.1:8233.`);
}
