import { z } from "zod";
import { isSecretInTexts, redactKey } from "../core/prompt/redact-key.js";
import { visibleText } from "../core/prompt/visible-text.js";
import { whyNoQuestion } from "../core/run/no-question.js";
import { counted, listSome } from "../core/text.js";
import { functionTool } from "../core/tools/tool-arguments.js";
import type { ChatAnswer } from "../model/chat.js";
import { createChatModel } from "../model/chat-model.js";
import { endpointOf } from "../model/endpoint.js";
import { dialectOf } from "../model/dialects.js";
import { type ModelList, listModels } from "../model/list-models.js";
import { ModelError, codeOfCause } from "../model/model-error.js";
import { type WireAnswer, send } from "../http/send.js";
import { type ConfiguredModel, DEFAULT, settingOf } from "./configured-models.js";
import { CHECK_MS, type Finding, MAX_NAMED, failed, passed, reasonOf, skipped, warning } from "./finding.js";

const MAX_TOKENS = 512;

/** What a model's parts are called, in the order of the table. */
const PARTS = ["reachable", "key", "exists", "calls a tool", "streams", "usage"] as const;
type Part = (typeof PARTS)[number];

/** How one request went. */
type Attempt = { readonly answer: ChatAnswer; readonly isStream: boolean } | FailedAttempt;

interface FailedAttempt {
  readonly error: unknown;
  /** Of what came back, if anything did. */
  readonly status: number | undefined;
}

/** What is known of a request that has failed. */
interface Refused {
  readonly fault: ModelError | undefined;
  readonly said: string;
  /** What names the address. */
  readonly place: string;
  readonly list: ModelList | undefined;
}

interface Answered extends Refused {
  readonly status: number;
}

/** Asks a model for one call of a tool, whole and then as a stream, as runs do; and its endpoint which models it has. */
export async function checkModel(model: ConfiguredModel): Promise<readonly Finding[]> {
  const visit = new Visit(model);
  const [list, whole] = await Promise.all([visit.list(), visit.ask(false)]);
  const findings =
    "answer" in whole
      ? visit.judge(whole.answer, list, await visit.ask(true))
      : visit.judgeRefusal(whole, list);
  const { apiKey = "" } = model.settings;
  // Providers' words are rid of it already.
  if (!isSecretInTexts(apiKey)) return findings;
  return findings.map((finding) => ({ ...finding, found: redactKey(finding.found, apiKey) }));
}

const TOOL = functionTool("report", "Reports that you can call a tool.", z.object({ ok: z.boolean() }));

const WRITTEN_CALL =
  "Start its server with the parser of this model's calls (vLLM, SGLang: --tool-call-parser; llama.cpp: --jinja), or choose another model.";

const JSON_TYPE = /^application\/(?:\w+\+)?json\b/i;

class Visit {
  private readonly model: ConfiguredModel;
  private readonly name: string;
  private seen: WireAnswer | undefined;
  private readonly chat = createChatModel({
    send: async (...request) => {
      this.seen = undefined;
      this.seen = await send(...request);
      return this.seen;
    },
  });

  constructor(model: ConfiguredModel) {
    this.model = model;
    this.name = `model ${model.settings.model} (${model.usedBy.join(", ")})`;
  }

  private get where(): string {
    try {
      const { origin, pathname } = endpointOf(this.model.settings, "models");
      return `${origin}${pathname.replace(/\/models$/, "")}`;
    } catch {
      return "its base URL";
    }
  }

  async list(): Promise<ModelList | undefined> {
    return listModels(this.model.settings, AbortSignal.timeout(CHECK_MS)).catch(() => undefined);
  }

  async ask(stream: boolean): Promise<Attempt> {
    const { settings } = this.model;
    const maxTokens = Math.min(settings.maxTokens ?? MAX_TOKENS, MAX_TOKENS);
    const content = "Call the function report with ok = true.";
    try {
      const answer = await this.chat.complete({
        settings: { ...settings, stream, maxTokens, timeoutMs: CHECK_MS - 200 },
        // As a run begins: rules in several messages of the system's, which some servers do not take.
        messages: [
          { role: "system", content: "You work by calling functions." },
          { role: "system", content: "Write nothing beside a call." },
          { role: "user", content },
        ],
        tools: [TOOL],
        signal: new AbortController().signal,
      });
      const isStream = !/^application\/json\b/i.test(this.seen?.headers.get("content-type") ?? "");
      return { answer, isStream: stream && isStream };
    } catch (error) {
      return { error, status: this.seen?.status };
    }
  }

  judge(answer: ChatAnswer, list: ModelList | undefined, streamed: Attempt): readonly Finding[] {
    const { settings, keyVariable } = this.model;
    const key =
      settings.apiKey === undefined ? "none is sent, and none is asked for" : `accepted${from(keyVariable)}`;
    const isListed = list?.ids === undefined || lists(list.ids, settings.model);
    const called = answer.model === "" || answer.model === settings.model ? "" : ` as ${answer.model}`;
    return [
      passed(this.part("reachable"), this.where),
      passed(this.part("key"), key),
      passed(
        this.part("exists"),
        `answers${called}${isListed ? "" : ", though GET /models does not list it"}`,
      ),
      this.judgeCall(answer),
      this.judgeStream(answer, streamed),
      this.judgeUsage(answer, streamed),
      ...this.judgeContext(),
    ];
  }

  /** Other servers refuse what is too long, and say how long it may be. */
  private judgeContext(): readonly Finding[] {
    const { settings } = this.model;
    const { name } = dialectOf(endpointOf(settings, "chat/completions"), settings.dialect);
    if (name !== "ollama" || settings.contextTokens !== undefined) return [];
    const found = "not set: Ollama drops the beginning of a request that is too long, and says nothing";
    const remedy =
      "Set contextTokens in settings.json to the length it serves (num_ctx, OLLAMA_CONTEXT_LENGTH).";
    return [warning(`${this.name}: context`, found, remedy)];
  }

  private judgeCall({ toolCalls, finishReason, content, refusal }: ChatAnswer): Finding {
    const name = this.part("calls a tool");
    if (toolCalls.some((call) => call.name === TOOL.function.name)) return passed(name, "yes");
    const other =
      "Choose a model that calls tools, and a server that has them switched on: runs do nothing without.";
    if (finishReason === "length") {
      const found = `no call within ${MAX_TOKENS} tokens: it may think for longer than that`;
      return warning(name, found, "Try it with a rehearsed package and a run of one node.");
    }
    if (refusal !== undefined) return failed(name, `it refused: ${refusal.words}`, other);
    if (toolCalls.length > 0)
      return failed(name, `it called ${toolCalls[0]?.name}, which it was not offered`, other);
    const text = visibleText(content).trim();
    const shown = text.slice(0, 80);
    if (whyNoQuestion(text, [TOOL.function.name]) === "written-call")
      return failed(name, `no: it writes the call as text, which is not run: ${shown}`, WRITTEN_CALL);
    const said = shown === "" ? "nothing" : `text: ${shown}`;
    return failed(name, `no: it answered with ${said}`, other);
  }

  private judgeStream(whole: ChatAnswer, streamed: Attempt): Finding {
    const name = this.part("streams");
    const isWanted = this.model.settings.stream;
    const off = isWanted ? "Turn stream off for it." : "Leave stream off for it.";
    if ("error" in streamed) {
      const found = `no: ${this.sentence(streamed.error)}`;
      return isWanted ? failed(name, found, off) : warning(name, found, off);
    }
    if (!streamed.isStream) return warning(name, "no: it answers whole where a stream is asked for", off);
    // What has no call in a whole answer either is no fault of the stream's.
    const isAlike = streamed.answer.toolCalls.length > 0 || whole.toolCalls.length === 0;
    if (isAlike) return passed(name, "yes");
    return isWanted
      ? failed(name, "yes, but without the call of a tool", off)
      : warning(name, "yes, but without the call of a tool", off);
  }

  private judgeUsage(answer: ChatAnswer, streamed: Attempt): Finding {
    const name = this.part("usage");
    const tokens = totalOf(answer);
    const remedy = "Budgets bind on estimates, shown with ~: bound turns as well (--max-turns).";
    if (tokens === 0) return warning(name, "none is reported: tokens are estimated", remedy);
    const whole = `${counted(tokens, "token")} for this`;
    if ("answer" in streamed && streamed.isStream && totalOf(streamed.answer) === 0) {
      return warning(
        name,
        `${whole}; none in a stream: tokens are estimated there`,
        "Leave stream off, or bound turns as well (--max-turns): budgets bind on estimates, shown with ~.",
      );
    }
    return passed(name, whole);
  }

  judgeRefusal({ error, status }: FailedAttempt, list: ModelList | undefined): readonly Finding[] {
    const { usedBy } = this.model;
    const place = usedBy.includes(DEFAULT)
      ? "OPENAI_BASE_URL"
      : `${settingOf(usedBy, "baseUrl")} in settings.json`;
    const fault = error instanceof ModelError ? error : undefined;
    const refused = { fault, said: this.sentence(error), place, list };
    if (status === undefined) return this.judgeUnanswered(error, refused);
    const answered = { ...refused, status };
    return (
      this.judgeAddress(answered) ??
      this.judgeRights(answered) ??
      this.judgeName(answered) ??
      this.judgeFault(answered)
    );
  }

  /** Nothing came back. */
  private judgeUnanswered(error: unknown, { fault, said, place, list }: Refused): readonly Finding[] {
    // A key that cannot be sent: nobody was asked.
    if (fault?.code === "LLM_AUTH_FAILED")
      return this.until("reachable", said, `Correct the key in ${this.model.keyVariable}.`);
    if (fault !== undefined && !fault.retryable) return this.until("reachable", said, `Correct ${place}.`);
    return this.judgeSilence(error, list, place);
  }

  /** Whether somebody answers for models there at all. */
  private judgeAddress({ fault, said, place, list, status }: Answered): readonly Finding[] | undefined {
    // What is said as JSON is said by whoever answers for models there, and not by a proxy before them.
    const isOwn = status === 529 || this.isOfType(JSON_TYPE);
    const isServed = status < 300 || (status >= 400 && (status < 500 || isOwn));
    if (!isServed) return this.until("reachable", said, `Correct ${place}, or mend the server there.`);
    // As LM Studio answers at an address without /v1, where it has no list either; and sites, which do not know POST.
    const isNoPath = (isMissing(fault) && status < 300 && list?.ids === undefined) || status === 405;
    const isSite = (status < 300 || status === 404) && this.isOfType(/^text\/html\b/i);
    if (!isNoPath && !isSite) return undefined;
    return this.until("reachable", said, `Correct ${place}: most end in /v1.`);
  }

  private judgeRights({ fault, said, place, status }: Answered): readonly Finding[] | undefined {
    if (fault?.code === "LLM_AUTH_FAILED") return this.until("key", said, this.keyRemedy());
    const isBlocked = status === 403 && fault?.code === "LLM_HTTP_ERROR" && !this.isOfType(JSON_TYPE);
    if (!isBlocked) return undefined;
    return this.until("reachable", said, `Let this machine through to ${this.where}, or correct ${place}.`);
  }

  private judgeName({ fault, said, place, list, status }: Answered): readonly Finding[] | undefined {
    const { settings, usedBy } = this.model;
    const { ids = [] } = list ?? {};
    const isListed = lists(ids, settings.model);
    const isUnlisted = ids.length > 0 && !isListed;
    // What is listed is there, whatever 404 says: OpenRouter has it of a model that calls no tools, MLX's server of all its faults.
    const isNone = (isMissing(fault) && !isListed) || (isUnlisted && status < 429);
    if (!isNone) return undefined;
    const has = isUnlisted ? `; GET /models has ${listSome(ids, MAX_NAMED)}` : "";
    const name = settingOf(usedBy, "model");
    return this.until("exists", `${said}${has}`, `Correct ${name}, or ${place}: most end in /v1.`);
  }

  private judgeFault({ fault, said, status: ofAnswer }: Answered): readonly Finding[] {
    // A server that has failed may do so each time, such as one with too little memory for the model.
    const status = fault?.status ?? ofAnswer;
    const passes = isBusy(fault) && (status < 500 || status === 503 || status === 529);
    const retry = "Try again; runs do so by themselves.";
    if (passes) return this.until("calls a tool", said, retry, "warning");
    const what = `what it names at ${this.where}.`;
    const remedy = fault?.retryable === true ? `${retry} Else mend ${what}` : `Mend ${what}`;
    return this.until("calls a tool", said, remedy);
  }

  private isOfType(type: RegExp): boolean {
    return type.test(this.seen?.headers.get("content-type") ?? "");
  }

  /** Nothing came back at all, or nothing in time. */
  private judgeSilence(error: unknown, list: ModelList | undefined, place: string): readonly Finding[] {
    const isLate = error instanceof ModelError && error.code === "LLM_TIMEOUT";
    if (isLate && list !== undefined) {
      const found = `no answer within ${CHECK_MS / 1_000} s, though GET /models answers ${list.status}`;
      const limit = Math.round(this.model.settings.timeoutMs / 1_000);
      const remedy = `A slow model may be all right: a run waits ${limit} s. Else look at what it hangs on.`;
      return this.until("calls a tool", found, remedy, "warning");
    }
    const code = error instanceof ModelError ? codeOfCause(error.cause) : "";
    if (error instanceof ModelError && /CERT|SELF_SIGNED|UNABLE_TO/.test(code)) {
      const remedy = `Mend the certificate, or correct ${place}; an authority of your own is named in NODE_EXTRA_CA_CERTS.`;
      return this.until("reachable", error.message, remedy);
    }
    if (code.startsWith("ERR_PROXY_")) {
      const remedy = "Mend what HTTPS_PROXY or HTTP_PROXY names, or name the host in NO_PROXY.";
      return this.until("reachable", this.sentence(error), remedy);
    }
    const found = isLate ? `${this.where}: no answer within ${CHECK_MS / 1_000} s` : this.sentence(error);
    const { unusedProxy } = this.model;
    const proxy =
      unusedProxy === undefined
        ? ""
        : ` ${unusedProxy} is set and not used: Node 24 uses it with NODE_USE_ENV_PROXY=1.`;
    return this.until("reachable", found, `Start the server, or correct ${place}.${proxy}`);
  }

  private keyRemedy(): string {
    const { settings, keyVariable, usedBy } = this.model;
    if (keyVariable === "")
      return `Name the variable of its key: ${settingOf(usedBy, "apiKeyVariable")} in settings.json.`;
    return settings.apiKey === undefined
      ? `Set ${keyVariable}: no key was sent.`
      : `Correct the key in ${keyVariable}, or its rights.`;
  }

  /** The parts up to the one that says what is wrong. */
  private until(
    part: Part,
    found: string,
    remedy: string,
    status: "failed" | "warning" = "failed",
  ): readonly Finding[] {
    const at = PARTS.indexOf(part);
    return PARTS.map((other, index) => {
      const name = this.part(other);
      if (index === at) return { name, status, found, remedy };
      if (index > at) return skipped(name, "not known");
      return other === "reachable" ? passed(name, this.where) : skipped(name, "not refused");
    });
  }

  private part(part: Part): string {
    return `${this.name}: ${part}`;
  }

  private sentence(error: unknown): string {
    if (!(error instanceof ModelError)) return reasonOf(error);
    const cause = codeOfCause(error.cause);
    if (cause === "") return error.message;
    const { cause: inner } = error.cause as Error; // as what has a code of a cause
    return `${this.where}: ${cause === "EUNKNOWN" ? reasonOf(inner) : cause}`;
  }
}

/** It may be answered another time. What is no answer is asked for again as well, and mostly in vain. */
function isBusy(fault: ModelError | undefined): boolean {
  return fault?.retryable === true && fault.code !== "LLM_BAD_RESPONSE";
}

/** Nothing of that name is there. */
function isMissing(fault: ModelError | undefined): boolean {
  return fault?.status === 404 && !isBusy(fault);
}

function from(keyVariable: string): string {
  return keyVariable === "" ? "" : ` (${keyVariable})`;
}

/** Whether a model is in a list of them: Ollama names the tag that a name without one means, and routers take more behind a colon. */
function lists(ids: readonly string[], model: string): boolean {
  return [model, `${model}:latest`, model.replace(/:[^:/]*$/, "")].some((name) => ids.includes(name));
}

function totalOf({ usage }: ChatAnswer): number {
  return usage.promptTokens + usage.completionTokens;
}
