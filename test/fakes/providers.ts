/** What a model says in one turn. */
export interface Said {
  readonly calls?: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly text?: string;
  /** Words of a refusal. */
  readonly refusal?: string;
}

export type Json = Readonly<Record<string, unknown>>;

export interface Asked {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Json & { readonly messages: readonly Json[] };
}

/** How one family of servers answers, and what it does not take, after its public documentation and what users report. */
export interface Provider {
  /** An error of its own, in its own shape; undefined where the request is one that it takes. */
  refuse(asked: Asked): { readonly status: number; readonly body: unknown } | undefined;
  /** The message of an answer, and why it ends. */
  answer(said: Said, turn: number): { readonly message: Json; readonly reason: string };
  /** The deltas of the same answer, where they are not text by halves and then calls by halves. */
  deltas?(message: Json): readonly Json[];
  /** Whether a stream tells usage unasked, and where. */
  readonly usage?: "asked" | "always" | "x_groq" | "never";
  /** What stands between the events of a stream. */
  readonly comment?: string;
}

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : []);

function callsOf(said: Said, id: (index: number) => string, extra: (index: number) => Json = () => ({})) {
  return (said.calls ?? []).map((call, index) => ({
    id: id(index),
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
    ...extra(index),
  }));
}

/** The plain form of an answer, with what is the provider's own over it. */
function plain(said: Said, calls: readonly Json[], own: Json = {}): { message: Json; reason: string } {
  return {
    message: {
      role: "assistant",
      content: said.text ?? said.refusal ?? (calls.length === 0 ? "" : null),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...own,
    },
    reason: calls.length > 0 ? "tool_calls" : "stop",
  };
}

const error = (status: number, message: string, more: Json = {}) => ({
  status,
  body: { error: { message, type: "invalid_request_error", param: null, code: null, ...more } },
});

/** The first field of an assistant message that is not among those. */
function unknownField({ body }: Asked, known: readonly string[]): string | undefined {
  const fields = body.messages.flatMap((message, index) =>
    message["role"] === "assistant"
      ? Object.keys(message)
          .filter((key) => !known.includes(key))
          .map((key) => `messages.${index}.${key}`)
      : [],
  );
  return fields[0];
}

function lateSystem({ body }: Asked): boolean {
  const first = body.messages.findIndex(({ role }) => role === "assistant");
  return first !== -1 && body.messages.slice(first).some(({ role }) => role === "system");
}

const standard = ["role", "content", "tool_calls", "name", "refusal", "audio", "function_call"];

const openai: Provider = {
  refuse: (asked) => {
    const field = unknownField(asked, standard);
    if (field !== undefined)
      return error(400, `Unknown parameter: '${field}'.`, { code: "unknown_parameter" });
    if ("max_tokens" in asked.body) {
      return error(
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        { param: "max_tokens", code: "unsupported_parameter" },
      );
    }
    return undefined;
  },
  answer: (said, turn) =>
    said.refusal === undefined
      ? plain(
          said,
          callsOf(said, (index) => `call_${turn}${index}abcdefghijkl`),
          { refusal: null, annotations: [] },
        )
      : {
          message: { role: "assistant", content: null, refusal: said.refusal, annotations: [] },
          reason: "stop",
        },
  usage: "asked",
};

const azure: Provider = {
  refuse: (asked) => {
    if (asked.headers["api-key"] !== undefined) return openai.refuse(asked);
    return {
      status: 401,
      body: { error: { code: "401", message: "Access denied due to invalid subscription key." } },
    };
  },
  answer: (said, turn) =>
    said.refusal === undefined
      ? openai.answer(said, turn)
      : { message: { role: "assistant", content: said.refusal }, reason: "content_filter" },
  usage: "asked",
};

const deepseek: Provider = {
  refuse: ({ body }) => {
    const missing = body.messages.some(
      ({ role, tool_calls: calls, reasoning_content: reasoning }) =>
        role === "assistant" && calls !== undefined && !/^thought \d+$/u.test(String(reasoning)),
    );
    if (missing)
      return error(400, "The reasoning_content in the thinking mode must be passed back to the API.");
    return "max_completion_tokens" in body ? error(400, "unknown field max_completion_tokens") : undefined;
  },
  answer: (said, turn) => {
    const calls = callsOf(said, (index) => `call_00_${turn}${index}`);
    const { message, reason } = plain(said, calls, { reasoning_content: `thought ${turn}` });
    return { message, reason: said.refusal === undefined ? reason : "content_filter" };
  },
  usage: "always",
};

const SIGNATURE = /^(?:signature-\d+|skip_thought_signature_validator)$/u;

const gemini: Provider = {
  refuse: ({ body }) => {
    const fail = (message: string) => ({
      status: 400,
      body: [{ error: { code: 400, message, status: "INVALID_ARGUMENT" } }],
    });
    const unsigned = body.messages.some(({ role, tool_calls: calls }) => {
      const google = (listOf(calls)[0]?.["extra_content"] as Json | undefined)?.["google"] as
        | Json
        | undefined;
      return (
        role === "assistant" && calls !== undefined && !SIGNATURE.test(String(google?.["thought_signature"]))
      );
    });
    const nameless = body.messages.findIndex(({ role, name }) => role === "tool" && !name);
    if (nameless !== -1) {
      return fail(
        `* GenerateContentRequest.contents[${nameless}].parts[0].function_response.name: Name cannot be empty.\n`,
      );
    }
    if (unsigned) return fail("Function call is missing a thought_signature in functionCall parts.");
    if (JSON.stringify(body["tools"]).includes('"additionalProperties"')) {
      return fail('Invalid JSON payload received. Unknown name "additionalProperties": Cannot find field.');
    }
    return body.messages.some(
      ({ role, content, tool_calls: calls }) => role === "assistant" && !content && !calls,
    )
      ? fail("contents.parts must not be empty.")
      : undefined;
  },
  answer: (said, turn) => {
    const calls = callsOf(
      said,
      (index) => `function-call-${turn}${index}`,
      (index) => (index > 0 ? {} : { extra_content: { google: { thought_signature: `signature-${turn}` } } }),
    );
    const { message, reason } = plain(said, calls);
    return said.refusal === undefined
      ? { message, reason }
      : { message: { role: "assistant", content: null }, reason: "content_filter: SAFETY" };
  },
  // Each call whole, and all of them with the same index.
  deltas: ({ tool_calls: calls, ...message }) => [
    message,
    ...listOf(calls).map((call) => ({ role: "assistant", tool_calls: [{ index: 0, ...call }] })),
  ],
  usage: "always",
};

const MISTRAL_FIELDS = ["role", "content", "tool_calls", "prefix"];
const MISTRAL_BODY = [
  "model",
  "messages",
  "tools",
  "tool_choice",
  "temperature",
  "top_p",
  "max_tokens",
  "stream",
  "stop",
  "random_seed",
  "response_format",
  "parallel_tool_calls",
  "safe_prompt",
  "n",
];

const mistral: Provider = {
  refuse: (asked) => {
    const { body } = asked;
    const extra =
      Object.keys(body).find((key) => !MISTRAL_BODY.includes(key)) ?? unknownField(asked, MISTRAL_FIELDS);
    if (extra !== undefined) {
      const detail = [
        { type: "extra_forbidden", loc: ["body", extra], msg: "Extra inputs are not permitted" },
      ];
      return { status: 422, body: { object: "error", message: { detail }, type: "invalid_request_error" } };
    }
    const fail = (message: string) => ({
      status: 400,
      body: { object: "error", message, type: "invalid_request_message_order", param: null, code: "3230" },
    });
    const wrongId = body.messages
      .flatMap(({ tool_calls: calls, tool_call_id: id }) => [...listOf(calls).map((call) => call["id"]), id])
      .find((id) => typeof id === "string" && !/^[a-zA-Z0-9]{9}$/u.test(id));
    if (wrongId !== undefined) {
      return fail(
        `Tool call id was ${JSON.stringify(wrongId)} but must be a-z, A-Z, 0-9, with a length of 9.`,
      );
    }
    for (const [index, { role, content, tool_calls: calls }] of body.messages.entries()) {
      const before = body.messages[index - 1]?.["role"];
      if (before === "tool" && role !== "tool" && role !== "assistant") {
        return fail(`Unexpected role '${String(role)}' after role 'tool'`);
      }
      if (role === "assistant" && !content && !calls) {
        return fail("Assistant message must have either content or tool_calls, but not none.");
      }
    }
    return lateSystem(asked) ? fail("Unexpected role 'system' after role 'assistant'") : undefined;
  },
  answer: (said, turn) => {
    const calls = callsOf(
      said,
      (index) => `m${String(turn).padStart(4, "0")}${String(index).padStart(4, "0")}`,
    );
    const text = said.text ?? said.refusal;
    const thinking = { type: "thinking", thinking: [{ type: "text", text: "Hm?" }] };
    const content = text === undefined ? "" : [thinking, { type: "text", text }];
    return plain(said, calls, { content });
  },
  deltas: (message) => [{ role: "assistant", content: "" }, message],
  usage: "always",
};

/** Local servers put messages into a template of the model's, and that one begins with the only system message. */
const LATE_SYSTEM = error(500, "Value is not callable: System message must be at the beginning.");

const local = (own: Json, more: Partial<Provider> = {}): Provider => ({
  refuse: (asked) => (lateSystem(asked) ? LATE_SYSTEM : undefined),
  answer: (said, turn) =>
    plain(
      said,
      callsOf(said, (index) => `call_${turn}x${index}`),
      own,
    ),
  ...more,
});

const ollama = local(
  { reasoning: "Let me see." },
  {
    // Each call whole, with an id of its own, and all of them with the index 0.
    deltas: ({ tool_calls: calls, ...message }) => [
      message,
      ...listOf(calls).map((call) => ({
        role: "assistant",
        content: "",
        tool_calls: [{ index: 0, ...call }],
      })),
    ],
    usage: "asked",
  },
);

const groq: Provider = {
  refuse: (asked) => {
    const field = unknownField(asked, ["role", "content", "tool_calls", "name"]);
    if (field === undefined) return undefined;
    const [place, index, name] = field.split(".");
    const where = `${place}.${index}`;
    return error(
      400,
      `'${where}' : for 'role:assistant' the following must be satisfied[('${where}' : property '${name}' is unsupported)]`,
    );
  },
  answer: (said, turn) =>
    plain(
      said,
      callsOf(said, (index) => `fc_${turn}_${index}`),
      { reasoning: "I think." },
    ),
  usage: "x_groq",
};

const openrouter: Provider = {
  refuse: ({ body }) => {
    const lost = body.messages.some(
      ({ role, tool_calls: calls, reasoning_details: details }) =>
        role === "assistant" && calls !== undefined && listOf(details)[0]?.["text"] !== "I think hard.",
    );
    return lost ? error(400, "reasoning_details were lost") : undefined;
  },
  answer: (said, turn) => {
    const calls = callsOf(said, (index) => `tool_${turn}_${index}`);
    const details = [{ type: "reasoning.text", text: "I think hard.", index: 0, format: "plain" }];
    const { message, reason } = plain(said, calls, {
      reasoning: "I think hard.",
      reasoning_details: details,
    });
    return said.refusal === undefined
      ? { message, reason }
      : { message: { role: "assistant", content: "", refusal: said.refusal }, reason: "content_filter" };
  },
  deltas: (whole) => {
    const message = Object.fromEntries(Object.entries(whole).filter(([key]) => key !== "reasoning_details"));
    const detail = (text: string) => ({
      reasoning_details: [{ type: "reasoning.text", text, index: 0, format: "plain" }],
    });
    return [detail("I think"), detail(" hard."), message];
  },
  usage: "always",
  comment: ": OPENROUTER PROCESSING\n\n",
};

export const PROVIDERS = {
  deepseek,
  gemini,
  ollama,
  mistral,
  openai,
  azure,
  "llama.cpp": local({ reasoning_content: "Hm." }, { usage: "asked" }),
  vllm: local({ reasoning: "Hm.", reasoning_content: "Hm." }, { usage: "asked" }),
  groq,
  openrouter,
  "lm-studio": {
    ...local({}, { usage: "never" }),
    answer: (said: Said, turn: number) => {
      const text = said.text ?? said.refusal;
      const calls = callsOf(said, (index) => `${turn}${index}`);
      return plain(
        said,
        calls,
        text === undefined ? {} : { content: `<think>\nShall I?\n</think>\n\n${text}` },
      );
    },
  },
} as const satisfies Readonly<Record<string, Provider>>;
