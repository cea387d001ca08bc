import { describe, expect, test, onTestFinished, vi } from "vitest";
import {
  ModelError,
  classifyModelError,
  errorInAnswer,
  refusedByProvider,
} from "../../src/model/model-error.js";
import { readRetryAfter } from "../../src/http/retry-after.js";

const NOW = new Date("2026-03-04T05:06:07.000Z");

function classified(error: unknown, apiKey?: string): ModelError {
  const result = classifyModelError(error, apiKey);
  if (!(result instanceof ModelError)) throw new Error("not a model error");
  return result;
}

const refused = (status: number, body: string, headers: Record<string, string> = {}, apiKey?: string) =>
  refusedByProvider({ status, headers: new Headers(headers), body }, NOW, { apiKey });
const answered = (status: number, message = "why", headers: Record<string, string> = {}, apiKey?: string) =>
  refused(status, JSON.stringify({ error: { message } }), headers, apiKey);

describe("an answer of the provider", () => {
  test.each([
    [400, "LLM_HTTP_ERROR", false],
    [401, "LLM_AUTH_FAILED", false],
    [403, "LLM_AUTH_FAILED", false],
    [404, "LLM_HTTP_ERROR", false],
    [408, "LLM_TIMEOUT", true],
    [409, "LLM_HTTP_ERROR", true],
    [413, "LLM_CONTEXT_EXCEEDED", false],
    [418, "LLM_HTTP_ERROR", false],
    [422, "LLM_HTTP_ERROR", false],
    [425, "LLM_HTTP_ERROR", true],
    [424, "LLM_HTTP_ERROR", true],
    [498, "LLM_HTTP_ERROR", true],
    [499, "LLM_HTTP_ERROR", true],
    [429, "LLM_RATE_LIMITED", true],
    [500, "LLM_HTTP_ERROR", true],
    [501, "LLM_HTTP_ERROR", false],
    [502, "LLM_HTTP_ERROR", true],
    [503, "LLM_HTTP_ERROR", true],
    [504, "LLM_HTTP_ERROR", true],
    [529, "LLM_HTTP_ERROR", true],
  ])("of status %i is %s, worth another try: %s", (status, code, retryable) => {
    const error = answered(status);
    expect([error.code, error.retryable]).toEqual([code, retryable]);
    expect(error.message).toBe(`The model endpoint answered ${status} why`);
  });

  test.each([
    [400, "true", "why", true],
    [429, "false", "why", false],
    [503, "false", "why", false],
    [400, "no", "why", false],
    [
      429,
      "true",
      "You exceeded your current quota, please check your plan and billing details. https://platform.openai.com/docs",
      false,
    ],
  ])(
    "of status %i is tried again where it says so itself, or not: %s %s",
    (status, told, words, retryable) => {
      expect(answered(status, words, { "x-should-retry": told }).retryable).toBe(retryable);
    },
  );

  test("in AWS's form says in its type that it is busy", () => {
    const said = { __type: "com.amazon.coral.service#ThrottlingException", message: "Rate exceeded" };
    expect(refused(400, JSON.stringify(said))).toMatchObject({ code: "LLM_HTTP_ERROR", retryable: true });
    expect(refused(400, '{"__type":"ThrottlingException"}').retryable).toBe(true);
    expect(refused(400, '{"__type":"ValidationException","message":"no"}').retryable).toBe(false);
  });

  test("asks for a wait only where another try is worth it", () => {
    const wait = { "retry-after": "3" };
    expect(answered(429, "", wait).retryAfterMs).toBe(3_000);
    expect(answered(503, "", wait).retryAfterMs).toBe(3_000);
    expect(answered(400, "", wait).retryAfterMs).toBeUndefined();
    expect(answered(429).retryAfterMs).toBeUndefined();
  });

  test.each<[string, string, string]>([
    ["an object", '{"error":{"message":"said","code":7}}', "said"],
    ["a list", '[{"error":{"code":400,"message":"said","status":"INVALID_ARGUMENT"}}]', "said"],
    ["a text", '{"error":"said"}', "said"],
    ["a message alone", '{"object":"error","message":"said"}', "said"],
    ["a detail", '{"detail":"said"}', "said"],
    ["details", '{"detail":[{"msg":"said"}]}', "said"],
    [
      "details with places",
      '{"detail":[{"loc":["body","model"],"msg":"said"},{"loc":["body","n"],"msg":"more"}]}',
      "body.model: said; body.n: more",
    ],
    ["an object in a detail", '{"detail":{"message":"said"}}', "said"],
    [
      "a general sentence with errors by name",
      '{"title":"General.","status":400,"errors":{"messages[1].content":["said","and this"],"n":["more"]},"traceId":"0"}',
      "General: messages[1].content: said; and this; n: more",
    ],
    [
      "a general sentence with a list beside it",
      '{"title":"No","status":422,"detail":"General.","validation":[{"location":["body"],"message":"said"}]}',
      "General: said",
    ],
    [
      "a general sentence with details beside it",
      '{"error":{"code":"Invalid","status":422,"message":"General.","details":[{"type":"t","loc":["body","n"],"msg":"said"}]}}',
      "General: body.n: said",
    ],
    ["a sentence that a list repeats", '{"error":{"message":"said","errors":[{"message":"said"}]}}', "said"],
    ["a list of errors", '{"success":false,"errors":[{"code":1,"message":"said"}]}', "said"],
    ["texts in a list", '{"errors":["said","more"]}', "said; more"],
    ["an object in a message", '{"object":"error","message":{"detail":[{"msg":"said"}]}}', "said"],
    ["an error in an error", '{"error":{"error":{"message":"said"}}}', "said"],
    ["a description", '{"error":"invalid_token","error_description":"said"}', "said"],
    ["a title alone", '{"type":"about:blank","title":"said","status":400}', "said"],
    ["a text in JSON", '"said"', "said"],
    ["an error_msg", '{"error_code":110,"error_msg":"said"}', "said"],
    ["an errorMessage", '{"success":false,"errorMessage":"said"}', "said"],
    ["in capitals", '{"Message":"said"}', "said"],
    ["an object in capitals", '{"Error":{"Code":"x","Message":"said"}}', "said"],
    [
      "what a router passes on",
      '{"error":{"message":"said","code":429,"metadata":{"raw":"behind","provider_name":"P"}}}',
      "said: behind",
    ],
    [
      "an error that a router passes on",
      '{"error":{"message":"said","metadata":{"raw":"{\\"error\\":{\\"message\\":\\"behind\\"}}"}}}',
      "said: behind",
    ],
    ["a plain text", "said", "said"],
    ["JSON that was cut", '{"error":{"message":"sa', '{"error":{"message":"sa'],
    ["nothing", "", "and said nothing"],
  ])("tells its words, where they are %s", (_, body, words) => {
    expect(refused(400, body).message).toBe(`The model endpoint answered 400 ${words}`);
  });
});

describe("what is used up is final, whatever the status", () => {
  test.each([
    [429, "Your account org-x is suspended", { type: "exceeded_current_quota_error" }, false],
    [429, "Insufficient credits. Add more.", {}, true],
    [429, "余额不足或无可用资源包,请充值。", { code: "1113" }, true],
    [429, "litellm.RateLimitError: OpenAIException - code: insufficient_quota", { code: "429" }, true],
    [503, "Your credit balance is too low to access the API.", {}, true],
    [500, "Insufficient Balance", {}, true],
    [
      429,
      "Your team x has either used all available credits or reached its monthly spending limit.",
      { code: "Some resource has been exhausted" },
      true,
    ],
    [
      429,
      "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 38000. The input or output tokens must be reduced in order to run successfully.",
      { code: "rate_limit_exceeded" },
      true,
    ],
    [429, "You are using a Trial key, which is limited to 1000 API calls / month.", {}, true],
    [429, "You have exceeded your monthly included credits for Inference Providers.", {}, true],
    [429, "Budget has been exceeded! Current cost: 10.0, Max budget: 10.0", { code: "400" }, true],
    [429, "ExceededBudget: User x has exceeded their budget", {}, true],
    [429, "ExceededBudget: End User=x over budget. Spend=0.01, Budget=0.001", { code: "429" }, true],
    [429, "Authentication Error, ExceededTokenBudget: Current spend for token: 7.2e-05", {}, true],
    [429, "No deployments available - crossed budget: x: 0.363 >= 0.2", {}, true],
    [429, "litellm.RateLimitError: MoonshotException - Your account org-x <ak-y> is suspended", {}, true],
    [
      429,
      "litellm.RateLimitError: OpenAIException - You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
      { type: "throttling_error", code: "429" },
      true,
    ],
    [429, "Your account is not active, please check your billing details on our website.", {}, true],
    [429, "You exceeded your current token quota: 0, please check your account balance", {}, true],
    [
      429,
      "You exceeded your current quota, please check your plan and billing details. * Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0, model: gemini-x Please retry in 36.5s.",
      {},
      true,
    ],
    [429, "Sorry, you've exceeded your premium request allowance.", { code: "quota_exceeded" }, true],
    [429, "Monthly request limit reached", {}, true],
    [503, "Account acme-1 is suspended, possibly due to reaching the monthly spending limit", {}, true],
    [429, "Free allocated quota exceeded.", { code: "Throttling.AllocationQuota" }, true],
    [429, "Sorry, your account balance is insufficient", {}, true],
    [429, "Your balance is 0, please recharge.", {}, true],
    [429, "Your free credits are exhausted", {}, true],
    [429, "You have no credits remaining", {}, true],
    [429, "You have run out of tokens; please top up", {}, true],
    [
      429,
      "you have used up your daily free allocation of 10,000 neurons, please upgrade to Cloudflare's Workers Paid plan",
      {},
      true,
    ],
    [
      429,
      "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day",
      {},
      true,
    ],
    [429, "免费额度已用完", {}, true],
    [429, "Your GLM Coding Plan package has expired and is temporarily unavailable.", { code: "1309" }, true],
    [429, "Your current subscription plan does not yet include access to GLM-5", { code: "1311" }, true],
    [
      429,
      "Your account [2100] has reached the set inference limit for the [x] model, and the model service has been paused.",
      { code: "SetLimitExceeded" },
      true,
    ],
    [429, "You've reached your weekly usage limit, upgrade for higher limits", {}, true],
    [429, "you (bob) have reached your session usage limit, please wait or upgrade to continue", {}, true],
    [
      429,
      "You have reached your specified API usage limits. You will regain access on 2025-12-01.",
      {},
      true,
    ],
    [429, "Your account [2100] has exhausted its free trial quota for the [x] model", {}, true],
    [429, "用户额度不足, 剩余额度: ¥0.00", { code: "insufficient_user_quota" }, true],
    [429, "余额已用完", {}, true],
    [429, "Your subscription has expired", {}, true],
    [429, "Your free tier has ended. Please upgrade.", {}, true],
    [429, "Free allocated quota exceeded. See https://help.aliyun.com", { code: "insufficient_quota" }, true],
  ])("%i %s", (status, message, more, byWords) => {
    const body = JSON.stringify({ error: { message, ...more } });
    const finalErrors = byWords ? [] : ["exceeded_current_quota_error"];
    const error = refusedByProvider({ status, headers: new Headers(), body }, NOW, { finalErrors });
    expect(error.retryable).toBe(false);
    expect(errorInAnswer(JSON.parse(body) as object, { finalErrors }).retryable).toBe(false);
  });

  test.each([
    "Rate limit reached for requests per minute. Limit: 3 / min.",
    "You have reached your concurrency limit: 1, please try again after 1 seconds",
    "Resource has been exhausted (e.g. check quota).",
    "Too many tokens, please wait before trying again.",
    "The thinking budget exceeded what is free now.",
    "Allocated quota exceeded, please increase your quota limit.",
    "Rate limit exceeded: free-models-per-min.",
    "Over budget of tokens per minute, please wait.",
    "You exceeded your current quota, please check your plan and billing details. * Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 20, model: gemini-x Please retry in 36.5s.",
    "Quota exceeded for metric: a.b/c, limit: 0.5, please retry",
    "The balance is 0.5 requests a second for this key.",
    "You have used up your tokens for this minute, retry in 12 seconds",
    "You have used up all of your per-minute quota.",
    "You have run out of tokens for the current minute.",
  ])("and what passes is not: %s", (message) => {
    expect(refused(429, JSON.stringify({ error: { message } })).retryable).toBe(true);
  });

  test.each([
    "You exceeded your current quota, please check your plan and billing details. For details, see: https://help.aliyun.com/zh/model-studio/error-code#token-limit",
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://www.alibabacloud.com/help/en/model-studio/error-code",
    "Allocated quota exceeded, please increase your quota limit.",
    "Error code: 429 - Throttling.AllocationQuota: Allocated quota exceeded, please increase your quota limit.",
  ])("and Qwen's tokens of a minute are not, whose code is another's of a quota used up: %s", (message) => {
    const code = "insufficient_quota";
    const body = JSON.stringify({ error: { message, type: code, code } });
    const refusing = { finalErrors: [code] };
    const error = refusedByProvider({ status: 429, headers: new Headers(), body }, NOW, refusing);
    expect(error).toMatchObject({ code: "LLM_RATE_LIMITED", retryable: true });
    expect(errorInAnswer(JSON.parse(body) as object, refusing).retryable).toBe(true);
  });

  test("and a quota of a minute is not", () => {
    const message = "You exceeded your current quota, please check your plan and billing details.";
    const body = JSON.stringify([{ error: { code: 429, message, status: "RESOURCE_EXHAUSTED" } }]);
    expect(refused(429, body).retryable).toBe(true);
  });
});

/** What routers make of an error of the provider behind them: JSON in a text, or a field of its own. */
const PASSED_ON: readonly (readonly [string, (error: unknown) => unknown])[] = [
  ["as the message", (error) => ({ error: { message: JSON.stringify({ error }), code: "upstream" } })],
  [
    "behind words",
    (error) => ({
      error: { message: `litellm.BadRequestError: P - ${JSON.stringify({ error })}`, code: "4" },
    }),
  ],
  [
    "in a message of a message",
    (error) => ({
      message: JSON.stringify({ external_model_error: { message: JSON.stringify({ error }) } }),
    }),
  ],
  ["in a field", (error) => ({ error: "Received error from openai", external_model_message: { error } })],
  ["in a field, as it came", (error) => ({ error: "no", external_model_message: JSON.stringify({ error }) })],
  [
    "as what a router could not read",
    (error) => ({
      error: {
        code: "error",
        message: "Stream error occurred",
        name: "AI_TypeValidationError",
        value: { error_type: "validation_error", error_message: JSON.stringify({ error }) },
      },
    }),
  ],
];

test.each(PASSED_ON)("an error that a router passes on counts as what it was: %s", (_, passedOn) => {
  const passed = (status: number, error: object) =>
    refusedByProvider({ status, headers: new Headers(), body: JSON.stringify(passedOn(error)) }, NOW, {
      finalErrors: ["over"],
    });
  expect(passed(400, { message: "Failed to call a function.", code: "tool_use_failed" })).toMatchObject({
    code: "LLM_BAD_RESPONSE",
    retryable: true,
  });
  expect(passed(429, { message: "no", code: "over" }).retryable).toBe(false);
  expect(passed(429, { message: "slow", details: [{ retryDelay: "34s" }] }).retryAfterMs).toBe(34_000);
  const long = passed(400, { message: "This model's maximum context length is 8192 tokens." });
  expect(long).toMatchObject({ code: "LLM_CONTEXT_EXCEEDED", contextTokens: 8_192 });
  expect(long.message).toContain("This model's maximum context length is 8192 tokens.");
});

test("an error that is nothing but one passed on is said in its words, not as JSON", () => {
  const inner = JSON.stringify({ message: "text content blocks must be non-empty" });
  expect(refused(400, JSON.stringify({ error_code: "BAD_REQUEST", message: inner })).message).toBe(
    "The model endpoint answered 400 text content blocks must be non-empty",
  );
});

test.each([
  ["`text` is not present", "Param Incorrect: `text` is not present"],
  ["messages.[1].content", "Param Incorrect"],
  [null, "Param Incorrect"],
])("what stands where the name of a parameter is to be is said too where it says more: %j", (param, said) => {
  const error = { code: "400", message: "Param Incorrect", param, type: "" };
  expect(refused(400, `data:${JSON.stringify({ error })}`).message).toBe(
    `The model endpoint answered 400 ${said}`,
  );
});

test("JSON that a server quotes, as a call's arguments, is no error that was passed on", () => {
  const quoted = (message: string) => refused(500, JSON.stringify({ error: { message } }));
  const call = quoted('{"type":"content_filter"} is not valid under the schema');
  expect(call.message).toContain("is not valid under the schema");
  expect(call.retryable).toBe(true);
  expect(quoted('{"message":"a text"} cannot be parsed').message).toContain("cannot be parsed");
});

test.each([
  '[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]',
  '{"error":{"message":"no","details":[{"reason":"API_KEY_INVALID"}]}}',
  '{"code":"InvalidApiKey","message":"Invalid API-key provided."}',
  // LiteLLM's, of any key but its master's where it has no database of others.
  '{"error":{"message":"No connected db.","type":"no_db_connection","param":null,"code":"400"}}',
  '{"error":{"message":"Authentication Error - Expired Key. Key Expiry time 2026-01-01","type":"expired_key","code":"400"}}',
])("a wrong key is one under 400 too: %s", (body) => {
  expect(refused(400, body)).toMatchObject({ code: "LLM_AUTH_FAILED", retryable: false });
});

test.each(["tool_use_failed", "output_parse_failed"])(
  "a model's call that its server could not read is no answer, and worth another try: %s",
  (code) => {
    const message = "Failed to call a function. See 'failed_generation' for more details.";
    const body = {
      error: { message, type: "invalid_request_error", code, failed_generation: "<function=x>" },
    };
    const error = refused(400, JSON.stringify(body));
    expect(error).toMatchObject({ code: "LLM_BAD_RESPONSE", retryable: true });
    expect(error.message).toContain("answered 400 Failed to call a function.");
  },
);

test.each([
  [
    400,
    "Failed to generate tool_calls. Exception: Failed to generate tool call. Tool is not present in the tools list.",
  ],
  [500, 'error parsing tool call: raw=\'{"path": "a\', err=unexpected end of JSON input'],
  [
    400,
    "litellm.BadRequestError: Error code: 400 - {'error': {'message': 'Failed to call a function.', 'code': 'tool_use_failed'}}",
  ],
  [400, 'unexpected tokens remaining in message header: Some("to=functions.fs_read")'],
  [500, "Could not parse header: too many tokens remaining after extracting content-type and recipient"],
  [400, "Unexpected token 200002 while expecting start token 200006"],
  [
    400,
    "Error: Model response did not respect the required format. Please consider retrying or using a more straightforward prompt.",
  ],
  [400, "Model produced invalid sequence as part of ToolUse. Please refer to the model tool use guide."],
  [422, "No valid tool call or response generated"],
  [422, 'Tool error: Failed to parse generated text: EOF while parsing a value at line 1 column 33 "{"'],
  [400, "Failed to parse fc related info to json format!"],
  [500, 'llama-server returned invalid tool call arguments for "fs_read": unexpected end of JSON input'],
  [
    500,
    "Failed to parse input at pos 395: <tool_call>\n<function=write>\n<parameter=arguments>invalid JSON schema",
  ],
  [500, "The model produced output that does not match the expected peg-native format"],
  [500, "failed to parse XML: XML syntax error on line 1: element <tool_call> closed by </arg_value>"],
  [500, "expected element type <function> but have <parameter>"],
])("so is one that is told by words alone: %i %s", (status, message) => {
  expect(answered(status, message)).toMatchObject({ code: "LLM_BAD_RESPONSE", retryable: true });
});

test.each<[object, string, boolean]>([
  [{ error: { type: "authentication_error", message: "m" } }, "LLM_AUTH_FAILED", false],
  [{ error: { type: "permission_error", message: "m" } }, "LLM_AUTH_FAILED", false],
  [{ error: { code: "model_not_found", message: "m" } }, "LLM_HTTP_ERROR", false],
  [{ error: { type: "rate_limit_error", message: "m" } }, "LLM_RATE_LIMITED", true],
  [{ error: { code: "rate_limit_exceeded", message: "m" } }, "LLM_RATE_LIMITED", true],
  [{ error: { type: "overloaded_error", message: "m" } }, "LLM_HTTP_ERROR", true],
  [{ error: { http_code: "401", message: "m" } }, "LLM_AUTH_FAILED", false],
  [{ statusCode: 401, message: "m" }, "LLM_AUTH_FAILED", false],
  [{ error: { http_status_code: 422, message: "m" } }, "LLM_HTTP_ERROR", false],
  [{ errors: [{ code: "authentication_error", message: "m" }], trace: "t" }, "LLM_AUTH_FAILED", false],
  [{ error: { status_code: 529, message: "m" } }, "LLM_HTTP_ERROR", true],
  [{ base_resp: { status_code: 1004, status_msg: "login fail: carry the key" } }, "LLM_AUTH_FAILED", false],
  [{ base_resp: { status_code: 1002, status_msg: "rate limit exceeded(RPM)" } }, "LLM_RATE_LIMITED", true],
  [{ error: "Unexpected endpoint or method. (POST /chat/completions)" }, "LLM_HTTP_ERROR", false],
  [{ error: { type: "invalid_request_error", message: "m" } }, "LLM_BAD_RESPONSE", true],
  [{ error: { message: "400: An error occurred (ValidationException)" } }, "LLM_HTTP_ERROR", false],
  [{ error: { message: "429: An error occurred (ThrottlingException)" } }, "LLM_RATE_LIMITED", true],
  [{ error: { message: "400 tokens are too few" } }, "LLM_BAD_RESPONSE", true],
  [
    { error: { message: "Request failed during generation: x", http_status_code: 422 } },
    "LLM_HTTP_ERROR",
    true,
  ],
  [{ error: { message: "Incomplete generation stream", http_status_code: 422 } }, "LLM_HTTP_ERROR", true],
  [{ error: { message: "Template error: x", http_status_code: 422 } }, "LLM_HTTP_ERROR", false],
])("an error in an answer is of the status that it names in words: %j", (error, code, retryable) => {
  expect(errorInAnswer(error)).toMatchObject({ code, retryable });
});

test.each<[number, unknown]>([
  [403, { error: { code: 403, message: "x requires moderation. Your input was flagged", metadata: {} } }],
  [400, { error: { message: "Content Exists Risk", type: "invalid_request_error" } }],
  [400, { code: "DataInspectionFailed", message: "no" }],
  [400, { error: { code: "data_inspection_failed", message: "no" } }],
  [400, { error: { code: "sensitive_words_detected", message: "no" } }],
  [400, { error: { message: "litellm.ContentPolicyViolationError: AzureException" } }],
  [403, { code: "x", error: "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO" }],
  [
    451,
    {
      error: {
        message: "The content you provided or machine outputted is blocked.",
        type: "censorship_blocked",
      },
    },
  ],
  [400, { error: { code: "InputTextSensitiveContentDetected", message: "no" } }],
  [400, { error: { code: "SensitiveContentDetected.SevereViolation", message: "no" } }],
  [400, { error: { message: "Violated guardrail policy" } }],
  [400, { error: { message: "{'error': 'Violated OpenAI moderation policy', 'moderation_result': {}}" } }],
  [400, { error: { message: "Content blocked: keyword 'x' detected", param: null, code: "400" } }],
  [403, { error: { message: "{'error': 'Content blocked: us_ssn pattern detected'}", code: "403" } }],
  [400, { error: { message: "{'error': 'Rejected message. This is a prompt injection attack.'}" } }],
  [
    400,
    {
      error: {
        message: "This message was blocked by Ovalix",
        code: "400",
        provider_specific_fields: { guardrail_name: "ovalix", guardrail_mode: "pre_call" },
      },
    },
  ],
  [400, { error: { message: "The request was rejected because it was considered high risk" } }],
  [500, { error: { message: "no", code: "content_filter" } }],
  [
    400,
    { error: { code: "1301", message: "System detected potentially unsafe or sensitive content in input" } },
  ],
  [400, { error: { message: "Output blocked by content filtering policy" } }],
  [403, { error: { message: "The request is prohibited due to a violation of provider Terms Of Service." } }],
  [400, { error: { message: "Blocked by Model Armor Floor Setting: The prompt violated X filters." } }],
  [400, { error: { code: "moderation_blocked", message: "no" } }],
  [400, { error: { message: "Your request was rejected by the safety system." } }],
  [
    446,
    {
      error: { message: "The guardrail checks defined in the config failed.", type: "hooks_failed" },
      hook_results: { before_request_hooks: [] },
    },
  ],
  [400, { error: { code: "1301", message: "系统检测到输入或生成内容可能包含不安全或敏感内容" } }],
  [
    400,
    {
      error: {
        message:
          "The prompt could not be submitted. This prompt contains sensitive words that violate Google's Responsible AI practices.",
      },
    },
  ],
  [400, { error: { message: "The prompt is blocked due to: PROHIBITED_CONTENT" } }],
  [
    400,
    {
      error: {
        code: "invalid_prompt",
        message: "Invalid prompt: we've limited access to this content for safety reasons.",
      },
    },
  ],
  [400, { error: { message: "Content policy violation" } }],
  [400, { error: { message: "Request blocked by PII", code: "guardrail_blocked" } }],
  ...[
    "Input blocked by content safety",
    "内容违规，请修改后重试",
    "输入内容涉及敏感信息",
    "The content you submitted was flagged by our moderation system",
    "Safety filter triggered",
    "The input text may contain sensitive information",
    "Content flagged as unsafe",
    "Request denied by guardrails",
  ].map((message): [number, unknown] => [400, { error: { message } }]),
  [400, { error_code: "BAD_REQUEST", message: '{"finishReason": "input_guardrail_triggered"}' }],
  [400, { error: { code: "2003", message: "内容审核不通过" } }],
  [400, { error: { message: "400 - Input Filter: Content filtered due to safety violations." } }],
  [400, { code: "400", message: "Inappropriate content detected!!!" }],
  // What gateways have found in a request, under the status of a wrong key: OpenRouter, Azure API Management, agentgateway.
  [403, { error: { code: 403, message: "Request blocked: prompt injection patterns detected" } }],
  [403, { error: { code: 403, message: "Request blocked: E-Mail detected in input." } }],
  [400, { error: { message: "Rejected message. This is a prompt injection attack." } }],
  [403, { statusCode: 403, message: "Request failed content safety check." }],
  [403, { message: "The request was rejected due to inappropriate content" }],
  [
    400,
    {
      error: {
        code: "PROMPT_THREAT_DETECTED",
        message: "Prompt threat detected. Your request cannot be processed.",
      },
    },
  ],
  [400, { message: "Request contains prohibited content" }],
  [400, { detail: "Guardrail 'no-secrets' blocked: the content must not name a password" }], // MLflow's
])("a filter is one, whatever its status and form: %i %j", (status, body) => {
  expect(refused(status, JSON.stringify(body))).toMatchObject({
    code: "LLM_CONTENT_FILTERED",
    retryable: false,
  });
});

test.each([
  [500, 'Failed to parse tool call arguments as JSON: {"path": "review.md", "content": "Prompt injection is'],
  [
    400,
    "1 validation error: input_value=[{'role': 'user', 'content': 'Look for prompt injection attempts.'}]",
  ],
  [415, "Request rejected due to content type: application/json is expected"],
])("words that filters have as well are no filter's: %i %s", (status, message) => {
  expect(refused(status, JSON.stringify({ error: { message } })).code).toBe("LLM_HTTP_ERROR");
});

test("words of an error in an answer that end with a period have one behind them", () => {
  const { message } = errorInAnswer({ message: "The server had an error. Sorry about that." });
  expect(message).toMatch(/it says The server had an error\. Sorry about that\.$/);
});

test.each([
  { base_resp: { status_code: 1026, status_msg: "input new_sensitive" } },
  // Portkey's, of a prompt that Gemini has blocked.
  {
    error: {
      message:
        'Invalid response received from google: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}',
    },
  },
  { error: { message: "Guardrail 'no-secrets' blocked: It names a password", type: "GuardrailViolation" } },
])("a filter's error in an answer is not asked for again: %j", (said) => {
  expect(errorInAnswer(said)).toMatchObject({ code: "LLM_CONTENT_FILTERED", retryable: false });
});

test.each([
  [400, "Function id 'x': DEGRADED function cannot be invoked"],
  [400, "Too many requests, please wait before trying again."],
  [404, "The model is currently overloaded, try another time."],
  [422, "Model x is temporarily unavailable"],
  [400, "(ModelNotReadyException) when calling the Converse operation: Model is not ready for inference."],
  [400, "The model has crashed without additional information. (Exit code: null)"],
  [400, "Model unloaded."],
  [400, "No models provided"],
  [400, "Our servers are currently overloaded. Please try again later."],
  [400, "Selected model is at capacity. Please try a different model."],
  [400, "The system is currently experiencing high demand and cannot process your request."],
  [400, "Upstream error, please try again later."],
  [400, "请求限频，请稍后重试"],
])("a server that is busy is worth another try under a status of wrong requests: %i %s", (status, detail) => {
  expect(refused(status, JSON.stringify({ status, title: "No", detail }))).toMatchObject({
    code: "LLM_HTTP_ERROR",
    retryable: true,
  });
});

test.each([
  [404, "The model x is currently unavailable in your region."],
  [400, "This model is unavailable for your plan."],
])("a model that is not for this user is not asked again: %i %s", (status, message) => {
  expect(refused(status, JSON.stringify({ error: { message } }))).toMatchObject({
    code: "LLM_HTTP_ERROR",
    retryable: false,
  });
});

test("credits that are used up are nothing of the key, whatever the status", () => {
  const error = "Your newly created team doesn't have any credits yet. You can purchase some on its page.";
  const body = JSON.stringify({ code: "The caller does not have permission", error });
  expect(refused(403, body)).toMatchObject({ code: "LLM_HTTP_ERROR", retryable: false });
});

test.each([
  { statusCode: 403, message: "Token quota is exceeded. Try again in 5 days." },
  { statusCode: 403, message: "Out of call volume quota. Quota will be replenished in 22.14:18:12." },
  { errors: [{ code: "token_quota_reached", message: "No more for this plan." }], status_code: 403 },
  { error: { message: "user quota is not enough (request id: 1)", code: "insufficient_user_quota" } },
  { error: { message: "token quota is not enough, token remain quota: 1, need quota: 5" } },
  { error: { message: "预扣费额度失败, 用户剩余额度: 1, 需要预扣费额度: 5" } },
])("nor is a quota that Azure API Management, watsonx or a gateway names: %j", (body) => {
  expect(refused(403, JSON.stringify(body))).toMatchObject({ code: "LLM_HTTP_ERROR", retryable: false });
});

test.each([
  [403, { error: { message: "Key limit exceeded (daily limit). Manage it in your settings", code: 403 } }],
  [403, [{ error: { code: 403, message: "This API method requires billing to be enabled.", status: "x" } }]],
  [401, { error: { message: "You exceeded your current quota.", type: "insufficient_quota", code: 401 } }],
  [401, { error: { message: "Unauthorized: API key suspended because of insufficient credit." } }],
])("nor is what OpenRouter, Google, Perplexity and Upstage say of it: %i %j", (status, body) => {
  expect(refused(status, JSON.stringify(body))).toMatchObject({ code: "LLM_HTTP_ERROR", retryable: false });
});

test.each([
  [403, { error: { code: "403", message: "Access denied due to Virtual Network/Firewall rules." } }],
  [403, { error: { code: "403", message: "Public access is disabled. Please configure private endpoint." } }],
  [
    403,
    { error: { code: "unsupported_country_region_territory", message: "No.", type: "request_forbidden" } },
  ],
  [401, { error: { code: "ip_not_authorized", message: "You may not do this from there." } }],
  [403, { error: { message: "Access forbidden: IP address not allowed.", code: "403" } }],
  [403, { error_code: "403", message: "Source IP address: 192.0.2.1 is blocked by Databricks IP ACL" }],
])("nor that nobody is let in from where a run is: %i %j", (status, body) => {
  expect(refused(status, JSON.stringify(body))).toMatchObject({ code: "LLM_HTTP_ERROR", retryable: false });
});

test("and a key that may not do this is one, whatever quota it has", () => {
  const message = "The caller has no permission to set the quota project.";
  expect(refused(403, JSON.stringify({ error: { message } })).code).toBe("LLM_AUTH_FAILED");
});

test.each<[number, string, string, string]>([
  [403, "<!DOCTYPE html><title>Just a moment...</title>", "LLM_HTTP_ERROR", "answered 403 Just a moment..."],
  [401, "<html><head><title>Authorization Required</title></head></html>", "LLM_AUTH_FAILED", "answered 401"],
])("a page of status %i is a proxy's, or asks for a key: %s", (status, body, code, words) => {
  const error = refused(status, body);
  expect(error).toMatchObject({ code, retryable: false });
  expect(error.message).toContain(words);
});

test("a server that has to be started with another option is not asked again", () => {
  expect(answered(500, "tools param requires --jinja flag").retryable).toBe(false);
  expect(answered(500, "it requires a restart -- please wait").retryable).toBe(true);
});

test("words that begin with their status, as the titles of proxies' pages do, say that once", () => {
  const page = "<html><head><title>502 Bad Gateway</title></head></html>";
  expect(refused(502, page).message).toBe("The model endpoint answered 502 Bad Gateway");
  const passedOn = JSON.stringify({ error: { message: page, type: "server_error" } });
  expect(refused(502, passedOn).message).toBe("The model endpoint answered 502 Bad Gateway");
  expect(refused(500, page).message).toBe("The model endpoint answered 500 502 Bad Gateway");
  expect(errorInAnswer({ error: { message: "429: slow" } }).message).toBe(
    "The model endpoint answered 429 slow",
  );
  // Go's, of any path that a server does not have.
  expect(refused(404, "404 page not found\n").message).toBe("The model endpoint answered 404 page not found");
  expect(refused(429, "429 tokens are too many").message).toBe(
    "The model endpoint answered 429 429 tokens are too many",
  );
});

test("a proxy that asks who is there is not quoted: it may say the password that it was told", () => {
  expect(refused(407, "wrong password s3cret for bob").message).toBe(
    "The model endpoint answered 407 Proxy Authentication Required: a proxy wants a user and a password",
  );
});

test.each([
  [400, "", true],
  [400, '{"error":"Error from inference backend: 400 status code (no body)"}', true],
  [400, '{"error":{"message":"litellm.BadRequestError: CerebrasException - Error code: 400"}}', true],
  [
    400,
    '{"error":{"message":"litellm.BadRequestError: X_Exception - \\n\\nLiteLLM: model group \'m\' failed"}}',
    true,
  ],
  [400, `{"error":{"message":"litellm.BadRequestError: X - Error code: 400 - {'detail': 'No.'}"}}`, false],
  [400, '{"error":{"message":"No."}}', false],
  [422, "", false],
  [500, "", false],
])("a refusal without words may be for the request's length, under 400: %i %j", (status, body, isGuess) => {
  expect(refused(status, body)).toMatchObject({ code: "LLM_HTTP_ERROR", isGuess });
});

test("an error in the form of a stream's event is read as one without", () => {
  const body =
    'event: error\ndata: {"error":{"message":"said","code":"billing_not_active"}}\n\ndata: [DONE]\n\n';
  const error = refusedByProvider({ status: 429, headers: new Headers(), body }, NOW, {
    finalErrors: ["billing_not_active"],
  });
  expect(error).toMatchObject({ message: "The model endpoint answered 429 said", retryable: false });
});

const failure = (code: string) => Object.assign(new Error("the system's words"), { code });
const fetchFailed = (cause: Error) => new TypeError("fetch failed", { cause });

describe("everything else", () => {
  test.each<[string, unknown, string]>([
    [
      "no connection",
      new TypeError("fetch failed", {
        cause: Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" }),
      }),
      "LLM_HTTP_ERROR",
    ],
    [
      "no connection to any address",
      fetchFailed(new AggregateError([failure("ETIMEDOUT")])),
      "LLM_HTTP_ERROR",
    ],
    [
      "a certificate that nobody has signed",
      fetchFailed(failure("SELF_SIGNED_CERT_IN_CHAIN")),
      "LLM_HTTP_ERROR",
    ],
    ["a connection that speaks no HTTP", fetchFailed(failure("HPE_INVALID_CONSTANT")), "LLM_HTTP_ERROR"],
    ["headers without end", fetchFailed(failure("UND_ERR_HEADERS_OVERFLOW")), "LLM_BAD_RESPONSE"],
    [
      "a connection that breaks",
      new TypeError("terminated", {
        cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }),
      }),
      "LLM_HTTP_ERROR",
    ],
    [
      "a connection that is reset",
      new TypeError("terminated", {
        cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }),
      }),
      "LLM_HTTP_ERROR",
    ],
    ["a bug of ours", new TypeError("x is not a function"), "LLM_BAD_RESPONSE"],
    ["JSON that cannot be parsed", new SyntaxError("Unexpected token"), "LLM_BAD_RESPONSE"],
    ["an error in a stream", errorInAnswer({ error: { message: "overloaded" } }), "LLM_BAD_RESPONSE"],
    ["no error at all", "text", "LLM_BAD_RESPONSE"],
    ["nothing", undefined, "LLM_BAD_RESPONSE"],
  ])("%s is worth another try", (_, thrown, code) => {
    expect(classified(thrown)).toMatchObject({ code, retryable: true });
  });

  test.each([
    ["ERR_PROXY_TUNNEL", "the environment's proxy lets nothing through to it"],
    ["ERR_PROXY_ETIMEDOUT", "the environment's proxy cannot be reached: nothing comes back from there"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "its certificate is for another name"],
    ["CERT_HAS_EXPIRED", "its certificate has expired"],
    ["CERT_NOT_YET_VALID", "not valid yet by this machine's clock"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "NODE_EXTRA_CA_CERTS names authorities to trust"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "NODE_EXTRA_CA_CERTS names authorities to trust"],
  ])("a connection that is refused says what helps: %s", (code, words) => {
    const { message } = classified(fetchFailed(failure(code)));
    expect(message).toContain(words);
    expect(message).toContain(`(${code})`);
  });

  test("what was judged before and what was aborted stay what they are", () => {
    const judged = new ModelError({ code: "LLM_TIMEOUT", message: "", retryable: true });
    const abort = Object.assign(new Error("stop"), { name: "AbortError" });
    for (const error of [judged, abort]) {
      expect(classifyModelError(error)).toBe(error);
    }
  });
});

describe("a message enters histories, so it", () => {
  test.each([
    [
      "repeats no key by its shape",
      "Incorrect API key provided: sk-abcdefghijklmnopqrst.",
      /provided: <secret>\.$/u,
    ],
    ["repeats no path of the machine", "cannot open /home/me/models/x.gguf", /cannot open <path>$/u],
    ["stays on one line", "a\nb\u2028c\r\n\u001b[2Jd", /answered 400 a b c +\[2Jd$/u],
  ])("%s", (_, text, expected) => {
    expect(answered(400, text).message).toMatch(expected);
  });

  test("repeats not even a key of no known shape, when it is the one in use", () => {
    const error = answered(401, "your key hunter2hunter2 is wrong; hunter2hunter2!", {}, "hunter2hunter2");
    expect(error.message).toBe("The model endpoint answered 401 your key <secret> is wrong; <secret>!");
    expect(classified(new Error("key hunter2hunter2"), "hunter2hunter2").message).not.toContain("hunter2");
  });

  test("is bounded", () => {
    expect(answered(500, "x".repeat(1_000_000)).message.length).toBeLessThan(400);
  });
});

describe("Retry-After", () => {
  test.each<[Record<string, string>, number | undefined]>([
    [{}, undefined],
    [{ "retry-after": "7" }, 7_000],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": "1.5" }, 1_500],
    [{ "retry-after": " 2 " }, 2_000],
    [{ "retry-after": "999999999" }, 600_000],
    [{ "retry-after-ms": "250" }, 250],
    [{ "retry-after-ms": "250", "retry-after": "9" }, 250],
    [{ "retry-after-ms": "soon", "retry-after": "9" }, 9_000],
    [{ "retry-after": "Wed, 04 Mar 2026 05:06:37 GMT" }, 30_000],
    [{ "retry-after": "Wed, 04 Mar 2020 05:06:37 GMT" }, 0],
    [{ "retry-after": "Wed, 04 Mar 2099 05:06:37 GMT" }, 600_000],
    [{ "retry-after": "1772600797" }, 30_000],
    [{ "retry-after": "later" }, undefined],
    [{ "retry-after": "" }, undefined],
    [{ "retry-after": "1e9" }, undefined],
    [{ "retry-after": "1772600797000" }, 30_000],
    [{ "retry-after": "Wednesday, 04-Mar-26 05:06:37 GMT" }, 30_000],
    [{ "retry-after": "-5" }, undefined],
    [{ "retry-after": '"5"' }, undefined],
  ])("%j asks for %s ms", (headers, expected) => {
    expect(readRetryAfter(new Headers(headers), NOW)).toBe(expected);
  });

  test.each(["Wed Mar  4 05:06:37 2026", "Wed, 04 Mar 2026 05:06:37", "2026-03-04T05:06:37"])(
    "is of GMT where it names no zone: %s",
    (date) => {
      vi.stubEnv("TZ", "America/Los_Angeles");
      onTestFinished(() => void vi.unstubAllEnvs());
      expect(readRetryAfter(new Headers({ "retry-after": date }), NOW, "", true)).toBe(30_000);
    },
  );

  test("is told by the provider's own clock where this machine's is an hour off, and by this one where both agree", () => {
    const until = (date: string) =>
      readRetryAfter(
        new Headers({ date, "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772600797" }),
        NOW,
        "",
        true,
      );
    expect(until("Wed, 04 Mar 2026 05:05:57 GMT")).toBe(30_000);
    expect(until("Wed, 04 Mar 2026 04:06:07 GMT")).toBe(3_630_000);
    const behind = new Date(NOW.getTime() - 3_600_000);
    const headers = { date: NOW.toUTCString(), "retry-after": "Wed, 04 Mar 2026 05:06:37 GMT" };
    expect(readRetryAfter(new Headers(headers), behind, "", true)).toBe(30_000);
  });

  test("of no time at all is no word against what else is said", () => {
    expect(answered(429, "Please try again in 34s.", { "retry-after": "0" }).retryAfterMs).toBe(34_000);
    expect(answered(429, "slow", { "retry-after": "0" }).retryAfterMs).toBe(0);
  });
});

describe("a wait that is asked for in the error", () => {
  test.each<[string, number | undefined]>([
    ["Please try again in 7.66s. Visit us", 7_660],
    ["Please try again in 6m2.5s.", 362_500],
    ["Please try again in 320ms.", 320],
    ["Please retry after 12 seconds.", 12_000],
    ["请求过于频繁，请在12秒后重试", 12_000],
    ["触发限流，请 30 秒后再试。", 30_000],
    ["Request was throttled. Expected available in 37 seconds.", 37_000],
    ["Your rate limit resets in ~30s.", 30_000],
    ["try again in 2 hours", 7_200_000],
    ["Rate limit of 150 per 86400s exceeded. Please wait 43200 seconds before retrying.", 43_200_000],
    ["Please try again in 1 day and 2 hours", 86_400_000],
    ["Please try again in 1000 hours", 86_400_000],
    ["Rate limit of 150 per 86400s exceeded. Please wait 43 seconds before retrying.", 43_000],
    ["Please retry after 60000.", 600_000],
    ['"retryAfter": 60000, "unit": "ms"', 600_000],
    ["try again in a moment", undefined],
    ["please wait a moment", undefined],
    ["Limit 6000, used 12s ago", undefined],
    ["Please try again later in 20s", 20_000],
    ["Retry after: 30s", 30_000],
    ["Try again in: 12 seconds", 12_000],
    ["Rate limit exceeded, retry after 5", 5_000],
    ["Retry after 5.", 5_000],
    ["Your limit will reset in 45 seconds.", 45_000],
    ["Your limit will reset at 2026-11-26 15:00:00", undefined],
    ["Please retry after 2026-11-26T15:00:00Z", 86_400_000],
    ["Limit resets at 2026-03-04T05:06:41Z.", 34_000],
    ["Try again at 2026-03-04 07:06:41.000 +02:00", 34_000],
    ["Your limit will reset on 2020-03-04 05:06:41 UTC", 0],
    ["The model of 2026-03-04T05:06:41Z is slow", undefined],
    ["Please retry after 00:01:30", undefined],
  ])("%s asks for %s ms", (message, expected) => {
    expect(answered(429, message).retryAfterMs).toBe(expected);
    expect(answered(429, message, { "retry-after": "1" }).retryAfterMs).toBe(1_000);
  });

  test.each([
    '[{"error":{"code":429,"message":"slow","details":[{"@type":"x","retryDelay":"34s"}]}}]',
    '{"error":"slow","retry_after":34}',
    '{"error":{"message":"slow","metadata":{"retry_after_seconds":34}}}',
    '{"error":{"message":"slow","retry_after_ms":34000}}',
    '{"error":{"message":"slow"},"retryAfter":"34s"}',
    '{"error":{"type":"usage_limit_reached","message":"slow","resets_in_seconds":34}}',
    '{"error":"Model x is currently loading","estimated_time":34.0}',
    '{"error":{"message":"slow","metadata":{"headers":{"X-RateLimit-Reset":"1772600801000"}}}}',
    '{"error":{"type":"usage_limit_reached","message":"slow","resets_at":1772600801}}',
    '{"error":{"message":"slow","reset_time":"2026-03-04T05:06:41.000Z"}}',
    String.raw`{"error":{"message":"{\"message\":\"slow\",\"resetAt\":1772600801}"}}`,
    String.raw`{"error":{"message":"429 quota, retry_delay {\n  seconds: 34\n}\n"}}`,
    '{"error":{"details":[{"@type":"x","retryDelay":{"seconds":34,"nanos":1}}]}}',
  ])("in a field: %s", (body) => {
    expect(refused(429, body).retryAfterMs).toBe(34_000);
  });

  test("or in a header of the minute, where the limit is one of a minute", () => {
    const headers = { "x-ratelimit-reset-tokens-minute": "34.5", "x-ratelimit-reset-tokens-day": "9999" };
    const message = "Tokens per minute limit exceeded - too many tokens processed.";
    expect(answered(429, message, headers).retryAfterMs).toBe(34_500);
  });

  test("or in a header of the day, where the limit is one of a day", () => {
    const headers = { "x-ratelimit-reset-requests-day": "33011.5", "x-ratelimit-reset-tokens-day": "60" };
    const message = "Requests per day limit exceeded - too many requests sent.";
    expect(answered(429, message, headers).retryAfterMs).toBe(33_011_500);
    expect(answered(429, "Requests per minute limit exceeded.", headers).retryAfterMs).toBeUndefined();
  });

  test.each<Record<string, string>>([
    { "x-ratelimit-reset": "1772600801000" },
    { "x-ratelimit-reset": "1772600801" },
    { "x-ratelimit-reset": "34" },
    { "x-ratelimit-reset": "2026-03-04T05:06:41Z" },
    { "ratelimit-reset": "34", "ratelimit-remaining": "0" },
    { "x-ratelimit-reset-tokens": "34s", "x-ratelimit-remaining-tokens": "0" },
    { "x-ratelimit-reset-requests": "1772600801", "x-ratelimit-remaining-requests": "0" },
    { "x-ratelimit-reset-requests-minute": "34", "x-ratelimit-remaining-requests-minute": "0" },
    { "x-ratelimit-reset-tokens-per-minute": "1772600801", "x-ratelimit-remaining-tokens-per-minute": "0" },
    { "x-ratelimit-reset-requests-1h": "34", "x-ratelimit-remaining-requests-1h": "0" },
    {
      "anthropic-ratelimit-input-tokens-reset": "2026-03-04T05:06:41Z",
      "anthropic-ratelimit-input-tokens-remaining": "0",
      "anthropic-ratelimit-requests-reset": "2026-03-04T06:06:41Z",
      "anthropic-ratelimit-requests-remaining": "49",
    },
    { ratelimit: '"api";r=0;t=34, "pages";r=5;t=90', "ratelimit-policy": '"api";q=100;w=60' },
    {
      "x-ratelimit-reset-requests": "34",
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-tokens": "6m0s",
      "x-ratelimit-remaining-tokens": "9000",
    },
    { "x-rate-limit-reset": "34", "x-rate-limit-remaining": "0" },
    { "x-ratelimit-reset-req-minute": "34", "x-ratelimit-remaining-req-minute": "0" },
    { "ratelimitbysize-reset": "34", "ratelimitbysize-remaining": "0" },
    { ratelimit: "limit=100, remaining=0, reset=34", "ratelimit-policy": "100;w=60" },
  ])("or in the header of the limit that is reached: %j", (headers) => {
    expect(answered(429, "slow", headers).retryAfterMs).toBe(34_000);
    expect(answered(429, "slow", { ...headers, "retry-after": "1" }).retryAfterMs).toBe(1_000);
  });

  test.each<Record<string, string>>([
    { "x-ms-retry-after-ms": "34000" },
    { "x-retry-after": "34" },
    { "x-ratelimit-retry-after": "34" },
    { "x-ratelimit-reset-after": "34" },
    { "x-ratelimit-timeremaining": "34", "x-ratelimit-type": "UserByModelByMinute" },
  ])("or under another name of Retry-After: %j", (headers) => {
    expect(answered(429, "slow", headers).retryAfterMs).toBe(34_000);
    expect(answered(429, "slow", { ...headers, "retry-after-ms": "1000" }).retryAfterMs).toBe(1_000);
  });

  test("which is none of the wait for a server's fault", () => {
    expect(answered(503, "down", { "x-ratelimit-timeremaining": "34" }).retryAfterMs).toBeUndefined();
  });

  test("which says nothing where some of the limit is left, in one header with others", () => {
    const headers = { ratelimit: "limit=100, remaining=10, reset=34" };
    expect(answered(429, "slow", headers).retryAfterMs).toBeUndefined();
  });

  test("in which a number that is too long for seconds holds nobody up for a day", () => {
    expect(answered(429, "slow", { "x-ratelimit-reset": "60000" }).retryAfterMs).toBe(600_000);
  });

  test("which says nothing of a server's fault, nor of a limit that is not reached", () => {
    const headers = { "x-ratelimit-reset": "1772600801", "x-ratelimit-remaining": "59" };
    expect(answered(503, "down", headers).retryAfterMs).toBeUndefined();
    expect(answered(503, "down", { ...headers, "x-ratelimit-remaining": "0" }).retryAfterMs).toBeUndefined();
    expect(answered(429, "slow", headers).retryAfterMs).toBeUndefined();
    expect(answered(429, "slow", { ...headers, "x-ratelimit-remaining": "0" }).retryAfterMs).toBe(34_000);
  });

  test("but of a server's fault for ten minutes at most", () => {
    expect(answered(503, "Please wait 43200 seconds before retrying.").retryAfterMs).toBe(600_000);
  });

  test("or in a header with its unit", () => {
    expect(readRetryAfter(new Headers({ "retry-after": "3s" }), NOW)).toBe(3_000);
  });
});
