import { describe, expect, test } from "vitest";
import { errorInAnswer, refusedByProvider } from "../../src/model/model-error.js";

const refusal = (status: number, body: unknown) => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return refusedByProvider({ status, headers: new Headers(), body: text }, new Date());
};
const said = (message: string, code: unknown = null) => ({
  error: { message, type: "invalid_request_error", param: "messages", code },
});

describe("a refusal because the request is longer than the context is known, with the length it names", () => {
  test.each([
    [
      "OpenAI",
      400,
      said(
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages.",
        "context_length_exceeded",
      ),
      128_000,
    ],
    [
      "OpenAI, newer",
      400,
      said(
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
      ),
      272_000,
    ],
    [
      "OpenAI, without a number",
      400,
      said("Your input exceeds the context window of this model."),
      undefined,
    ],
    [
      "z.ai",
      400,
      { error: { code: "1210", message: "tokens in request more than max tokens allowed" } },
      undefined,
    ],
    [
      "LM Studio, newer",
      400,
      {
        error:
          "Trying to keep the first 4646 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
      },
      4_096,
    ],
    [
      "TGI and Together",
      422,
      {
        error:
          "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 0 `max_new_tokens`",
        error_type: "validation",
      },
      8_193,
    ],
    ["TGI", 422, { error: "`inputs` must have less than 4095 tokens. Given: 5000" }, 4_095],
    [
      "Cohere",
      400,
      {
        message: "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.",
      },
      4_081,
    ],
    ["Zhipu", 400, { error: { code: "1261", message: "Prompt 超长" } }, undefined],
    [
      "llama.cpp",
      400,
      {
        error: {
          code: 400,
          message:
            "request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it",
          type: "exceed_context_size_error",
          n_prompt_tokens: 9412,
          n_ctx: 8192,
        },
      },
      8_192,
    ],
    [
      "llama.cpp, by code",
      400,
      { error: { code: 400, message: "no", type: "exceed_context_size_error", n_ctx: 4096 } },
      4_096,
    ],
    ["llama-cpp-python", 500, said("Requested tokens (5153) exceed context window of 4096"), 4_096],
    [
      "vLLM",
      400,
      {
        object: "error",
        message:
          "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
        type: "BadRequestError",
        param: null,
        code: 400,
      },
      16_384,
    ],
    [
      "vLLM, of a long answer",
      400,
      said(
        "'max_tokens' or 'max_completion_tokens' is too large: 30000. This model's maximum context length is 8192 tokens and your request has 1000 input tokens (30000 > 8192 - 1000).",
      ),
      8_192,
    ],
    [
      "DeepSeek",
      400,
      said(
        "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (66000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.",
        "invalid_request_error",
      ),
      65_536,
    ],
    [
      "Mistral",
      400,
      {
        object: "error",
        message:
          "Prompt contains 300000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
        code: "3051",
      },
      131_072,
    ],
    [
      "Gemini, as a list",
      400,
      [
        {
          error: {
            code: 400,
            message:
              "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
            status: "INVALID_ARGUMENT",
          },
        },
      ],
      1_048_575,
    ],
    [
      "Gemini, in other words",
      400,
      said(
        "Unable to submit request because the input token count is 32825 but model only supports up to 32768.",
      ),
      32_768,
    ],
    [
      "Groq",
      400,
      said("Please reduce the length of the messages or completion.", "context_length_exceeded"),
      undefined,
    ],
    [
      "OpenRouter",
      400,
      said(
        "This endpoint's maximum context length is 163,840 tokens. However, you requested about 200000 tokens (190000 of text input, 10000 of tool input).",
      ),
      163_840,
    ],
    [
      "OpenRouter, passed on",
      400,
      {
        error: {
          message: "Provider returned error",
          code: 400,
          metadata: { raw: "Input length 131393 exceeds the maximum allowed input length of 131040 tokens." },
        },
      },
      131_040,
    ],
    ["Anthropic's wording", 400, said("prompt is too long: 209353 tokens > 199999 maximum"), 199_999],
    [
      "the same with the answer",
      400,
      said(
        "input length and `max_tokens` exceed context limit: 170636 + 34048 > 200000, decrease input length",
      ),
      200_000,
    ],
    [
      "LM Studio",
      400,
      {
        error:
          "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 9000, n_ctx: 4096).",
      },
      4_096,
    ],
    ["Ollama", 400, { error: "prompt too long; exceeded max context length by 4096 tokens" }, undefined],
    [
      "Kimi",
      400,
      said("Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)"),
      262_144,
    ],
    [
      "xAI",
      400,
      said("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
      131_072,
    ],
    [
      "Together",
      422,
      said("The input (516368 tokens) is longer than the model's context length (262144 tokens)."),
      262_144,
    ],
    ["DashScope", 400, said("Range of input length should be [1, 129024]"), 129_024],
    [
      "GitHub Models",
      413,
      said("Request body too large for gpt-4.1 model. Max size: 8000 tokens.", "tokens_limit_reached"),
      8_000,
    ],
    [
      "Bedrock",
      400,
      { message: "Too many input tokens. Max input tokens: 131072, request input token count: 150000" },
      131_072,
    ],
    [
      "SGLang, of the input",
      400,
      said("Input length (36000 tokens) exceeds the maximum allowed length (32762 tokens)."),
      32_762,
    ],
    ["Volcengine", 400, said("Input length 200000 exceeds the maximum length 131072."), 131_072],
    [
      "SGLang, whose prefill is on another machine",
      400,
      said("Request 3f2a9c exceeds the maximum number of tokens: 33000 > 32000"),
      32_000,
    ],
    ["TabbyAPI", 400, said("Prompt length 9000 is greater than max_seq_len 8192"), 8_192],
    [
      "SiliconFlow",
      400,
      { code: 20015, message: "length of prompt_tokens (40000) must be less than max_seq_len (32768)." },
      32_768,
    ],
    [
      "TGI behind a router",
      400,
      said(
        "Input validation error: inputs tokens + max_new_tokens must be <= 32769. Given: 40000 inputs tokens",
      ),
      32_769,
    ],
    [
      "SambaNova",
      400,
      said(
        "The provided prompt is 9000 tokens long, but the maximum supported sequence length is just 8192!",
      ),
      8_192,
    ],
    ["KoboldCpp", 500, { detail: { msg: "context overflow" } }, undefined],
    ["Anthropic, of bytes", 413, said("Request exceeds the maximum size"), undefined],
    ["Moonshot, of bytes", 400, said("total message size 10176584 exceeds limit 2097152"), undefined],
    ["a gateway, of bytes", 413, said("request body exceeds the configured payload limit"), undefined],
    ["a gateway's status", 413, said("Payload size 3145728 exceeds the limit of 2097152"), undefined],
    ["MiniMax", 400, said("invalid params, context window exceeds limit"), undefined],
    ["vLLM, older", 400, said("max_tokens must be at least 1, got -186."), undefined],
    [
      "TensorRT-LLM",
      400,
      said(
        "default_max_tokens (-5000) should be greater than 0, default_max_tokens (-5000) = max_seq_len (8192) - prompt_len (13192)",
      ),
      8_192,
    ],
    [
      "Cloudflare",
      400,
      {
        errors: [
          {
            code: 5021,
            message:
              "AiError: The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (7968).",
          },
        ],
      },
      7_968,
    ],
    [
      "Cohere, newer",
      400,
      {
        message:
          "too many tokens: size limit exceeded by 19296 tokens. Try using shorter or fewer inputs. The limit for this model is 132000 tokens.",
      },
      132_000,
    ],
    [
      "Cerebras",
      400,
      said(
        "Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000",
      ),
      40_000,
    ],
    ["Baidu", 400, { error: { code: "invalid_argument", message: "Prompt tokens too long" } }, undefined],
    ["StepFun", 400, said("total message tokens length too long, should be less than 8192"), undefined],
    ["a gateway", 400, said("The message you submitted was too long."), undefined],
    ["a server in China", 400, said("请求的上下文长度超过模型最大限制 8192"), 8_192],
    [
      "OpenAI, of a request that alone has more than a minute",
      429,
      said(
        "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 38000. The input or output tokens must be reduced in order to run successfully.",
        "rate_limit_exceeded",
      ),
      30_000,
    ],
    [
      "Groq, likewise",
      413,
      said(
        "Request too large for model `x` in organization `o` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 7033, please reduce your message size and try again.",
        "rate_limit_exceeded",
      ),
      6_000,
    ],
    [
      "Anthropic, of a plan",
      429,
      {
        type: "error",
        error: { type: "rate_limit_error", message: "Extra usage is required for long context requests." },
      },
      200_000,
    ],
    [
      "TensorRT-LLM, of a batch",
      400,
      said("The sum of prompt length (9351.0), query length (0) should not exceed max_num_tokens (8192)"),
      8_192,
    ],
    ["Cerebras, and proxies that say nothing more", 413, "", undefined],
    [
      "Anthropic, of bytes, as its pages have it",
      413,
      said("Request exceeds the maximum allowed number of bytes."),
      undefined,
    ],
    [
      "a server in Rust, of bytes",
      413,
      "Failed to buffer the request body: length limit exceeded",
      undefined,
    ],
    ["Kong, of bytes", 413, { message: "Request size limit exceeded" }, undefined],
    [
      "a proxy that takes no such body",
      413,
      "<html><head><title>413 Request Entity Too Large</title></head></html>",
      undefined,
    ],
    ...[
      "The sequence has 9000 tokens; maximum tokens is 8192. Please reduce the length of the sequence.",
      "Requested 9000 tokens (8000 in your request, 1000 max_tokens), which exceeds the model limit of 8192.",
      "8000 tokens + 1000 max_new_tokens exceeds the model limit of 8192",
      "`inputs` tokens and max_tokens exceed 8192: it exceeds the model limit of 8192",
    ].map((words): [string, number, unknown, number | undefined] => [words, 400, said(words), 8_192]),
    ["Perplexity", 400, said("Total input length exceeds 127072 tokens"), 127_072],
    ["LMDeploy", 400, { message: "The input length 9000 exceeds session_len 8192" }, undefined],
    ["a maximum of tokens", 422, said("Input exceeds the maximum number of tokens allowed"), undefined],
    ["a maximum context", 400, said("The request exceeds the model's maximum context of 8192"), undefined],
    ["a code of the prompt alone", 400, said("no", "prompt_too_long"), undefined],
    ["a code alone", 400, said("max_tokens 9000 exceeds what is left", "context_length_exceeded"), undefined],
    [
      "SambaNova, with the model's name",
      400,
      said(
        "The maximum context length of DeepSeek-V3-0324 is 32768. However, answering your request will take 39732 tokens. Please reduce the length of the messages or the specified max_completion_tokens value.",
      ),
      32_768,
    ],
    [
      "MLC",
      400,
      {
        object: "error",
        message: "Request prompt has 2354 tokens in total, larger than the model input length limit 2048.",
      },
      2_048,
    ],
    ["llama.cpp amid an answer", 500, said("context shift is disabled"), undefined],
    ["Snowflake", 400, { message: "max tokens of 128000 exceeded" }, 128_000],
    ["both numbers in brackets", 400, said("Prompt exceeds context length (5000 > 4096)"), 4_096],
    [
      "a bound that it may reach",
      422,
      { message: "the prompt length (9000) should be less than or equal to the model's max length (8192)" },
      8_192,
    ],
  ])("%s", (_, status, body, contextTokens) => {
    expect(refusal(status, body)).toMatchObject({
      code: "LLM_CONTEXT_EXCEEDED",
      retryable: false,
      contextTokens,
    });
  });

  test("in an answer of status 200", () => {
    const error = said("This model's maximum context length is 8192 tokens.").error;
    expect(errorInAnswer({ error })).toMatchObject({ code: "LLM_CONTEXT_EXCEEDED", contextTokens: 8_192 });
  });
});

describe("a refusal of a length in words that nobody here knows is taken for one, of this conversation alone", () => {
  test.each([
    "Exceeded maximum allowed input tokens 131072, got 140000",
    "Prompt exceeds max context",
    "Prompt has 9000 tokens, but the model only supports 8192",
    "input_tokens (9000) + max_tokens (1000) > 8192",
    "sequence length 9000 exceeds max 8192",
    "This model supports at most 8192 input tokens, got 9000",
    "max_seq_len exceeded: 9000 > 8192",
    "Model context limit reached",
    "Message history is too long",
    "Payload exceeds the model's token limit",
    "The request was too big: 9000 tokens requested, 8192 available",
    "the prompt is too big for the context",
    "KV cache is full",
    "Malformed input request: expected maxLength: 100000, actual: 140000, please reformat your input and try again.",
    "Превышен максимальный размер контекста",
    "コンテキスト長を超えています",
  ])("%s", (message) => {
    const expected = { code: "LLM_CONTEXT_EXCEEDED", contextTokens: undefined, isGuess: true };
    expect(refusal(400, said(message))).toMatchObject(expected);
    expect(refusal(500, said(message)).retryable).toBe(true); // of a server that has failed
  });

  test.each([
    "context deadline exceeded",
    "Tool name is too long: 65 > 64",
    "Authentication token is too long",
    "Too many tools: 200 > 128",
    "The request's tools are larger than what is taken",
    "monthly token limit exceeded",
    "temperature exceeds 2",
  ])("and not where it is of something else: %s", (message) => {
    expect(refusal(400, said(message)).code).toBe("LLM_HTTP_ERROR");
  });
});

describe("other refusals are no such thing", () => {
  test.each([
    [
      "too many tokens in a minute",
      429,
      said("Rate limit reached: Limit 6000, Requested 7000"),
      "LLM_RATE_LIMITED",
    ],
    [
      "any where a minute allows none",
      413,
      said(
        "Request too large for model `x` on tokens per minute (TPM): Limit 0, Requested 7000",
        "rate_limit_exceeded",
      ),
      "LLM_HTTP_ERROR",
    ],
    [
      "too many, please wait",
      400,
      said("Too many tokens, please wait before trying again."),
      "LLM_HTTP_ERROR",
    ],
    [
      "an answer that is too long",
      400,
      said("max_tokens is too large: 100000. This model supports at most 16384 completion tokens."),
      "LLM_HTTP_ERROR",
    ],
    [
      "an answer beyond what the model gives",
      400,
      said("max_completion_tokens exceeds the maximum output tokens of 8192"),
      "LLM_HTTP_ERROR",
    ],
    [
      "an answer beyond Groq's maximum",
      400,
      said(
        "`max_completion_tokens` must be less than or equal to `32768`, the maximum value for `max_completion_tokens` is less than the `context_window` for this model",
      ),
      "LLM_HTTP_ERROR",
    ],
    [
      "an answer beyond Databricks' maximum",
      400,
      {
        error_code: "BAD_REQUEST",
        message:
          "Bad request: rpc error: code = InvalidArgument desc = max_tokens (10000) cannot exceed 8192. Please reduce the length of max output tokens generated.",
      },
      "LLM_HTTP_ERROR",
    ],
    [
      "an answer beyond Bedrock's maximum",
      400,
      said(
        "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.",
      ),
      "LLM_HTTP_ERROR",
    ],
    ...[
      "Invalid request: max_tokens 200000 exceeds maximum of 131072",
      "The value of max_tokens (8192) exceeds the limit of 4096",
      "The requested number of output tokens 9000 exceeds the limit of 4096",
      "maxOutputTokens exceeds the model limit of 8192",
    ].map((words): [string, number, unknown, string] => [words, 400, said(words), "LLM_HTTP_ERROR"]),
    [
      "a name that is too long",
      400,
      said("string too long. Expected a string with maximum length 64"),
      "LLM_HTTP_ERROR",
    ],
    [
      "an image that is too large",
      400,
      said("messages.0.content.1.image.source: image exceeds the maximum size of 5242880 bytes"),
      "LLM_HTTP_ERROR",
    ],
    ["a name in a message", 400, said("messages[0].name exceeds maximum length of 64"), "LLM_HTTP_ERROR"],
    ["no such model", 404, said("The model's maximum context length is unknown"), "LLM_HTTP_ERROR"],
    ["a server that breaks", 500, said("internal error"), "LLM_HTTP_ERROR"],
    ["too many in a minute, in China", 400, said("tokens 超过每分钟限制"), "LLM_HTTP_ERROR"],
    [
      "words of the request that it repeats",
      422,
      { detail: "Field required", input: "prompt is too long: maximum context length is 5 tokens" },
      "LLM_HTTP_ERROR",
    ],
  ])("%s", (_, status, body, code) => {
    expect(refusal(status, body)).toMatchObject({ code, contextTokens: undefined });
  });

  test("an endless text of digits and spaces is looked at for a bounded time", () => {
    expect(refusal(400, `context length ${"tokens 1 > ".repeat(100_000)}`).code).toBeDefined();
  });
});
