import type { JsonObject } from "../../core/json.js";
import { checkArtifactTypesSize } from "../../core/package/artifact-types.js";
import { checkConditions } from "../../core/package/check-conditions.js";
import { checkNames } from "../../core/package/check-names.js";
import {
  MANIFEST_FILE,
  MAX_GRAPH_BYTES,
  type Reference,
  checkAgentsFile,
  checkAssetsDir,
  checkGraphFile,
  checkManifest,
  checkReference,
  checkStepFile,
  checkWorkflowDocument,
  manifestReferences,
  missingManifest,
} from "../../core/package/check-package.js";
import { checkAgainstNode } from "../../core/package/check-step.js";
import { checkMerge, checkSubworkflows } from "../../core/package/engine-nodes.js";
import { type FileIndex, indexFiles } from "../../core/package/file-index.js";
import {
  type Checked,
  type Finding,
  WHOLE_PACKAGE,
  boundFindings,
  errorFinding,
  faultFinding,
  isError,
  warningFinding,
} from "../../core/package/findings.js";
import { type WorkflowGraph, toWorkflowGraph } from "../../core/package/graph.js";
import { checkHanded, knownVariables } from "../../core/package/handed-variables.js";
import type { Agent, GraphFile, Manifest, StepFrontmatter } from "../../core/package/schemas.js";
import type { Frontmatter } from "../../core/state/state-frontmatter.js";
import { parseMarkdown } from "../../core/documents/front-matter.js";
import { writtenText } from "../../core/written-text.js";
import { withLines } from "./finding-lines.js";
import { digestFiles, integrityDigest } from "./package-digest.js";
import { PackageFileRefused, type PackageListing, readPackageFile } from "./package-files.js";

/** A workflow of a package that a run can be made of. */
export interface LoadedWorkflow {
  /** `workflows[].id` of the manifest; for an entry that is not listed there, its document's `workflowType`. */
  readonly id: string;
  readonly isEntry: boolean;
  /** Canonical package paths. */
  readonly workflowFile: string;
  readonly graphFile: string;
  readonly graph: WorkflowGraph;
  /** The bytes of the workflow document, from which a run's state document is made. */
  readonly document: Uint8Array;
  readonly frontmatter: Frontmatter;
  /** By node id. */
  readonly steps: ReadonlyMap<string, StepFrontmatter>;
}

export interface LoadedPackage {
  /** Real path of the package's directory. */
  readonly dir: string;
  readonly manifest: Manifest;
  readonly agents: readonly Agent[];
  /** Those that the manifest lists, in its order; then the entry, unless it repeats one of them. */
  readonly workflows: readonly LoadedWorkflow[];
}

export interface PackageReport {
  /** Bounded; errors first. */
  readonly findings: readonly Finding[];
  /** Present when no finding is an error. */
  readonly package?: LoadedPackage;
}

/** The most that one JSON or Markdown file of a package may measure; a graph file less (contracts §2). */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
/** The most that all of them may measure: parsing costs far more than reading. */
const MAX_TOTAL_TEXT_BYTES = 16 * 1024 * 1024;

/** Reads and checks a package directory as a whole (contracts §2). Never throws because of what is in it. */
export async function loadPackage(listing: PackageListing): Promise<PackageReport> {
  if (!listing.complete) return { findings: boundFindings(listing.findings) };
  const reading = new PackageReading(listing);
  const loaded = await reading.load();
  const told = reading.isMended ? reading.findings.filter(isError) : reading.findings;
  const findings = withLines(boundFindings(told), reading.texts);
  return loaded === undefined || findings.some(isError) ? { findings } : { findings, package: loaded };
}

/** `loadPackage` for a package that is new to the store: what lists would show of it must be printable. */
export async function loadNewPackage(listing: PackageListing): Promise<PackageReport> {
  const report = await loadPackage(listing);
  if (report.package === undefined) return report;
  const names = checkNames(
    report.package,
    listing.files.map(({ path }) => path),
  );
  return names.length === 0 ? report : { findings: boundFindings([...report.findings, ...names]) };
}

interface LoadedGraph {
  readonly source: GraphFile;
  readonly graph: WorkflowGraph;
  readonly steps: ReadonlyMap<string, StepFrontmatter>;
}

interface FrontMatterFile {
  readonly bytes: Uint8Array;
  /** Below the front matter stands nothing. */
  readonly isBlank: boolean;
  readonly frontmatter: JsonObject;
}

interface LoadedDocument {
  readonly bytes: Uint8Array;
  readonly frontmatter: Frontmatter;
}

interface WorkflowReferences {
  readonly id?: string;
  readonly workflow: Reference;
  readonly graph: Reference;
}

/** One pass over a package: reads what is referred to, once each, and keeps every finding. */
class PackageReading {
  readonly findings: Finding[];
  /** Whether a file was checked without what was refused of it: warnings wait until that is right. */
  isMended = false;
  /** What was read, by file. */
  readonly texts = new Map<string, Uint8Array>();
  private readonly listing: PackageListing;
  private readonly files: FileIndex;
  private agentIds: ReadonlySet<string> | undefined;
  private readonly graphs = new Map<string, LoadedGraph | undefined>();
  private readonly documents = new Map<string, LoadedDocument | undefined>();
  private readonly frontMatter = new Map<string, FrontMatterFile | undefined>();
  private textBytes = 0;

  constructor(listing: PackageListing) {
    this.listing = listing;
    this.findings = [...listing.findings];
    this.files = indexFiles(listing.files.map((file) => file.path));
  }

  async load(): Promise<LoadedPackage | undefined> {
    if (!this.files.paths.has(MANIFEST_FILE)) {
      this.findings.push(missingManifest(this.files));
      return undefined;
    }
    const text = await this.readText(MANIFEST_FILE);
    const manifest = text === undefined ? undefined : this.note(checkManifest(text));
    if (manifest === undefined) return undefined;
    const references = manifestReferences(manifest);
    const agents = await this.readAgents(references.agents);
    this.agentIds = agents && new Set(agents.map((agent) => agent.id));
    const workflows = await this.readWorkflows(references.workflows, references.entry);
    const listed = new Set((manifest.workflows ?? []).map(({ id }) => id));
    this.note({ findings: checkSubworkflows(workflows, listed) });
    this.checkVariables(workflows);
    this.note({ findings: checkAssetsDir(manifest, this.files) });
    await this.checkIntegrity(manifest);
    return agents && { dir: this.listing.root, manifest, agents, workflows };
  }

  /** Once it is known which variables workflows are handed by those that run them. */
  private checkVariables(workflows: readonly LoadedWorkflow[]): void {
    this.note({ findings: checkHanded(workflows) });
    for (const [file, loaded] of this.graphs) {
      if (loaded === undefined) continue;
      const known = knownVariables(file, loaded.steps, workflows);
      this.note({ findings: checkConditions(file, loaded.source, known) });
    }
  }

  private async readAgents(reference: Reference): Promise<readonly Agent[] | undefined> {
    const file = this.note(checkReference(reference, this.files));
    const text = file === undefined ? undefined : await this.readText(file);
    return file === undefined || text === undefined ? undefined : this.note(checkAgentsFile(file, text));
  }

  private async readWorkflows(
    listed: readonly WorkflowReferences[],
    entry: WorkflowReferences,
  ): Promise<readonly LoadedWorkflow[]> {
    const workflows: LoadedWorkflow[] = [];
    for (const references of listed) {
      const workflow = await this.readWorkflow(references);
      if (workflow !== undefined) workflows.push(workflow);
    }
    const main = await this.readWorkflow(entry);
    if (main === undefined) return workflows;
    const repeated = workflows.findIndex(
      (workflow) => workflow.workflowFile === main.workflowFile && workflow.graphFile === main.graphFile,
    );
    if (repeated === -1) return [...workflows, { ...main, isEntry: true }];
    return workflows.map((workflow, index) =>
      index === repeated ? { ...workflow, isEntry: true } : workflow,
    );
  }

  private async readWorkflow(references: WorkflowReferences): Promise<LoadedWorkflow | undefined> {
    const workflowFile = this.note(checkReference(references.workflow, this.files));
    const graphFile = this.note(checkReference(references.graph, this.files));
    const document = workflowFile === undefined ? undefined : await this.documentOf(workflowFile);
    const graph = graphFile === undefined ? undefined : await this.graphOf(graphFile);
    if (workflowFile === undefined || graphFile === undefined) return undefined;
    if (document === undefined || graph === undefined) return undefined;
    return {
      id: references.id ?? document.frontmatter.workflowType,
      isEntry: false,
      workflowFile,
      graphFile,
      graph: graph.graph,
      document: document.bytes,
      frontmatter: document.frontmatter,
      steps: graph.steps,
    };
  }

  private async documentOf(file: string): Promise<LoadedDocument | undefined> {
    if (!this.documents.has(file)) this.documents.set(file, await this.readDocument(file));
    return this.documents.get(file);
  }

  private async readDocument(file: string): Promise<LoadedDocument | undefined> {
    const read = await this.frontMatterOf(file);
    const frontmatter = read && this.note(checkWorkflowDocument(file, read.frontmatter));
    return read && frontmatter && { bytes: read.bytes, frontmatter };
  }

  private async graphOf(file: string): Promise<LoadedGraph | undefined> {
    if (!this.graphs.has(file)) this.graphs.set(file, await this.readGraph(file));
    return this.graphs.get(file);
  }

  private async readGraph(file: string): Promise<LoadedGraph | undefined> {
    const text = await this.readText(file, MAX_GRAPH_BYTES);
    const checked = text === undefined ? undefined : checkGraphFile(file, text, this.agentIds);
    const graph = checked && this.note(checked);
    if (graph === undefined) return undefined;
    const refused = new Set(checked?.findings.filter(isError).map(({ path }) => path));
    const steps = new Map<string, StepFrontmatter>();
    const blank = new Set<string>();
    for (const [index, node] of graph.nodes.entries()) {
      const reference = { file, path: `$.nodes[${index}].file`, target: node.file };
      const stepFile = this.note(checkReference(reference, this.files));
      const read = stepFile === undefined ? undefined : await this.frontMatterOf(stepFile);
      if (stepFile === undefined || read === undefined) continue;
      const known = refused.has(`$.nodes[${index}].type`) ? { id: node.id } : node;
      const step = this.note(checkStepFile(stepFile, read.frontmatter, known, this.agentIds));
      if (step === undefined) continue;
      steps.set(node.id, step);
      const { isBlank } = read;
      if (isBlank) blank.add(node.id);
      this.note({ findings: checkMerge(file, graph, index, { isBlank, step }) });
      this.note({ findings: checkAgainstNode(stepFile, step, node, graph, this.agentIds) });
    }
    this.note({ findings: checkArtifactTypesSize(file, steps.values()) });
    return { source: graph, graph: toWorkflowGraph(graph, steps, blank), steps };
  }

  private async frontMatterOf(file: string): Promise<FrontMatterFile | undefined> {
    if (!this.frontMatter.has(file)) this.frontMatter.set(file, await this.readFrontMatter(file));
    return this.frontMatter.get(file);
  }

  private async readFrontMatter(file: string): Promise<FrontMatterFile | undefined> {
    const bytes = await this.readBytes(file, MAX_TEXT_BYTES);
    if (bytes === undefined) return undefined;
    const parsed = parseMarkdown(bytes);
    if (parsed.ok) {
      const { frontmatter, body } = parsed.value;
      return { bytes, frontmatter, isBlank: Buffer.from(body).toString("utf8").trim() === "" };
    }
    this.findings.push(faultFinding(file, parsed.error));
    return undefined;
  }

  private async readText(file: string, maxBytes = MAX_TEXT_BYTES): Promise<string | undefined> {
    const bytes = await this.readBytes(file, maxBytes);
    return bytes && Buffer.from(bytes).toString("utf8");
  }

  private async readBytes(file: string, maxBytes: number): Promise<Uint8Array | undefined> {
    const bytes = await this.attempt(() => readPackageFile(this.listing.root, file, maxBytes));
    if (bytes === undefined) return undefined;
    this.textBytes += bytes.length;
    if (this.textBytes > MAX_TOTAL_TEXT_BYTES) {
      const sentence = `the JSON and Markdown files named in the package are larger than ${MAX_TOTAL_TEXT_BYTES} bytes together: shorten them`;
      this.findings.push(errorFinding(WHOLE_PACKAGE, "$", sentence));
      return undefined;
    }
    const written = writtenText(bytes);
    if ("text" in written) {
      this.texts.set(file, bytes);
      return bytes;
    }
    this.findings.push(errorFinding(file, "$", written.problem));
    return undefined;
  }

  private async attempt<T>(action: () => Promise<T>): Promise<T | undefined> {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof PackageFileRefused)) throw error;
      this.findings.push(error.finding);
      return undefined;
    }
  }

  /**
   * The format does not say what `integrity.sha256` covers, so other tools may have counted differently: a
   * mismatch is told, with the digest that this one counts, and refuses nothing.
   */
  private async checkIntegrity(manifest: Manifest): Promise<void> {
    const declared = manifest.integrity?.sha256;
    if (declared === undefined || this.findings.some(isError)) return;
    const actual = await this.attempt(async () =>
      integrityDigest(this.listing, await digestFiles(this.listing), declared),
    );
    if (actual === undefined || actual === declared.toLowerCase()) return;
    const sentence = `does not match the content, whose digest is ${actual}: get the package anew, or write this digest here if the change is yours`;
    this.findings.push(warningFinding(MANIFEST_FILE, "$.integrity.sha256", sentence));
  }

  private note<T>(checked: Checked<T>): T | undefined {
    for (const finding of checked.findings) this.findings.push(finding);
    this.isMended ||= checked.isMended === true;
    return checked.value;
  }
}
