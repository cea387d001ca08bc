import {
  type AnswerPage,
  type AskedPage,
  type ByteReadName,
  type ChangeName,
  type JsonAnswers,
  type JsonReadName,
  type StoreQuestion,
  type StoreQuestionName,
  READ_PAGE_BYTES,
  isChange,
  parseQuestion,
} from "../contract/reads.js";
import { type Result, fail, ok } from "../core/errors.js";
import { readingWords, systemCode } from "../core/system-code.js";
import { LineTooLong } from "../store/disk/append-log.js";
import { DamagedBoundary } from "../store/runs/boundaries.js";
import { DamagedIndex } from "../store/runs/run-index.js";
import { type ArtifactDeps, artifactsOf, openArtifact } from "./artifacts.js";
import { type Answer, KeptTexts, bytesAnswer, pageOf, textAnswer } from "./answer-pages.js";
import { filesOf, openFile } from "./folder-files.js";
import { forkPointOf } from "./fork-read.js";
import {
  installUpload,
  packageOf,
  workflowsOf,
  packagesOf,
  projectsOf,
  removePackage,
  upload,
} from "./package-reads.js";
import { courseOf } from "./run-course.js";
import { graphOf, graphStateOf, liveAnswerOf, requestOf, runFacts, runsOf } from "./run-facts.js";
import { eventsOf } from "./run-events.js";
import { callOf, changeOf, contentOf, documentOf, writesOf } from "./run-pieces.js";
import { conversationOf, resultsOf, visitsOf } from "./transcript.js";

type JsonReads = {
  [N in JsonReadName | ChangeName]: (
    deps: ArtifactDeps,
    asked: StoreQuestion<N>,
  ) => Promise<Result<JsonAnswers[N]>> | Result<JsonAnswers[N]>;
};
type ByteReads = {
  [N in ByteReadName]: (deps: ArtifactDeps, asked: StoreQuestion<N>) => Promise<Result<Answer>>;
};

const JSON_READS: JsonReads = {
  "read.store": ({ store: { storeId, taskQueue } }) => ok({ storeId, taskQueue }),
  "read.runs": ({ store }, { project }) => runsOf(store, project),
  "read.run": ({ store }, { run }) => runFacts(store, run),
  "read.request": ({ store }, { run }) => requestOf(store, run),
  "read.graph": ({ store }, { run }) => graphOf(store, run),
  "read.state": ({ store }, { run }) => graphStateOf(store, run),
  "read.visits": ({ store }, { run }) => visitsOf(store, run),
  "read.conversation": ({ store }, asked) => conversationOf(store, asked),
  "read.results": ({ store }, asked) => resultsOf(store, asked),
  "read.events": ({ store }, asked) => eventsOf(store, asked),
  "read.live": ({ store }, asked) => liveAnswerOf(store, asked),
  "read.artifacts": (deps, { run }) => artifactsOf(deps, run),
  "read.files": ({ store }, { run }) => filesOf(store, run),
  "read.fork": ({ store }, asked) => forkPointOf(store, asked),
  "read.packages": ({ store }) => packagesOf(store),
  "read.package": ({ store }, { packageId }) => packageOf(store, packageId),
  "read.projects": ({ store }) => projectsOf(store),
  "read.course": ({ store }, { run }) => courseOf(store, run),
  "read.call": ({ store }, asked) => callOf(store, asked),
  "read.writes": ({ store }, { run }) => writesOf(store, run),
  "read.content": ({ store }, asked) => contentOf(store, asked),
  "read.document": ({ store }, asked) => documentOf(store, asked),
  "read.change": ({ store }, asked) => changeOf(store, asked),
  "read.workflows": ({ store }, { packageId }) => workflowsOf(store, packageId),
  "package.upload": ({ store }, asked) => upload(store, asked),
  "package.install": ({ store }, asked) => installUpload(store, asked),
  "package.remove": ({ store }, asked) => removePackage(store, asked),
};

const BYTE_READS: ByteReads = {
  "read.artifact": openArtifact,
  "read.file": ({ store }, asked) => openFile(store, asked),
};

/** What is wrong with the store's files, in a sentence: asking again does not help before somebody has seen to it. */
function isOfFiles(error: unknown): error is Error {
  if (error instanceof DamagedIndex || error instanceof DamagedBoundary || error instanceof LineTooLong)
    return true;
  const code = systemCode(error);
  return code !== undefined && !PASSING.has(code);
}

/** What passes by itself: it is asked again. */
const PASSING: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "EAGAIN", "EBUSY", "ETIMEDOUT"]);

type MaybeLater<T> = T | Promise<T>;

/** What a store answers, whoever asks: a command on its machine, or an activity for one elsewhere. */
export class StoreAnswers {
  private readonly deps: ArtifactDeps;
  private readonly kept = new KeptTexts();

  constructor(deps: ArtifactDeps) {
    this.deps = deps;
  }

  /** A page of an answer. Faults: those of the question, `E_SCHEMA_VALIDATION`, `E_PRECONDITION_FAILED` for another store. */
  async page(name: StoreQuestionName, asked: AskedPage): Promise<Result<AnswerPage>> {
    const { storeId } = this.deps.store;
    if (asked.storeId !== undefined && asked.storeId !== storeId) {
      const sentence = `This worker has store ${storeId}, and not the one that is asked for. Give each store a task queue of its own.`;
      return fail("E_PRECONDITION_FAILED", sentence);
    }
    try {
      const answer = await this.answer(name, asked);
      return answer.ok ? await pageOf(answer.value, storeId, asked.page) : answer;
    } catch (error) {
      if (isOfFiles(error)) return fail("E_INTERNAL", readingWords(error));
      throw error;
    }
  }

  private async answer(name: StoreQuestionName, { question, page }: AskedPage): Promise<Result<Answer>> {
    const asked = parseQuestion(name, question);
    if (!asked.ok) return asked;
    if (name !== "read.artifact" && name !== "read.file") return this.text(name, asked.value, page);
    const read: (deps: ArtifactDeps, asked: never) => Promise<Result<Answer>> = BYTE_READS[name];
    return read(this.deps, asked.value as never); // parsed by the schema of that name
  }

  private async text(
    name: JsonReadName | ChangeName,
    asked: object,
    page: AskedPage["page"],
  ): Promise<Result<Answer>> {
    const keyOf = (version: string) => JSON.stringify([name, asked, version]);
    const known = page && this.kept.find(keyOf(page.version));
    if (page !== undefined && known !== undefined) {
      if (page.offset + READ_PAGE_BYTES >= known.length) this.kept.forget(keyOf(page.version));
      return ok(bytesAnswer(known));
    }
    if (page !== undefined && isChange(name))
      return fail("E_PRECONDITION_FAILED", "A change is asked for once.");
    const read: (deps: ArtifactDeps, asked: never) => MaybeLater<Result<object>> = JSON_READS[name];
    const value = await read(this.deps, asked as never); // parsed by the schema of that name
    const bytes = value.ok ? textAnswer(value.value) : value;
    if (!bytes.ok) return bytes;
    const answer = bytesAnswer(bytes.value);
    if (answer.size > READ_PAGE_BYTES) this.kept.keep(keyOf(answer.version), bytes.value);
    return ok(answer);
  }
}
