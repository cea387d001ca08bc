import { setTimeout as pause } from "node:timers/promises";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import {
  type ArtifactPlaces,
  artifactProblems,
  logProblems,
  pathProblems,
} from "../../attest/check-statement.js";
import {
  type NamedKey,
  NotSigned,
  checkingKey,
  openEnvelope,
  parseEnvelope,
  signEnvelope,
  signingKey,
} from "../../attest/dsse.js";
import { makeStatement } from "../../attest/make-statement.js";
import { PAYLOAD_TYPE, type RunStatement, parseStatement } from "../../attest/statement.js";
import { isOpenStatus } from "../../client/runs/execution-status.js";
import { wholeFile } from "../../client/stores/store-reader.js";
import type { JsonObject } from "../../core/json.js";
import { counted, excerpt, shellWord, withoutPath } from "../../core/text.js";
import { modeOpenToOthers } from "../../environment/secret-files.js";
import { verifyAuditBytes } from "../../store/runs/audit-verify.js";
import { version } from "../../worker/version.js";
import { knownHead } from "../report/known-head.js";
import {
  CommandError,
  EXIT,
  type ExitCode,
  UsageError,
  print,
  printJson,
  printNote,
} from "../terminal/output.js";
import { read } from "../session/run-folder.js";
import { type RunSession, withRun } from "../session/run-session.js";
import { saveFile } from "../../store/disk/save-file.js";
import { type RunPhase, isOverPhase } from "../../core/run/phase.js";
import { systemCode, wordsOf } from "../../core/system-code.js";

interface AttestOptions {
  readonly key?: readonly string[];
  readonly output?: string;
}

/** `interlock attest`: a signed statement about how a run went. */
export async function attestCommand(id: string, { key = [], output }: AttestOptions): Promise<ExitCode> {
  const keys = await readKeys(key, signingKey);
  for (const path of key) {
    const mode = await modeOpenToOthers(path);
    if (mode !== undefined)
      printNote(
        `Others may open the key "${excerpt(path)}" (${mode}). Keep it to yourself: chmod 600 ${shellWord(path)}`,
      );
  }
  const statement = await withRun(id, (place) => statementOf(id, place));
  const envelope = signEnvelope(PAYLOAD_TYPE, Buffer.from(JSON.stringify(statement)), keys);
  if (output === undefined) printJson(envelope);
  else {
    await save(output, JSON.stringify(envelope));
    print(
      `Attested: ${counted(statement.subject.length, "subject")}, ${counted(statement.predicate.path.length, "node")}, in ${output}.`,
    );
  }
  return EXIT.done;
}

async function save(output: string, text: string): Promise<void> {
  try {
    await saveFile(resolve(output), (path) => writeFile(path, text, { flag: "wx", flush: true }));
  } catch (error) {
    const reason =
      systemCode(error) === "EEXIST"
        ? "it is there already"
        : withoutPath(wordsOf(error), dirname(resolve(output)));
    throw new CommandError(`${output} could not be written: ${reason}.`, { cause: error });
  }
}

async function statementOf(id: string, { reader, run }: RunSession): Promise<RunStatement> {
  const stored = read(id, await reader.ask("read.run", { run: id }));
  const metadata = { ...stored.metadata, phase: await phaseOf(stored.metadata, run) };
  if (!isOverPhase(metadata.phase)) {
    throw new UsageError(`Run ${metadata.runId} is ${metadata.phase}: a run is attested when it is over.`);
  }
  const known = await knownHead(run);
  const file = (name: string) => wholeFile(reader.bytes("read.file", { run: id, name }));
  const unread = (what: string) => (error: unknown) => {
    throw new CommandError(
      `The ${what} cannot be read: ${wordsOf(error)} Nothing is attested. Restore it from a backup.`,
      { cause: error },
    );
  };
  const log = await file("state/logs/execution.jsonl").catch(unread("audit log"));
  const { findings, lines, sha256 } = verifyAuditBytes(log, known);
  if (findings.length > 0) {
    throw new CommandError(
      `The audit log is not whole: nothing is attested. See: interlock audit verify ${metadata.runId}`,
    );
  }
  const { graph } = read(id, await reader.ask("read.graph", { run: id }));
  const { request, place } = read(id, await reader.ask("read.request", { run: id }));
  if (request === null) {
    throw new CommandError(
      `Whether run ${metadata.runId} was a rehearsal, its folder does not say: ${place} is missing or damaged. Nothing is attested. Restore it from a backup.`,
    );
  }
  const { artifacts } = read(id, await reader.ask("read.artifacts", { run: id }));
  const shown =
    graph === null ? undefined : await reader.ask("read.package", { packageId: metadata.packageId });
  return makeStatement({
    facts: { ...stored, metadata },
    rehearsal: isRehearsal(request),
    graph,
    artifacts,
    packageSha256: shown?.ok === true ? shown.value.sha256 : undefined,
    log,
    head: { lines, sha256 },
    knownToTemporal: known !== undefined,
    document: graph === null ? undefined : await file("state/workflow.md").catch(unread("state document")),
    version: version(),
  });
}

/** What Temporal itself has ended, or lets go on, its store has not heard of. Where Temporal says nothing, the store's word counts. */
async function phaseOf(
  { runId, phase }: { readonly runId: string; readonly phase: RunPhase },
  run: RunSession["run"],
): Promise<RunPhase> {
  if (!isOverPhase(phase)) {
    const closedBy = await run.closedBy().catch(() => undefined);
    return closedBy === undefined ? phase : "failed";
  }
  for (let looks = 0; looks < LOOKS; looks += 1) {
    const status = await run.executionStatus().catch(() => undefined);
    if (status === undefined || !isOpenStatus(status)) return phase;
    await pause(BETWEEN_LOOKS_MS);
  }
  throw new UsageError(
    `Run ${runId} is ${phase} by its store, and goes on in Temporal: a run is attested when it is over.`,
  );
}

/** A store has heard that a run is over a moment before Temporal closes it. */
const LOOKS = 10;
const BETWEEN_LOOKS_MS = 200;

function isRehearsal(request: JsonObject): boolean {
  const input = request["input"];
  return typeof input === "object" && input !== null && "rehearsal" in input;
}

interface VerifyOptions extends ArtifactPlaces {
  readonly key?: readonly string[];
  readonly json?: boolean;
}

/** `interlock attest verify`: whether a statement is signed, and fits in itself and on disk. Needs neither store nor Temporal. */
export async function attestVerifyCommand(
  path: string,
  { key = [], json = false, ...places }: VerifyOptions,
): Promise<ExitCode> {
  const keys = await readKeys(key, checkingKey);
  const text = await readText(path);
  let statement: RunStatement | undefined;
  let findings: readonly string[];
  try {
    statement = parseStatement(openEnvelope(parseEnvelope(text), PAYLOAD_TYPE, keys));
    findings = [
      ...pathProblems(statement),
      ...logProblems(statement),
      ...(await artifactProblems(statement, await opened(places))),
    ];
  } catch (error) {
    if (error instanceof UsageError || !(error instanceof Error)) throw error;
    findings = [error.message];
    if (!(error instanceof NotSigned)) statement = undefined;
  }
  const ok = findings.length === 0;
  if (json)
    printJson({
      ok,
      findings,
      signedBy: ok ? keys.map(({ keyid }) => keyid) : [],
      checked: {
        // Of a bundle run there is no graph that its way could be held against.
        graph: statement !== undefined && statement.predicate.graph !== null,
        project: statement !== undefined && places.project !== undefined,
        session: statement !== undefined && places.session !== undefined,
      },
      statement: statement ?? null,
    });
  else {
    for (const finding of findings) print(finding);
    if (statement !== undefined) report(statement);
    print(ok ? `Verified: signed by ${keys.map(({ keyid }) => keyid).join(", ")}.` : "Not verified.");
  }
  return ok ? EXIT.done : EXIT.failed;
}

async function opened(places: ArtifactPlaces): Promise<ArtifactPlaces> {
  for (const [what, path] of [
    ["project", places.project],
    ["session folder", places.session],
  ] as const) {
    if (path === undefined) continue;
    await readdir(path).catch((error: unknown) => {
      throw new UsageError(`The ${what} "${excerpt(path)}" cannot be opened.`, { cause: error });
    });
  }
  return places;
}

/** What the statement says, for people. Its texts are from outside. */
function report({ subject, predicate }: RunStatement): void {
  const { run, graph, path, decisions, answers, models, audit } = predicate;
  const refused = decisions.filter(({ verdict }) => verdict === "refused");
  print(`run        ${run.runId} (${run.phase}${run.rehearsal ? ", a rehearsal" : ""})`);
  print(`package    ${predicate.package.id}`);
  if (graph === null) print("graph      none: it is said to be a bundle run, which no guard holds to a way");
  print(`path       ${path.map(({ nodeId }) => nodeId).join(" → ")}`);
  for (const { seq, nodeId, to = "?", code = "" } of refused)
    print(`refused    line ${seq}: ${nodeId} → ${to} (${code})`);
  for (const { at, nodeId, by = "?", digest } of answers)
    print(`answer     ${at} at ${nodeId} by ${by}: sha256 ${digest.sha256}`);
  for (const { nodeId, models: names, turns } of models)
    print(`model      ${nodeId}: ${names.join(", ")}, ${counted(turns, "turn")}`);
  for (const { name, digest, annotations } of subject) {
    const note = annotations === undefined ? "" : " (as it lay there when it was signed)";
    print(`subject    ${digest.sha256}  ${name}${note}`);
  }
  print(
    `audit log  ${counted(audit.lines, "line")}, ${audit.knownToTemporal ? "as" : "not checked against what"} Temporal's history has it`,
  );
}

async function readKeys(
  paths: readonly string[],
  parse: (pem: string) => NamedKey,
): Promise<readonly NamedKey[]> {
  const keys = await Promise.all(
    paths.map(async (path) => {
      const pem = await readText(path);
      try {
        return parse(pem);
      } catch (error) {
        throw new UsageError(`"${excerpt(path)}" ${wordsOf(error)}.`, {
          cause: error,
        });
      }
    }),
  );
  const unique = new Map(keys.map((key) => [key.keyid, key]));
  if (unique.size === 0) throw new UsageError("Name a key with --key.");
  return [...unique.values()];
}

async function readText(path: string): Promise<string> {
  return readFile(path, "utf8").catch((error: unknown) => {
    throw new UsageError(`"${excerpt(path)}" cannot be read: ${withoutPath(wordsOf(error), path)}.`, {
      cause: error,
    });
  });
}
