import { existsSync } from "node:fs";
import {
  type ClientConfigProfile,
  type ClientConnectConfig,
  loadClientConfigProfile,
  toClientOptions,
} from "@temporalio/envconfig";
import { NO_HEADER_VALUE, isMetadataValue } from "../core/header-value.js";
import { defined } from "../core/defined.js";
import { addressProblem } from "../core/temporal-address.js";
import { ConfigError } from "./config-error.js";
import { plainCertificates, plainPair } from "./pem.js";
import { systemCode, wordsOf } from "../core/system-code.js";

type Environment = Readonly<Record<string, string>>;

const FILE = "Temporal's configuration";

export interface TemporalConfig {
  /** Undefined where nothing is configured: the embedded server. */
  readonly connection: ClientConnectConfig | undefined;
  /** The files that were named and hold a login: no run is shown them. */
  readonly privateFiles: readonly string[];
}

/** The configured Temporal, by the same files and variables as for the Temporal CLI. Throws `ConfigError`. */
export function readTemporal(environment: Environment): TemporalConfig {
  const { loaded, keyFile } = load(environment);
  const { address } = loaded.connectionOptions;
  for (const part of partsOf(loaded)) {
    const problem = problemOf(part);
    if (problem === undefined) continue;
    const isFromVariable = Object.hasOwn(environment, part.variable);
    const place = isFromVariable ? part.variable : `${FILE}: ${part.key}`;
    const remedy =
      part.key === "address" ? "Correct it; without one, the embedded server is used" : "Correct it";
    throw new ConfigError(`${place} ${problem}. ${remedy}.`);
  }
  const named = [environment["TEMPORAL_CONFIG_FILE"], keyFile];
  return {
    connection: address === undefined ? undefined : loaded,
    privateFiles: named.filter((path) => path !== undefined),
  };
}

interface Loaded {
  readonly loaded: ClientConnectConfig;
  /** Where the key of the client's certificate lies. */
  readonly keyFile: string | undefined;
}

function load(environment: Environment): Loaded {
  const overrideEnvVars = withTlsWord(environment);
  let profile: ClientConfigProfile;
  let loaded: ClientConnectConfig;
  try {
    profile = loadClientConfigProfile({ overrideEnvVars });
    loaded = toClientOptions(profile);
  } catch (error) {
    const unread = unreadTlsFile(environment, error);
    throw new ConfigError(unread ?? `${FILE} cannot be used: ${fileProblem(error)}`);
  }
  const key = profile.tls?.clientKey;
  return {
    loaded: withUsableTls(profile, loaded),
    keyFile: key !== undefined && "path" in key ? key.path : undefined,
  };
}

const TLS = "TEMPORAL_TLS";
const TLS_FILES = [`${TLS}_SERVER_CA_CERT_PATH`, `${TLS}_CLIENT_CERT_PATH`, `${TLS}_CLIENT_KEY_PATH`];
const YES: readonly string[] = ["true", "t", "1"];
const NO: readonly string[] = ["false", "f", "0"];

/**
 * The SDK takes every word but `true` and `1` for no, `TRUE` and `yes` as well: keys and runs would go out in plain text. These are the
 * words of the Temporal CLI. Throws `ConfigError`.
 */
function withTlsWord(environment: Environment): Record<string, string> {
  const said = environment[TLS]?.toLowerCase();
  if (said === undefined) return { ...environment };
  if (!YES.includes(said) && !NO.includes(said)) {
    throw new ConfigError(`${TLS} must be true or false. Correct it.`);
  }
  return { ...environment, [TLS]: String(YES.includes(said)) };
}

/** The path is not repeated, as for other secrets: who sets the variable to the key itself would read it there. */
function unreadTlsFile(environment: Environment, error: unknown): string | undefined {
  const code = systemCode(error);
  const path = error instanceof Error && "path" in error ? error.path : undefined;
  const variable = TLS_FILES.find((name) => {
    const named = environment[name];
    if (code === "EISDIR") return named !== undefined && existsSync(`${named}/.`); // Node does not say which
    return named !== undefined && named === path;
  });
  if (variable === undefined) return undefined;
  return `${variable} names a file that cannot be read (${code}). Correct it or unset it.`;
}

/**
 * With half a pair the SDK shows no certificate, and what is none is found when a connection is made, where it sounds as if the address
 * were wrong. Throws `ConfigError`.
 */
function withUsableTls({ tls }: ClientConfigProfile, loaded: ClientConnectConfig): ClientConnectConfig {
  const { tls: used } = loaded.connectionOptions;
  if (typeof used !== "object" || used === null) return loaded;
  if ((tls?.clientCert === undefined) !== (tls?.clientKey === undefined)) {
    const [what, word] = tls?.clientKey === undefined ? ["its key", "KEY"] : ["the certificate", "CERT"];
    throw new ConfigError(
      `A client's certificate and its key go together, and ${what} is missing. Name it by ${TLS}_CLIENT_${word}_PATH, or in ${FILE}.`,
    );
  }
  try {
    const { serverRootCACertificate: ca, clientCertPair: pair } = used;
    const plain = defined({
      serverRootCACertificate: ca && plainCertificates(ca),
      clientCertPair: pair && plainPair(pair),
    });
    return {
      ...loaded,
      connectionOptions: { ...loaded.connectionOptions, tls: { ...used, ...plain } },
    };
  } catch (error) {
    const [reason] = wordsOf(error).split("::").slice(-1);
    throw new ConfigError(
      `What ${TLS}_SERVER_CA_CERT_PATH, ${TLS}_CLIENT_CERT_PATH and ${TLS}_CLIENT_KEY_PATH name cannot be used: ${reason}. They take PEM, the key one without a passphrase.`,
    );
  }
}

function fileProblem(error: unknown): string {
  if (error instanceof TypeError)
    return "its file has no profile. Add one, [profile.default], or remove the file.";
  const [reason = ""] = wordsOf(error).split("\n");
  return `${reason}. Correct it, or what TEMPORAL_CONFIG_FILE and TEMPORAL_PROFILE name.`;
}

/** What is said of a Temporal, and where: in the variable, else under the key of a profile. */
interface Part {
  readonly variable: string;
  readonly key: string;
  /** What stands in the file is handed on as it is, text or not. */
  readonly value: unknown;
}

function partsOf({ connectionOptions, namespace }: ClientConnectConfig): readonly Part[] {
  const { address, apiKey, metadata = {} } = connectionOptions;
  return [
    { variable: "TEMPORAL_ADDRESS", key: "address", value: address },
    { variable: "TEMPORAL_NAMESPACE", key: "namespace", value: namespace },
    { variable: "TEMPORAL_API_KEY", key: "api_key", value: apiKey },
    ...Object.entries(metadata).map(([name, value]): Part => {
      const variable = `TEMPORAL_GRPC_META_${name.toUpperCase().replaceAll("-", "_")}`;
      return { variable, key: `grpc_meta.${name}`, value };
    }),
  ];
}

/** As the end of a sentence that begins with the part; it holds nothing of the value, which may be a secret. */
function problemOf({ key, value }: Part): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "string") return "must be a text in quotes";
  if (key === "address") return addressProblem(value);
  return key === "namespace" || isMetadataValue(value) ? undefined : NO_HEADER_VALUE;
}
