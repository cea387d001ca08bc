import type { JsonObject } from "../core/json.js";
import { unlessUnreadNow } from "../core/system-code.js";
import { parseLine } from "../store/disk/append-log.js";
import { readOwnFile } from "../store/disk/own-file.js";
import type { RunFiles } from "../store/runs/run-files.js";

/** A larger log is not looked through for what it says of calls. */
const MAX_LOG_BYTES = 256 * 1024 * 1024;

/** The events of a run's audit log; none where there is none of ours. Throws what the system says where it cannot be read now. */
export async function auditEvents(files: RunFiles): Promise<readonly JsonObject[]> {
  const bytes = await readOwnFile(files.logFile, MAX_LOG_BYTES).catch(unlessUnreadNow(Buffer.alloc(0)));
  const events: JsonObject[] = [];
  for (let start = 0; start < bytes.length;) {
    const feed = bytes.indexOf(0x0a, start);
    const end = feed === -1 ? bytes.length : feed;
    const event = parseLine(bytes.subarray(start, end));
    if (event !== undefined) events.push(event);
    start = end + 1;
  }
  return events;
}
