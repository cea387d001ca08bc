import type { Agent } from "../../core/package/schemas.js";
import type { ToolPolicy } from "../../core/prompt/system-messages.js";
import {
  DEFAULT_MAX_READ_BYTES,
  DEFAULT_MAX_WRITE_BYTES,
  HOST_MAX_READ_BYTES,
  HOST_MAX_WRITE_BYTES,
} from "../../core/run/limits.js";
import type { FileLimits } from "../sandbox/workspace.js";

/** The file tool policy of an agent: its own limits, never above the host's caps. */
export function toolPolicyOf(agent: Agent): ToolPolicy & FileLimits {
  const fs = agent.tools?.fs;
  return {
    fsEnabled: fs?.enabled ?? true,
    mayEdit: (fs?.enabled ?? true) && (fs?.edit ?? false),
    mayCallServers: agent.tools?.mcp?.enabled ?? false,
    maxReadBytes: Math.min(fs?.maxReadBytes ?? DEFAULT_MAX_READ_BYTES, HOST_MAX_READ_BYTES),
    maxWriteBytes: Math.min(fs?.maxWriteBytes ?? DEFAULT_MAX_WRITE_BYTES, HOST_MAX_WRITE_BYTES),
  };
}
