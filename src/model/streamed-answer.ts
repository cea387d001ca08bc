import {
  type Fields,
  answerOrNone,
  fieldsOf,
  objectsOf,
  parseAnswer,
  unlisted,
} from "../http/answer-json.js";
import { saysWords } from "../http/error-body.js";
import { AnswerProgress, type OnPiece } from "./answer-progress.js";
import type { ChatAnswer } from "./chat.js";
import { untilSilent } from "./event-stream.js";
import { moreTelling, reasonIn, tellsEnough } from "./finish-reason.js";
import { badResponse, errorInAnswer, unsaid } from "./model-error.js";
import { OtherChoices } from "./other-choices.js";
import { mergePiece, withContent } from "./provider-part.js";
import {
  type Answering,
  type Told,
  callsIn,
  contentOf,
  counted,
  finished,
  isNothing,
  saysAnything,
  throwErrorIn,
  toText,
  usageIn,
} from "./read-answer.js";
import { isWhole, saidOnce, saysMore } from "./read-call.js";
import { hasCounted, toUsage, withCounts } from "./read-usage.js";
import { withRefusedCall } from "./refused-call.js";
import { StreamedCalls } from "./streamed-calls.js";

/** Puts an answer together from the events of a stream. Throws `LLM_BAD_RESPONSE` for a stream that is none. */
export async function collectStream(
  events: AsyncIterable<string>,
  answering: Answering,
  onPiece?: OnPiece,
): Promise<ChatAnswer> {
  const answer = new StreamedAnswer(answering, onPiece);
  try {
    for await (const event of untilSilent(events, () => answer.patience(), answering.leave)) {
      answer.take(event.trim());
      if (answer.hasAll) break;
    }
    return answer.ended();
  } catch (error) {
    throw counted(error, answer.usage, answering);
  }
}

/** What has come of an answer so far, and whether more is waited for. */
class StreamedAnswer {
  /** Nothing of it is missing, not even the count of its tokens. */
  hasAll = false;
  private readonly answering: Answering;
  private readonly told: Told = { message: {}, reason: "", model: undefined, usage: undefined };
  private readonly calls: StreamedCalls;
  private readonly others = new OtherChoices();
  private readonly progress: AnswerProgress | undefined;
  private isDone = false;
  private hasBegun = false;
  /** The last words that are no part of a completion. */
  private strange: Fields = {};
  /** Of the choice that it is put together from. */
  private index: unknown;
  /** Pieces of an answer beside an end: some servers say the end in each. */
  private piecesWithEnd = 0;
  /** What is no part of the answer, such as a sign of life, is not waited for anew. */
  private saidAt = 0;

  constructor(answering: Answering, onPiece?: OnPiece) {
    this.answering = answering;
    this.calls = new StreamedCalls(answering.streamedCalls);
    this.progress = onPiece && new AnswerProgress(onPiece, answering.apiKey);
  }

  get usage(): unknown {
    return this.told.usage;
  }

  private get hasTold(): boolean {
    return this.told.reason !== "";
  }

  /** How long more is waited for, in milliseconds; undefined for as long as the call may take. */
  patience(): number | undefined {
    if (!this.isDone && (!this.hasTold || this.piecesWithEnd > 1)) return undefined;
    const silence = longestSilence(this.answering, this.isDone, this.piecesWithEnd === 1);
    return Math.max(this.saidAt + silence - performance.now(), 0);
  }

  /** The data of one event. Throws what it says went wrong. */
  take(data: string): void {
    if (data === "") return;
    if (this.isDone) {
      this.told.usage = countBehind(data);
      this.hasAll = this.told.usage !== undefined;
    } else if (DONE.test(data)) {
      this.isDone = true;
      this.saidAt = performance.now();
      this.hasAll = this.told.usage !== undefined;
    } else this.takeChunk(withRefusedCall(chunkIn(data)));
  }

  private takeChunk(fields: Fields): void {
    const { told, answering } = this;
    const choice = choiceOf(fields, this.index);
    told.usage = withCounts(told.usage, usageIn(fields, choice));
    throwErrorIn(fields, choice, this.hasBegun ? { ...answering, hasBegun: true } : answering);
    this.others.add(fields, this.index ?? choice?.["index"]);
    told.model ||= fields["model"];
    if (choice === undefined) {
      if (saysWords(fields)) this.strange = fields;
      return;
    }
    this.saidAt = performance.now();
    this.index ??= choice["index"];
    const isFirstOrBehind = !this.hasBegun || this.hasTold;
    told.reason = moreTelling(told.reason, reasonIn(choice));
    const delta = pieceIn(choice, told.message, this.calls.all.length > 0);
    if (saysAnything(delta)) {
      this.hasBegun = true;
      this.strange = {};
      if (isFirstOrBehind && this.hasTold) this.piecesWithEnd += 1;
    }
    this.takePiece(delta);
  }

  private takePiece(delta: Fields): void {
    const content = withContent(this.told.message["content"], contentOf(delta["content"]));
    const message = mergePiece(this.told.message, delta, ["tool_calls", "content"]);
    message["content"] = content;
    this.told.message = message;
    this.progress?.delta(delta);
    for (const piece of callsIn(delta)) {
      const call = this.calls.add(piece);
      this.progress?.call(call, piece);
    }
  }

  /** The answer, where nothing more comes. Throws where it is none, or only the beginning of one. */
  ended(): ChatAnswer {
    const { told, answering } = this;
    if (!tellsEnough(told.reason)) {
      for (const delta of this.others.ofAnswer(this.calls.all.length > 0)) this.takePiece(delta);
    }
    const made = saidOnce(this.calls.whole().filter(saysMore));
    if (made.length > 0) told.message = { ...told.message, tool_calls: made };
    if (this.hasTold) answering.onEnd?.();
    else {
      const isDoubtful =
        answering.saysEnds === true || (answering.mayBeWhole === true && !hasCounted(told.usage));
      const isBrokenOff = isDoubtful && !(made.length > 0 && made.every(isWhole));
      if (!this.isDone || isBrokenOff || !isAnswer(told) || saysWords(this.strange)) {
        throw endedEarly(this.strange, answering);
      }
      told.reason = made.length > 0 ? "tool_calls" : "stop";
    }
    return finished(told, answering);
  }
}

/** What says nothing is an answer too where it was counted. */
function isAnswer({ message, usage }: Told): boolean {
  return saysAnything(message) || toUsage(usage).completionTokens > 0;
}

/** How long more is waited for behind an end. */
function longestSilence({ lastWordsMs }: Answering, isDone: boolean, mayGoOn: boolean): number {
  if (isDone) return Math.min(lastWordsMs, COUNT_MS);
  return mayGoOn ? lastWordsMs * MORE : lastWordsMs;
}

/** The end of a stream, which some servers write as JSON. */
const DONE = /^"?\[DONE\]"?$/i;

/** So many times longer is waited for behind an end that the one piece so far has told: it may be all of the answer. */
const MORE = 6;

/** How long a count is waited for behind the end of a stream: some gateways send it there. */
const COUNT_MS = 500;

/** The count in what comes behind the end; nothing else there is of the answer. */
function countBehind(data: string): unknown {
  const fields = fieldsOf(answerOrNone(data)) ?? {};
  return usageIn(fields, choiceOf(fields, undefined));
}

/** An event of a stream. Words among them are a sign of life, or what went wrong. */
function chunkIn(data: string): Fields {
  try {
    return unlisted(parseAnswer(data)) ?? {};
  } catch (error) {
    if (data.startsWith("{") || data.length > MAX_WORDS_CHARS) throw error;
    return { message: data };
  }
}

const MAX_WORDS_CHARS = 1_000;

/** A stream has ended without an end; the last that was no part of a completion may say why. */
function endedEarly(strange: Fields, answering: Answering): Error {
  return saysWords(strange)
    ? errorInAnswer(strange, answering)
    : unsaid(badResponse("the stream ended early"));
}

/** The choice that an answer is put together from: the first that came, where a server sends several. */
function choiceOf(fields: Fields, index: unknown): Fields | undefined {
  const all = objectsOf(fields["choices"]);
  return index === undefined ? all[0] : all.find((choice) => (choice["index"] ?? index) === index);
}

/** One more piece. Some servers end with all of the message in its place: then what of that has not come yet. */
function pieceIn(choice: Fields, told: Fields, hasCalls: boolean): Fields {
  const delta = fieldsOf(choice["delta"]);
  if (delta !== undefined) return delta;
  const message = fieldsOf(choice["message"]) ?? {};
  if (reasonIn(choice) === "") return message;
  const { content } = message;
  const said = toText(told["content"]);
  if (!toText(content).startsWith(said)) return message;
  const rest = Object.entries(message).filter(
    ([key]) => isNothing(told[key]) && !(hasCalls && key === "tool_calls"),
  );
  return { ...Object.fromEntries(rest), content: said === "" ? content : toText(content).slice(said.length) };
}
