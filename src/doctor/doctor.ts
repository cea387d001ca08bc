import { type Config, ConfigError, loadConfig, unknownVariables } from "../config.js";
import { readStoreIdentity } from "../store/store.js";
import { checkCapacity, checkMemory, checkNode, checkOtherUsers } from "./check-machine.js";
import { checkMcpServers } from "./check-mcp-servers.js";
import { checkWebhooks } from "./check-webhooks.js";
import { checkModel } from "./check-models.js";
import { type ConfiguredModel, configuredModels } from "./configured-models.js";
import { checkRoots } from "./check-roots.js";
import { checkSecretFiles } from "./check-secret-files.js";
import { checkSeal } from "./check-seal.js";
import { checkStore } from "./check-store.js";
import { type TemporalPlace, checkTemporal, noServer, runningServer } from "./check-temporal.js";
import { type Finding, bounded, failed, passed, skipped, warning } from "./finding.js";

/** What is to be looked at. */
export interface Examination {
  /** Whether models are asked: two small requests each. */
  readonly models: boolean;
  /** Called before models are asked, with their number. */
  readonly onModels?: (count: number) => void;
}

/**
 * Looks at everything that a run needs, side by side. Nothing is started, made or changed, and each part ends within seconds,
 * whatever does not answer.
 */
export async function examine(examination: Examination): Promise<readonly Finding[]> {
  const { config, isWhole, finding } = readConfig();
  const machine = bounded("node", async () => [
    await checkNode(),
    ...checkCapacity(undefined, config?.workerSize),
    checkMemory(),
  ]);
  if (config === undefined) return [finding, ...(await machine)];
  const parts = await Promise.all([
    machine,
    bounded("temporal", () => temporal(config)),
    bounded("sealed histories", async () => checkSeal(config.sealKeys, await placeOf(config))),
    bounded("store", () => checkStore(config.storeDir, config.starts)),
    bounded("roots", () => checkRoots(config.storeDir, config.roots)),
    bounded("other users", async () => [await checkOtherUsers(exposure(config))]),
    isWhole
      ? models(config, examination)
      : Promise.resolve([skipped("models", "the settings cannot be read")]),
    bounded("mcp servers", () => checkMcpServers(config.settings.mcpServers ?? {}, config)),
    bounded("secret files", () => checkSecretFiles(config.secretFiles)),
  ]);
  return [finding, ...parts.flat(), ...checkWebhooks(config.webhooks)];
}

function settingsFinding(): Finding {
  const unknown = unknownVariables();
  if (unknown.length === 0) return passed("settings", "valid");
  const found = `valid; ${unknown.join(", ")}: no such variable`;
  return warning("settings", found, "Correct its name, or unset it: docs/settings.md has them all.");
}

/** The configuration, without its settings file where that cannot be used. */
function readConfig(): {
  readonly config: Config | undefined;
  readonly isWhole: boolean;
  readonly finding: Finding;
} {
  try {
    return { config: loadConfig(), isWhole: true, finding: settingsFinding() };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const finding = failed("settings", error.message, "Correct what it names: no command works until then.");
    try {
      return { config: loadConfig(undefined, { withoutSettings: true }), isWhole: false, finding };
    } catch (other) {
      if (!(other instanceof ConfigError)) throw other;
      return { config: undefined, isWhole: false, finding };
    }
  }
}

async function temporal(config: Config) {
  const place = await placeOf(config);
  return place === undefined ? noServer() : checkTemporal(place);
}

/** Where Temporal is; undefined where it would be the embedded server, and none runs. */
async function placeOf({
  temporal: configured,
  storeDir,
  taskQueue: fallback,
}: Config): Promise<TemporalPlace | undefined> {
  const identity = await readStoreIdentity(storeDir).catch(() => undefined);
  const taskQueue = identity?.taskQueue ?? fallback;
  const server = configured === undefined ? await runningServer(storeDir) : undefined;
  if (configured === undefined && server === undefined) return undefined;
  return {
    connection: configured?.connectionOptions ?? server ?? {},
    namespace: configured?.namespace ?? "default",
    taskQueue,
    ...(identity === undefined ? {} : { storeId: identity.storeId }),
    embedded: configured === undefined,
  };
}

/** Without a login, a server on the loopback address is open to all users of the machine, embedded or not. */
function exposure({ temporal: configured, starts }: Config) {
  if (configured === undefined) return { reachable: true, starts };
  const { address = "", tls, apiKey } = configured.connectionOptions;
  const isLocal = /^(?:127\.[\d.]+|localhost|\[?::1\]?)(?::\d+)?$/.test(address);
  const hasLogin = apiKey !== undefined || (typeof tls === "object" && tls !== null);
  return { reachable: isLocal && !hasLogin, starts };
}

async function models(config: Config, examination: Examination): Promise<readonly Finding[]> {
  const { models: configured, findings } = configuredModels(config);
  if (!examination.models) return [...findings, ...configured.map(notAsked)];
  if (configured.length > 0) examination.onModels?.(configured.length);
  // One request whole, and where that is answered another as a stream.
  const asked = configured.map((model) => bounded(`model ${model.settings.model}`, () => checkModel(model)));
  return [...findings, ...(await Promise.all(asked)).flat()];
}

function notAsked({ settings, usedBy }: ConfiguredModel): Finding {
  return skipped(`model ${settings.model} (${usedBy.join(", ")})`, "not asked");
}
