import { createHash } from "node:crypto";
import { isAbsolute, relative } from "node:path";
import type { JsonAnswers, StoredArtifact } from "../contract/reads.js";
import { defined } from "../core/defined.js";
import { type JsonObject, isObject, jsonIn } from "../core/json.js";
import { plainProjectPath } from "../core/tools/alias-path.js";
import { STATE_DOCUMENT, STORE_SUBJECTS } from "./check-statement.js";
import { PROJECT, SESSION_SUBJECTS, storyOf } from "./from-audit.js";
import { PREDICATE_TYPE, type RunPredicate, type RunStatement, STATEMENT_TYPE } from "./statement.js";

/** What a statement is made of, as a store and Temporal tell it. */
export interface AttestedRun {
  readonly facts: Pick<JsonAnswers["read.run"], "metadata" | "projectRoot" | "places">;
  /** Its model was a script. */
  readonly rehearsal: boolean;
  readonly graph: JsonAnswers["read.graph"]["graph"];
  readonly artifacts: readonly StoredArtifact[];
  /** SHA-256 of the package's content; absent for a bundle run. */
  readonly packageSha256?: string | undefined;
  /** The bytes of the audit log, whose chain is whole. */
  readonly log: Buffer;
  readonly head: { readonly lines: number; readonly sha256: string };
  readonly knownToTemporal: boolean;
  /** The bytes of the state document; absent for a bundle run. */
  readonly document?: Uint8Array | undefined;
  readonly version: string;
}

/** The statement about a run that is over, as it is signed. Pure. */
export function makeStatement(run: AttestedRun): RunStatement {
  const { metadata } = run.facts;
  const { written, document, ...story } = storyOf(linesOf(run.log));
  const { runId, phase, createdAt, workflowRef: workflow, forkedFrom, packageId } = metadata;
  const files = run.graph === null ? sessionFiles(run, written) : projectFiles(run, written);
  const own = [
    { name: `${STORE_SUBJECTS}logs/execution.jsonl`, digest: { sha256: hashOf(run.log) } },
    ...(run.document === undefined ? [] : [documentSubject(hashOf(run.document), document)]),
  ];
  return {
    _type: STATEMENT_TYPE,
    subject: [...files, ...own],
    predicateType: PREDICATE_TYPE,
    predicate: {
      run: {
        runId,
        phase,
        createdAt,
        workflow,
        rehearsal: run.rehearsal,
        ...defined({ forkedFrom }),
      },
      interlock: { version: run.version },
      package: {
        id: packageId,
        ...(run.packageSha256 === undefined ? {} : { digest: { sha256: run.packageSha256 } }),
      },
      graph: graphIn(run.graph),
      ...story,
      audit: { ...run.head, knownToTemporal: run.knownToTemporal },
    },
  };
}

const WHEN_SIGNED = { hashed: "when-signed" } as const;

type Subjects = RunStatement["subject"];

/**
 * What the chain says of them, not what lies there now: that is what is checked. Of what the run has listed and not written itself, by a
 * fork or a run below, the chain says nothing, and the statement says so.
 */
function projectFiles({ artifacts }: AttestedRun, written: ReadonlyMap<string, string>): Subjects {
  const listed = new Map<string, string>();
  for (const { path, sha256 } of artifacts) {
    const plain = plainProjectPath(path);
    if (sha256 !== null && !written.has(plain)) listed.set(plain, sha256);
  }
  return [
    ...[...written].map(([path, sha256]) => subjectOf(path, sha256)),
    ...[...listed].map(([path, sha256]) => ({
      ...subjectOf(path, sha256),
      annotations: WHEN_SIGNED,
    })),
  ];
}

/** A file of the project. A folder of it may be called as the run's own files are. */
function subjectOf(path: string, sha256: string): Subjects[number] {
  const isOther = [PROJECT, STORE_SUBJECTS, SESSION_SUBJECTS].some((start) => path.startsWith(start));
  return { name: isOther ? `${PROJECT}${path}` : path, digest: { sha256 } };
}

/** What a bundle run has saved: by its path in the project, or where its folder lies outside of it, in that folder. */
function sessionFiles({ facts }: AttestedRun, written: ReadonlyMap<string, string>): Subjects {
  const { projectRoot, places } = facts;
  const way = projectRoot === null ? "" : relative(projectRoot, places.sessionFolder ?? "/");
  const isInside = way !== "" && way.split("/")[0] !== ".." && !isAbsolute(way);
  return [...written].map(([name, sha256]) =>
    isInside
      ? subjectOf(
          name.replace(SESSION_SUBJECTS, () => `${way}/`),
          sha256,
        )
      : { name, digest: { sha256 } },
  );
}

/** The document as it lies there, and whether the chain knows it so. */
function documentSubject(sha256: string, logged: string | undefined): Subjects[number] {
  const subject = { name: STATE_DOCUMENT, digest: { sha256 } };
  return sha256 === logged ? subject : { ...subject, annotations: WHEN_SIGNED };
}

/** What of a graph is said: its nodes and edges. */
function graphIn(graph: AttestedRun["graph"]): RunPredicate["graph"] {
  if (graph === null) return null;
  // The store has read it by the schema of packages.
  const { entryNodeId, nodes, edges } = graph as unknown as NonNullable<RunPredicate["graph"]>;
  return {
    entryNodeId,
    nodes: nodes.map(({ id, type }) => ({ id, type })),
    edges: edges.map(({ from, to }) => ({ from, to })),
  };
}

function linesOf(log: Buffer): readonly (JsonObject | undefined)[] {
  const lines = log.toString("utf8").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => {
    const value = jsonIn(line);
    return isObject(value) ? value : undefined; // torn, and marked as such: the chain has been checked
  });
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
