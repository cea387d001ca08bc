import type { AuditHead } from "../../core/run/audit-head.js";
import { CHAIN_START } from "./audit-log.js";
import { parseLine } from "../disk/append-log.js";
import { readOwnFile } from "../disk/own-file.js";
import { sha256 } from "../disk/sha256.js";
import { counted } from "../../core/text.js";

/** What is wrong with an audit log, and where. */
export interface AuditFinding {
  /** Counts from 1; the line after the last one where lines are missing at the end. */
  readonly line: number;
  readonly message: string;
}

export interface AuditVerdict {
  readonly lines: number;
  readonly sha256: string;
  readonly findings: readonly AuditFinding[];
}

/**
 * Checks an audit log's chain (contracts §11): each line names the hash of the one before it. `known` is a head that
 * somebody else has kept, such as Temporal's history: with it, an edited last line and a cut tail show as well.
 */
export async function verifyAuditLog(path: string, known?: AuditHead): Promise<AuditVerdict> {
  return verifyAuditBytes(await readOwnFile(path), known);
}

/** As `verifyAuditLog`, for a log that was read elsewhere. */
export function verifyAuditBytes(bytes: Buffer, known?: AuditHead): AuditVerdict {
  const findings: AuditFinding[] = [];
  let last = CHAIN_START;
  let lines = 0;
  for (let start = 0; start < bytes.length;) {
    const feed = bytes.indexOf(0x0a, start);
    const line = bytes.subarray(start, feed === -1 ? bytes.length : feed);
    lines += 1;
    start += line.length + 1;
    const next = feed === -1 ? undefined : nextLine(bytes, start);
    const problem = problemOf(line, last, next);
    if (problem !== undefined) findings.push({ line: lines, message: problem });
    last = sha256(line);
    if (known !== undefined && lines === known.lines && last !== known.sha256) {
      findings.push({
        line: lines,
        message: "The log up to this line is not the one that Temporal's history names.",
      });
    }
  }
  if (known !== undefined && lines < known.lines) {
    const missing = known.lines - lines;
    findings.push({
      line: lines + 1,
      message: `${counted(missing, "line")} ${missing === 1 ? "is" : "are"} missing: Temporal's history names ${known.lines}.`,
    });
  }
  return { lines, sha256: last, findings };
}

function nextLine(bytes: Buffer, start: number): Buffer | undefined {
  if (start >= bytes.length) return undefined;
  const feed = bytes.indexOf(0x0a, start);
  return bytes.subarray(start, feed === -1 ? bytes.length : feed);
}

function problemOf(line: Buffer, last: string, next: Buffer | undefined): string | undefined {
  const event = parseLine(line);
  if (event === undefined) {
    const isMarked = next !== undefined && parseLine(next)?.["kind"] === "log.repaired";
    return isMarked ? undefined : "The line is not an event: it was cut or overwritten.";
  }
  if (event["prev"] === last) return undefined;
  return "The line does not follow the one before it: a line was edited, removed or inserted here.";
}
