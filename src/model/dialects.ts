import { z } from "zod";
import { NO_HEADER_VALUE, headerNameProblem, isHeaderValue } from "../core/header-value.js";
import { namesSecret } from "../core/prompt/redact.js";

/**
 * How one family of servers differs from the others (docs/models.md). What an entry does not name is as in the plain
 * form, which most servers take.
 */
export interface Dialect {
  /** What bounds an answer's tokens. */
  readonly tokenLimit: "max_tokens" | "max_completion_tokens";
  /** Whether a stream is asked for its usage. */
  readonly streamOptions: boolean;
  /** What tells the pieces of two calls of a stream apart. */
  readonly streamedCalls: "index" | "id";
  /** `plain`: schemas of tools lose the keywords that some servers refuse. */
  readonly toolSchemas: "full" | "plain";
  /** `short`: descriptions of tools are cut to what OpenAI takes. */
  readonly toolTexts: "any" | "short";
  /** Where rules stand: as system messages, however many; as one, the first; or, where no such role is known, in the user's first words. */
  readonly rules: "any" | "first" | "words";
  /** `joined`: what the user's role says in several messages, one after the other, is one. */
  readonly userMessages: "any" | "joined";
  /** Under which role something is said to the model between two of its answers. */
  readonly corrections: "system" | "user";
  /** `assistant`: no words may follow a tool's result before the assistant has said something. */
  readonly afterTools: "any" | "assistant";
  /** `apart`: an answer of several calls goes back as one of each, with its result, one after the other. */
  readonly parallelCalls: "together" | "apart";
  /** `sent`: a tool's result has the tool's name beside the id of its call. */
  readonly resultNames: "left-out" | "sent";
  /** `nine`: ids of calls are nine letters and digits; `counted`: they are a call's name and its number, as `functions.fs_read:0`. */
  readonly callIds: "any" | "nine" | "counted";
  /** `wrapped`: a call's arguments that are no JSON object, as a model has written them, go back inside one. */
  readonly brokenArguments: "sent" | "wrapped";
  /** `none`: where tools are offered, the model is asked not to reason, as OpenAI's newer ones want it at this endpoint. */
  readonly reasoningWithTools: "any" | "none";
  /** `left-out`: an answer goes back with its calls or with its text, not with both. */
  readonly textBesideCalls: "sent" | "left-out";
  /** What stands for the text of a message that has calls alone. */
  readonly noText: "null" | "empty" | "dot";
  /** How the runtime's own first reads are shown: as calls of the assistant, or in words of the user. */
  readonly ownReads: "calls" | "words";
  /** Whether an assistant message may be empty. */
  readonly emptyAnswers: "sent" | "left-out";
  /** Fields of an answer that are not taken back. */
  readonly notTakenBack: readonly string[];
  /** What an assistant message gets, and each of its calls, when they are not of this server's making. */
  readonly foreignMessage: Readonly<Record<string, string>>;
  readonly foreignCall: Readonly<Record<string, unknown>>;
  /** Where the key stands: behind `Bearer` in a header that is called an authorization. */
  readonly keyHeader: string;
  /** Headers beside the key's that each request has: nothing secret. */
  readonly headers: Readonly<Record<string, string>>;
  /** Codes of errors that stay what they are, whatever their status says. */
  readonly finalErrors: readonly string[];
}

const FINAL_ERRORS = [
  "insufficient_quota",
  "billing_hard_limit_reached",
  "billing_not_active",
  "budget_exceeded",
  "account_deactivated",
  "access_terminated",
  "exceeded_current_quota_error",
  "Arrearage",
  "AccountOverdueError",
] as const;

const PLAIN: Dialect = {
  tokenLimit: "max_completion_tokens",
  streamOptions: true,
  streamedCalls: "id",
  toolSchemas: "full",
  toolTexts: "any",
  rules: "any",
  userMessages: "any",
  corrections: "system",
  afterTools: "any",
  parallelCalls: "together",
  resultNames: "left-out",
  callIds: "any",
  brokenArguments: "sent",
  reasoningWithTools: "any",
  textBesideCalls: "sent",
  noText: "null",
  ownReads: "calls",
  emptyAnswers: "sent",
  notTakenBack: ["annotations", "audio", "function_call"],
  foreignMessage: {},
  foreignCall: {},
  keyHeader: "authorization",
  headers: {},
  finalErrors: FINAL_ERRORS,
};

/** Where a server wants thoughts and there are none: some take nothing but a text that is not empty. */
export const NO_THOUGHTS = { reasoning_content: " " } as const;

/** A local server puts messages into the model's own template, and many of those take one system message, the first. */
const LOCAL: Partial<Dialect> = {
  tokenLimit: "max_tokens",
  rules: "first",
  corrections: "user",
  brokenArguments: "wrapped",
};

const DIALECTS = {
  plain: {},
  openai: { streamedCalls: "index" },
  azure: { streamedCalls: "index", keyHeader: "api-key" },
  deepseek: { tokenLimit: "max_tokens", ownReads: "words", foreignMessage: NO_THOUGHTS },
  gemini: {
    tokenLimit: "max_tokens",
    toolSchemas: "plain",
    corrections: "user",
    resultNames: "sent",
    brokenArguments: "wrapped",
    ownReads: "words",
    emptyAnswers: "left-out",
    foreignCall: { extra_content: { google: { thought_signature: "skip_thought_signature_validator" } } },
  },
  mistral: {
    tokenLimit: "max_tokens",
    streamOptions: false,
    corrections: "user",
    afterTools: "assistant",
    callIds: "nine",
    brokenArguments: "wrapped",
    ownReads: "words",
    emptyAnswers: "left-out",
    notTakenBack: [...PLAIN.notTakenBack, "reasoning_content", "reasoning", "refusal"],
  },
  ollama: { ...LOCAL, resultNames: "sent" }, // it has Gemini behind it as well
  "llama.cpp": { ...LOCAL },
  vllm: { ...LOCAL },
  "lm-studio": { ...LOCAL },
  groq: {
    notTakenBack: [...PLAIN.notTakenBack, "reasoning", "reasoning_content", "reasoning_details"],
  },
  // It puts what systems say anywhere before the conversation: a correction would be lost there, and the model's own words its last.
  anthropic: { corrections: "user", brokenArguments: "wrapped", emptyAnswers: "left-out" },
  openrouter: {
    tokenLimit: "max_tokens",
    corrections: "user",
    brokenArguments: "wrapped",
    ownReads: "words",
  },
} as const satisfies Readonly<Record<string, Partial<Dialect>>>;

export type DialectName = keyof typeof DIALECTS;

// The keys of a literal.
export const DIALECT_NAMES = Object.keys(DIALECTS) as [DialectName, ...DialectName[]];

/** Settings hold no secrets: a key stands in one header, out of a variable. */
function checkHeaders(headers: object, context: z.RefinementCtx): void {
  for (const name of Object.keys(headers)) {
    const secret =
      (namesSecret(name) || /-auth$/i.test(name)) &&
      "is one of a secret: name its variable in apiKeyVariable, and the header as keyHeader";
    const message = headerNameProblem(name) ?? secret;
    if (message) context.addIssue({ code: "custom", path: [name], message });
  }
}

/** A dialect by name, by its fields, or both: fields win. */
export const dialectSettingSchema = z.union([
  z.enum(DIALECT_NAMES),
  z.strictObject({
    name: z.enum(DIALECT_NAMES).optional(),
    tokenLimit: z.enum(["max_tokens", "max_completion_tokens"]).optional(),
    streamOptions: z.boolean().optional(),
    streamedCalls: z.enum(["index", "id"]).optional(),
    toolSchemas: z.enum(["full", "plain"]).optional(),
    toolTexts: z.enum(["any", "short"]).optional(),
    rules: z.enum(["any", "first", "words"]).optional(),
    userMessages: z.enum(["any", "joined"]).optional(),
    corrections: z.enum(["system", "user"]).optional(),
    afterTools: z.enum(["any", "assistant"]).optional(),
    parallelCalls: z.enum(["together", "apart"]).optional(),
    resultNames: z.enum(["left-out", "sent"]).optional(),
    callIds: z.enum(["any", "nine", "counted"]).optional(),
    brokenArguments: z.enum(["sent", "wrapped"]).optional(),
    reasoningWithTools: z.enum(["any", "none"]).optional(),
    textBesideCalls: z.enum(["sent", "left-out"]).optional(),
    noText: z.enum(["null", "empty", "dot"]).optional(),
    ownReads: z.enum(["calls", "words"]).optional(),
    emptyAnswers: z.enum(["sent", "left-out"]).optional(),
    notTakenBack: z.array(z.string().min(1)).optional(),
    keyHeader: z
      .string()
      .superRefine((name, context) => {
        const message = headerNameProblem(name);
        if (message !== undefined) context.addIssue({ code: "custom", message });
      })
      .optional(),
    headers: z
      .record(z.string(), z.string().refine(isHeaderValue, NO_HEADER_VALUE))
      .superRefine(checkHeaders)
      .optional(),
    finalErrors: z.array(z.string().min(1)).optional(),
  }),
]);
export type DialectSetting = z.infer<typeof dialectSettingSchema>;

/** What a family of models wants wherever it is served, but where the server has a wish of its own. */
const MODELS: readonly (readonly [RegExp, Partial<Dialect>])[] = [
  // Their template has the id of a call in the place of its name.
  [/kimi[-_. ]?k2/i, { callIds: "counted" }],
];

/** The dialect of an endpoint: the one that is set, else the one that its address tells. */
export function dialectOf(
  url: URL,
  setting: DialectSetting | undefined,
  model = "",
): Dialect & { readonly name: DialectName } {
  const { name = dialectByAddress(url), ...fields } =
    typeof setting === "string" ? { name: setting } : (setting ?? {});
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  const ofModel = MODELS.find(([named]) => named.test(model))?.[1];
  return { ...PLAIN, ...ofModel, ...DIALECTS[name], ...(Object.fromEntries(set) as Partial<Dialect>), name }; // as the schema says
}

const HOSTS: readonly (readonly [DialectName, RegExp])[] = [
  ["openai", /(?:^|\.)api\.openai\.com$/],
  ["azure", /\.(?:openai|services\.ai|cognitiveservices)\.azure\.(?:com|us|cn)$/],
  ["deepseek", /(?:^|\.)deepseek\.com$/],
  ["gemini", /(?:^|[.-])(?:generativelanguage|aiplatform)(?:\.[a-z0-9-]{1,40}\.rep)?\.googleapis\.com$/],
  ["anthropic", /(?:^|\.)api\.anthropic\.com$/],
  ["mistral", /(?:^|\.)mistral\.ai$/],
  ["groq", /(?:^|\.)groq\.com$/],
  ["openrouter", /(?:^|\.)openrouter\.ai$/],
  ["ollama", /(?:^|\.)ollama\.com$/],
];

/** Where a model is asked whose settings name no place. */
export const OPENAI_URL = "https://api.openai.com/v1";

/** Ports that only one kind of server listens on unless it is told otherwise. */
const PORTS: Readonly<Record<string, DialectName>> = { "11434": "ollama", "1234": "lm-studio" };

function dialectByAddress({ hostname, port }: URL): DialectName {
  const known = HOSTS.find(([, host]) => host.test(hostname.toLowerCase()));
  if (known !== undefined) return known[0];
  return (Object.hasOwn(PORTS, port) ? PORTS[port] : undefined) ?? "plain";
}
