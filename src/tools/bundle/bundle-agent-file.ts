import { basename } from "node:path";
import {
  type BundleAgent,
  agentOfPackage,
  agentOfYaml,
  readAgentMarkup,
} from "../../core/bundle/bundle-agent.js";
import { agentPlace } from "../../core/bundle/agent-place.js";
import { type Result, fail, ok } from "../../core/errors.js";
import { parseJsonText } from "../../core/json-text.js";
import { agentsFileSchema } from "../../core/package/schemas.js";
import { excerpt, listSome } from "../../core/text.js";
import { writtenText } from "../../core/written-text.js";
import type { FileIdentity } from "../../store/roots/root-places.js";
import type { Roots } from "../../store/roots/roots.js";
import { asYaml } from "./bundle-preload.js";
import { permittedAgent } from "./bundle-roots.js";
import { readSmallFile } from "./small-file.js";

const MAX_AGENT_BYTES = 1024 * 1024;

/**
 * Reads the agents of a file: one in the XML-in-Markdown form, one of a module's source (`*.agent.yaml`), or those of an
 * `agents.json` of format 1.1. Faults: `E_AGENT_NOT_FOUND`, `E_SCHEMA_VALIDATION`, `E_INTERNAL` where it cannot be read now.
 */
export async function readAgentFile(
  path: string,
  identity?: FileIdentity,
): Promise<Result<readonly [BundleAgent, ...BundleAgent[]]>> {
  const name = basename(path);
  const bytes = await readSmallFile(path, excerpt(name), MAX_AGENT_BYTES, identity);
  if (!bytes.ok) return bytes;
  const written =
    bytes.value === undefined
      ? { problem: "cannot be read, or is larger than 1 MiB" }
      : writtenText(bytes.value);
  if ("problem" in written) {
    return fail("E_AGENT_NOT_FOUND", `The agent file ${excerpt(name)} ${written.problem}.`);
  }
  const { text } = written;
  if (/\.json$/i.test(name)) return readAgentsJson(name, text);
  if (!/\.ya?ml$/i.test(name)) {
    const agent = readAgentMarkup(text);
    return agent.ok ? ok([agent.value]) : agent;
  }
  const yaml = asYaml(excerpt(name), text);
  if (!yaml.ok) return yaml;
  const agent = agentOfYaml(yaml.value);
  return agent.ok ? ok([agent.value]) : agent;
}

function readAgentsJson(name: string, text: string): Result<readonly [BundleAgent, ...BundleAgent[]]> {
  const json = parseJsonText(text);
  if (!json.ok) return fail("E_SCHEMA_VALIDATION", `${excerpt(name)} ${json.message}.`);
  const parsed = agentsFileSchema.safeParse(json.value);
  const [first, ...others] = parsed.success ? parsed.data.agents.map(agentOfPackage) : [];
  if (first !== undefined) return ok([first, ...others]);
  const issue = parsed.error?.issues[0];
  return fail(
    "E_SCHEMA_VALIDATION",
    `${excerpt(name)} is no agents.json of format 1.1: ${excerpt(issue?.path.join(".") ?? "")} ${excerpt(issue?.message ?? "")}`,
  );
}

/** The agent of a file that runs may open. Faults as of `loadAgent`, and `E_SANDBOX_VIOLATION`. */
export async function loadPermittedAgent(roots: Roots, agentFile: string): Promise<Result<BundleAgent>> {
  const permitted = permittedAgent(roots, agentFile);
  return permitted.ok ? loadAgent(permitted.value.path, permitted.value.identity) : permitted;
}

/**
 * The agent a run works with: the only one of a file, or the one named after a `#`. `identity` is what the file was when it was permitted.
 */
export async function loadAgent(agentFile: string, identity?: FileIdentity): Promise<Result<BundleAgent>> {
  const { path, agent: wanted } = agentPlace(agentFile);
  const agents = await readAgentFile(path, identity);
  if (!agents.ok) return agents;
  const names = agents.value.map((agent) => agent.name);
  const found = wanted === undefined ? agents.value[0] : agents.value.find(({ name }) => name === wanted);
  if (found !== undefined) return ok(found);
  return fail(
    "E_AGENT_NOT_FOUND",
    `The file has no agent "${excerpt(wanted ?? "")}". It has: ${listSome(names)}.`,
  );
}
