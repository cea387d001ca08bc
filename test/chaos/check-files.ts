import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseMarkdown } from "../../src/core/documents/front-matter.js";
import { readTree } from "../fakes/package-fixture.js";
import { type Finding, compareLists, doubled, lost } from "./finding.js";
import { manifestOf } from "./plan-bundle.js";
import { type PlannedEnd, type PlannedRun, folderOf } from "./plan.js";

/** Compares the state document with the script. */
export async function checkDocument(
  runDir: string,
  run: PlannedRun,
  isUndisturbed: boolean,
): Promise<readonly Finding[]> {
  const parsed = parseMarkdown(await readFile(join(runDir, "state/workflow.md")));
  if (!parsed.ok) return [lost(`the state document cannot be read: ${parsed.error.message}`)];
  const { end } = run;
  const { frontmatter, body } = parsed.value;
  const texts = (value: unknown) =>
    (Array.isArray(value) ? value : []).map((item) =>
      typeof item === "string" ? item : JSON.stringify(item),
    );
  const { moved } = await movedFrom(runDir, frontmatter);
  const order = isUndisturbed ? "ordered" : "any order";
  const findings = [
    ...compareLists("stepsCompleted", texts(frontmatter["stepsCompleted"]), end.stepsCompleted),
    ...compareLists("decisionLog", [...moved, ...texts(frontmatter["decisionLog"])], texts(end.decisionLog)),
    ...compareLists("artifacts", texts(frontmatter["artifacts"]), end.artifacts, order),
    ...compareValues("variables", frontmatter["variables"], end.variables),
  ];
  const whole = { runId: run.runId, currentNodeId: end.currentNodeId, activeAgentId: run.agentId };
  findings.push(...compareValues("the state document", pick(frontmatter, Object.keys(whole)), whole));
  if (Buffer.from(body).toString("utf8") !== end.body)
    findings.push(lost("the body of the state document is another."));
  return findings;
}

/** The decisions that a document no longer holds, as lines of the files that it goes back to, and the names of these. */
async function movedFrom(runDir: string, frontmatter: Readonly<Record<string, unknown>>) {
  const moved: string[] = [];
  const names = new Set<string>();
  const said = frontmatter["earlierEntries"] as { readonly decisionLog?: Before } | undefined;
  for (let at = said?.decisionLog; at !== undefined;) {
    const name = at.file.slice(1);
    names.add(name);
    const [head = "", ...lines] = (await readFile(join(runDir, name), "utf8")).trimEnd().split("\n");
    moved.unshift(...lines);
    at = (JSON.parse(head) as { readonly before?: Before }).before;
  }
  return { moved, names };
}

interface Before {
  readonly file: string;
}

function pick(from: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}

function compareValues(
  what: string,
  actual: unknown,
  expected: Readonly<Record<string, unknown>>,
): readonly Finding[] {
  const values = (actual ?? {}) as Readonly<Record<string, unknown>>;
  const findings: Finding[] = [];
  for (const name of new Set([...Object.keys(values), ...Object.keys(expected)])) {
    const [is, should] = [JSON.stringify(values[name]), JSON.stringify(expected[name])];
    if (is === should) continue;
    if (should === undefined) findings.push(doubled(`${what}: ${name} is ${is}, and nobody set it.`));
    else findings.push(lost(`${what}: ${name} is ${is ?? "missing"} instead of ${should}.`));
  }
  return findings;
}

/** Compares what the run wrote into its project and beside its document. */
export async function checkFiles(
  runDir: string,
  projectRoot: string,
  run: PlannedRun,
): Promise<readonly Finding[]> {
  const { files } = run.end;
  const folder = folderOf(run);
  const findings: Finding[] = [];
  for (const place of [`artifacts/${folder}`, `notes/${folder}`]) {
    const { [manifestOf(folder)]: _, ...found } = await hashesIn(projectRoot, place);
    findings.push(...compareFiles(found, filesBelow(files, `${place}/`)));
  }
  const inState = await hashesIn(runDir, "state");
  // A bundle run has no document.
  const document = await readFile(join(runDir, "state/workflow.md")).then(parseMarkdown, () => undefined);
  const { names } = await movedFrom(runDir, document?.ok === true ? document.value.frontmatter : {});
  const own = new Set(["state/workflow.md", "state/logs/execution.jsonl", ...names]);
  const beside = Object.entries(inState).filter(([path]) => !own.has(path));
  const expected = Object.entries(run.end.stateFiles).map(([path, hash]) => [`state/${path}`, hash]);
  findings.push(
    ...compareFiles(Object.fromEntries(beside), Object.fromEntries(expected) as PlannedEnd["files"]),
  );
  return findings;
}

/** Files of interrupted writes. `names` are those of files; `where` says of what. */
export function checkLeftovers(names: readonly string[], where: string): readonly Finding[] {
  return names
    .filter((name) => /(^|\/)\.il-|\.tmp-/.test(name))
    .map((name) => doubled(`${where} still holds the temporary file ${name}.`));
}

function filesBelow(files: PlannedEnd["files"], prefix: string): PlannedEnd["files"] {
  return Object.fromEntries(Object.entries(files).filter(([path]) => path.startsWith(prefix)));
}

async function hashesIn(root: string, place: string): Promise<Record<string, string>> {
  const tree: Record<string, Buffer> = await readTree(join(root, place)).catch(() => ({}));
  return Object.fromEntries(
    Object.entries(tree).map(([path, bytes]) => [
      `${place}/${path}`,
      createHash("sha256").update(bytes).digest("hex"),
    ]),
  );
}

function compareFiles(actual: PlannedEnd["files"], expected: PlannedEnd["files"]): readonly Finding[] {
  return [
    ...compareLists("files", Object.keys(actual).sort(), Object.keys(expected).sort()),
    ...Object.entries(expected).flatMap(([path, hash]) =>
      actual[path] === undefined || actual[path] === hash
        ? []
        : [lost(`files: ${path} holds something else.`)],
    ),
  ];
}
