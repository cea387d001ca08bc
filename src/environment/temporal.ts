import { type ClientConnectConfig, loadClientConnectConfig } from "@temporalio/envconfig";
import { NO_HEADER_VALUE, isMetadataValue } from "../core/header-value.js";
import { addressProblem } from "../core/temporal-address.js";
import { ConfigError } from "./config-error.js";

type Environment = Readonly<Record<string, string>>;

const FILE = "Temporal's configuration";

/**
 * The configured Temporal, by the same files and variables as for the Temporal CLI; nothing configured there means the embedded
 * server. Throws `ConfigError`.
 */
export function readTemporal(environment: Environment): ClientConnectConfig | undefined {
  const loaded = load(environment);
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
  return address === undefined ? undefined : loaded;
}

function load(environment: Environment): ClientConnectConfig {
  try {
    return loadClientConnectConfig({ overrideEnvVars: environment });
  } catch (error) {
    throw new ConfigError(`${FILE} cannot be used: ${fileProblem(error)}`);
  }
}

function fileProblem(error: unknown): string {
  if (error instanceof TypeError)
    return "its file has no profile. Add one, [profile.default], or remove the file.";
  const [reason = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
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
