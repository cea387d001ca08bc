import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { createChatModel } from "../../src/model/chat-model.js";
import { ModelError } from "../../src/model/model-error.js";
import { type Answering, toAnswer } from "../../src/model/read-answer.js";
import { collectStream } from "../../src/model/streamed-answer.js";
import { startRawServer } from "./raw-server.js";

const ANSWERING: Answering = {
  endpoint: "e",
  dialect: "plain",
  model: "m",
  streamedCalls: "id",
  finalErrors: [],
  apiKey: undefined,
  leave: () => undefined,
  lastWordsMs: 1,
};
const A = '{"path":"a"}';
const B = '{"path":"b"}';

type Piece = Readonly<Record<string, unknown>>;
const called = (index: unknown, id: unknown, name: unknown, args: unknown): Piece => ({
  index,
  id,
  type: "function",
  function: { name, arguments: args },
});
const calls = (...pieces: readonly Piece[]) => ({ tool_calls: pieces });
const delta = (value: Piece, reason: unknown = null) => ({
  choices: [{ index: 0, delta: value, finish_reason: reason }],
});

const COUNTED = { prompt_tokens: 5, completion_tokens: 2 };

async function streamed(
  chunks: readonly unknown[],
  end: readonly string[] = ["[DONE]"],
  more: Partial<Answering> = {},
) {
  async function* events() {
    for (const chunk of chunks) yield JSON.stringify(chunk);
    yield* end;
  }
  return collectStream(events(), { ...ANSWERING, ...more });
}
const whole = (message: unknown, reason: unknown = "stop", more: Piece = {}) =>
  toAnswer({ choices: [{ index: 0, message, finish_reason: reason }], ...more }, ANSWERING);

test.each<[string, Piece, number]>([
  ["says", {}, 0.000044],
  ["says otherwise than the answer itself", { usage: { ...COUNTED, cost: 0.1 } }, 0.1],
])("an answer costs what a gateway %s before it", (_, more, cost) => {
  const headers = new Headers({ "x-litellm-response-cost": "4.4e-05" });
  const choices = [{ index: 0, message: { content: "x" }, finish_reason: "stop" }];
  expect(toAnswer({ choices, ...more }, { ...ANSWERING, headers }).usage.cost).toBe(cost);
});

async function errorOf(answer: () => Promise<unknown>): Promise<ModelError> {
  const error: unknown = await answer().catch((caught: unknown) => caught);
  if (!(error instanceof ModelError)) throw new Error(`no model error: ${String(error)}`);
  return error;
}

describe("the calls of a stream are the same where", () => {
  const one = [["fs_read", A]];
  const two = [
    ["fs_read", A],
    ["fs_list", B],
  ];
  test.each<readonly [string, readonly Piece[], readonly (readonly string[])[]]>([
    [
      "later pieces have empty ids and names, as Qwen's do",
      [
        calls(called(0, "c1", "fs_read", "")),
        calls({ index: 0, id: "", type: "", function: { name: "", arguments: '{"path":' } }),
        calls({ index: 0, id: "", function: { name: "", arguments: '"a"}' } }),
      ],
      one,
    ],
    [
      "the name is in every piece",
      [
        calls(called(0, "c1", "fs_read", '{"path":')),
        calls(called(0, "c1", "fs_read", '"a"}')),
        calls(called(0, "c1", "fs_read", "")),
      ],
      one,
    ],
    [
      "the name comes in pieces",
      [
        calls(called(0, "c1", "fs_", "")),
        calls({ index: 0, function: { name: "read" } }),
        calls({ index: 0, function: { arguments: A } }),
      ],
      one,
    ],
    [
      "each piece has an id of its own",
      [
        calls(called(0, "c1", "fs_read", '{"path":')),
        calls({ index: 0, id: "c2", function: { arguments: '"a"}' } }),
      ],
      one,
    ],
    [
      "each piece has an id of its own, and the name",
      [
        calls(called(0, "c1", "fs_read", '{"path"')),
        calls(called(0, "c2", "fs_read", ":")),
        calls(called(0, "c3", "fs_read", '"a"}')),
      ],
      one,
    ],
    [
      "two of the same name have ids of their own in one index",
      [
        calls(called(0, "c1", "fs_read", "")),
        calls(called(0, "c2", "fs_read", "")),
        calls({ index: 0, id: "c1", function: { arguments: A } }),
        calls({ index: 0, id: "c2", function: { arguments: A } }),
      ],
      [
        ["fs_read", A],
        ["fs_read", A],
      ],
    ],
    [
      "two of the same name have no ids, and come in pieces in one index",
      [
        calls(called(0, undefined, "fs_read", "")),
        calls({ index: 0, function: { arguments: '{"path":' } }),
        calls({ index: 0, function: { arguments: '"a"}' } }),
        calls(called(0, undefined, "fs_read", "")),
        calls({ index: 0, function: { arguments: '{"path":' } }),
        calls({ index: 0, function: { arguments: '"b"}' } }),
      ],
      [
        ["fs_read", A],
        ["fs_read", B],
      ],
    ],
    [
      "the last piece says its name again",
      [calls(called(0, "c1", "fs_read", A)), calls(called(0, undefined, "fs_read", ""))],
      one,
    ],
    [
      "the last piece says all of it again",
      [
        calls(called(0, "c1", "fs_read", '{"path":')),
        calls({ index: 0, function: { arguments: '"a"}' } }),
        calls(called(0, "c1", "fs_read", A)),
      ],
      one,
    ],
    [
      "the last piece says the arguments again, without an id",
      [
        calls(called(0, "c1", "fs_read", '{"path":')),
        calls({ index: 0, function: { arguments: '"a"}' } }),
        calls({ index: 0, function: { arguments: A } }),
      ],
      one,
    ],
    ...[0, undefined].map(
      (index) =>
        [
          `the first has no arguments, there are no ids, and all have the index ${index}`,
          [calls(called(index, undefined, "fs_list", "")), calls(called(index, undefined, "fs_read", A))],
          [
            ["fs_list", "{}"],
            ["fs_read", A],
          ],
        ] as const,
    ),
    [
      "it is said again under other indexes, whole and without arguments, as LocalAI does",
      [
        calls(called(0, "c1", "fs_read", A)),
        calls(called(1, "c1", "fs_read", A)),
        calls(called(2, "c1", "fs_read", "")),
      ],
      one,
    ],
    [
      "it is begun under one index, and said whole under the next",
      [
        calls(called(0, "c1", "fs_read", "")),
        calls(called(1, "c1", "fs_read", '{"path"')),
        calls(called(2, "c1", "fs_read", A)),
      ],
      one,
    ],
    [
      "all have one id, and the indexes and arguments of their own",
      [calls(called(0, "call", "fs_read", A)), calls(called(1, "call", "fs_read", B))],
      [
        ["fs_read", A],
        ["fs_read", B],
      ],
    ],
    [
      "a model's own marks stand behind the name and the arguments, as gpt-oss's and Llama's do",
      [
        calls(called(0, "c1", "fs_read<|channel|>commentary", A)),
        calls({ index: 0, function: { arguments: "<|eot_id|>" } }),
      ],
      one,
    ],
    ["a call stands alone, in no list", [{ tool_calls: called(0, "c1", "fs_read", A) }], one],
    [
      "an empty object comes before the pieces of the arguments",
      [
        calls(called(0, "c1", "fs_read", "{}")),
        calls({ index: 0, function: { arguments: '{"path":' } }),
        calls({ index: 0, function: { arguments: '"a"}' } }),
      ],
      one,
    ],
    [
      "the arguments have another index than the call, as LibreChat's of Bedrock",
      [
        calls(called(0, "c1", "fs_read", "")),
        calls({ index: 1, function: { arguments: '{"path":' } }),
        calls({ index: 1, function: { arguments: '"a"}' } }),
        calls(called(1, "c2", "fs_list", "")),
        calls({ index: 2, function: { arguments: B } }),
      ],
      two,
    ],
    ["arguments are an object", [calls(called(0, "c1", "fs_read", { path: "a" }))], one],
    [
      "each piece says the arguments from their beginning, as Qianfan's do",
      [
        calls(called(0, "c1", "fs_read", "")),
        calls({ index: 0, function: { arguments: '{"pa' } }),
        calls({ index: 0, function: { arguments: '{"path":' } }),
        calls({ index: 0, function: { arguments: A } }),
        calls({ index: 0, function: { arguments: A } }),
      ],
      one,
    ],
    [
      "a piece begins as the one before it, and goes on in it",
      [
        calls(called(0, "c1", "fs_read", '{"path":')),
        calls({ index: 0, function: { arguments: '{"path":1}}' } }),
      ],
      [["fs_read", '{"path":{"path":1}}']],
    ],
    [
      "the last piece has all of the arguments once more, under the call's id, as GLM's does",
      [
        calls(called(0, "c1", "fs_read", '{"path":')),
        calls({ index: 0, function: { arguments: '"a"}' } }),
        calls({ index: 0, id: "c1", function: { arguments: A } }),
      ],
      one,
    ],
    [
      "all have one index and one id",
      [calls(called(0, "call", "fs_read", A)), calls(called(0, "call", "fs_list", B))],
      two,
    ],
    [
      "each piece has another index, and all the call's id",
      [
        calls(called(0, "c1", "fs_read", A.slice(0, 3))),
        calls({ index: 1, id: "c1", function: { arguments: A.slice(3, 5) } }),
        calls({ index: 2, id: "c1", function: { name: "fs_read", arguments: A.slice(5) } }),
      ],
      one,
    ],
    [
      "indexes are texts, and the calls interleave",
      [
        calls(called("0", "c1", "fs_read", "")),
        calls(called("1", "c2", "fs_list", "")),
        calls({ index: "0", function: { arguments: A } }),
        calls({ index: "1", function: { arguments: B } }),
      ],
      two,
    ],
    ...[0, undefined, null].map(
      (index) =>
        [
          `all have the index ${index}, and the calls interleave by their ids`,
          [
            calls(called(index, "c1", "fs_read", "")),
            calls(called(index, "c2", "fs_list", "")),
            calls({ index, id: "c1", function: { arguments: A } }),
            calls({ index, id: "c2", function: { arguments: B } }),
          ],
          two,
        ] as const,
    ),
  ])("%s", async (_, deltas, expected) => {
    const answer = await streamed([...deltas.map((piece) => delta(piece)), delta({}, "tool_calls")]);
    expect(answer.toolCalls.map(({ name, argumentsJson }) => [name, argumentsJson])).toEqual(expected);
  });
});

test.each<readonly [string, readonly Piece[]]>([
  ["with ids", [calls(called(0, "a", "fs_read", A)), calls(called(0, "b", "fs_list", B))]],
  ["without", [calls(called(0, undefined, "fs_read", A), called(0, undefined, "fs_list", B))]],
  [
    "with the id of each in its pieces",
    [
      calls(called(0, "a", "fs_read", "")),
      calls(called(1, "b", "fs_list", "")),
      calls({ index: 0, id: "b", function: { arguments: B } }),
      calls({ index: 0, id: "a", function: { arguments: A } }),
    ],
  ],
  [
    "in pieces",
    [
      calls(called(0, "a", "fs_read", "")),
      calls({ index: 0, function: { arguments: A } }),
      calls(called(0, "b", "fs_list", "")),
      calls({ index: 0, function: { arguments: B } }),
    ],
  ],
])("calls of one index are not merged by a dialect that goes by it: %s", async (_, pieces) => {
  async function* events() {
    for (const piece of [...pieces.map((one) => delta(one)), delta({}, "tool_calls")])
      yield JSON.stringify(piece);
  }
  const { toolCalls } = await collectStream(events(), { ...ANSWERING, streamedCalls: "index" });
  expect(toolCalls.map(({ name, argumentsJson }) => [name, argumentsJson])).toEqual([
    ["fs_read", A],
    ["fs_list", B],
  ]);
});

test("calls without arguments, of one index and without ids, are not merged by such a dialect", async () => {
  const pieces = [called(0, undefined, "fs_list", ""), called(0, undefined, "state_read", "")];
  async function* events() {
    for (const piece of [...pieces.map((one) => delta(calls(one))), delta({}, "tool_calls")])
      yield JSON.stringify(piece);
  }
  const { toolCalls } = await collectStream(events(), { ...ANSWERING, streamedCalls: "index" });
  expect(toolCalls.map(({ name }) => name)).toEqual(["fs_list", "state_read"]);
});

test.each<Piece>([
  calls({}),
  calls({ index: 0, id: "", type: "function", function: { name: "", arguments: "" } }),
  calls({ index: 0, id: null, function: null }),
])("a place for a call in the pieces of a text is none: %j", async (empty) => {
  const answer = await streamed([delta({ content: "Which?", ...empty }), delta(empty), delta({}, "stop")]);
  expect(answer).toMatchObject({ content: "Which?", toolCalls: [] });
  const none = await errorOf(() => streamed([delta(empty)]));
  expect(none.message).toContain("the stream ended early");
});

const part = (id: string, name: string, input: Piece): Piece => ({ type: "tool_use", id, name, input });

describe("a call of a whole answer is read where", () => {
  test.each<readonly [string, Piece]>([
    [
      "it is in the old form beside an empty list",
      { tool_calls: [], function_call: { name: "fs_list", arguments: "{}" } },
    ],
    ["it has no function", { tool_calls: [{ id: "c", name: "fs_list", arguments: {} }] }],
    ["its arguments are empty", { tool_calls: [called(0, "c", "fs_list", "")] }],
    ["its arguments are null", { tool_calls: [called(0, "c", "fs_list", null)] }],
    ["its arguments are a text of a text", { tool_calls: [called(0, "c", "fs_list", '"{}"')] }],
    ["it stands alone, in no list", { tool_calls: called(0, "c", "fs_list", "{}") }],
    ["it is a part of the text, as Anthropic has it", { content: [part("c", "fs_list", {})] }],
    ["it is a part beside an empty list", { content: [part("c", "fs_list", {})], tool_calls: [] }],
  ])("%s", (_, message) => {
    const { toolCalls } = whole({ content: null, ...message });
    expect(toolCalls.map(({ name, argumentsJson }) => [name, argumentsJson])).toEqual([["fs_list", "{}"]]);
  });

  test("and goes back in the new form alone", async () => {
    const call = { name: "fs_list", arguments: "{}" };
    expect(whole({ content: null, function_call: call }, "length").provider).toBeUndefined();
    const answer = await streamed([delta({ function_call: call }), delta({}, "function_call")]);
    expect(answer).toMatchObject({ toolCalls: [{ name: "fs_list" }] });
    expect(answer.provider).toBeUndefined();
  });

  test("and goes back as a call alone where it was a part of the text, whole or in a stream", async () => {
    const text = { type: "text", text: "Reading." };
    const call = part("toolu_1", "fs_read", { path: "a" });
    for (const answer of [
      whole({ content: [text, call] }, "tool_use"),
      await streamed([delta({ content: [text] }), delta({ content: [call] }), delta({}, "tool_use")]),
    ]) {
      expect(answer).toMatchObject({ content: "Reading.", finishReason: "tool_calls" });
      expect(answer.toolCalls).toEqual([{ id: "toolu_1", name: "fs_read", argumentsJson: A }]);
      expect(answer.provider).toMatchObject({ content: [text] });
    }
  });

  test("and once, where it is both a part and a call", () => {
    const tool_calls = [called(0, "toolu_1", "fs_read", A)];
    const answer = whole({ content: [part("toolu_1", "fs_read", { path: "a" })], tool_calls }, "tool_calls");
    expect(answer.toolCalls).toHaveLength(1);
  });

  test.each(["function", "Function", "tool_use", "tool_call"])(
    "its type is %s, with a function or without, whole or in a stream",
    async (type) => {
      const body = { name: "fs_read", arguments: A };
      for (const of of [{ function: body }, body]) {
        const [one, two] = ["c1", "c2"].map((id) => ({ index: 0, id, type, ...of }));
        const tool_calls = [one, two];
        for (const answer of [
          whole({ content: null, tool_calls }, "tool_calls"),
          await streamed([
            delta({ tool_calls: [one] }),
            delta({ tool_calls: [two] }),
            delta({}, "tool_calls"),
          ]),
        ]) {
          expect(answer.toolCalls).toEqual(
            ["c1", "c2"].map((id) => ({ id, name: "fs_read", argumentsJson: A })),
          );
          expect(answer.provider).toBeUndefined();
        }
      }
    },
  );

  test.each(["functions.fs_read", "default_api:fs_read", "default_api.fs_read", " fs_read\n"])(
    "its name has something around it: %j",
    (name) => {
      const { toolCalls } = whole({ content: null, tool_calls: [called(0, "c", name, A)] });
      expect(toolCalls[0]?.name).toBe("fs_read");
    },
  );

  test("its arguments are called parameters, and no part of what goes back", async () => {
    const call = {
      index: 0,
      id: "c",
      type: "function",
      function: { name: "fs_read", parameters: { path: "a" } },
    };
    for (const answer of [
      whole({ content: null, tool_calls: [call] }, "tool_calls"),
      await streamed([delta(calls(call)), delta({}, "tool_calls")]),
    ]) {
      expect(answer.toolCalls).toEqual([{ id: "c", name: "fs_read", argumentsJson: A }]);
      expect(answer.provider).toBeUndefined();
    }
  });

  test.each(["", {}, false, 0, []])("and not where there is none: %j", (none) => {
    expect(whole({ content: "Which?", tool_calls: none })).toMatchObject({
      content: "Which?",
      toolCalls: [],
    });
  });

  test.each(["<|eot_id|>", "<end_of_turn>", "\n</function>\n</tool_call>"])("without marks: %s", (marks) => {
    const { toolCalls } = whole({ content: null, tool_calls: [called(0, "c", "fs_read", A + marks)] });
    expect(toolCalls[0]?.argumentsJson).toBe(A);
  });

  test("and where a piece of a stream stands in place of it", () => {
    const choices = [{ delta: calls(called(0, "c", "fs_list", "{}")), finish_reason: "tool_calls" }];
    expect(toAnswer({ choices }, ANSWERING)).toMatchObject({ toolCalls: [{ name: "fs_list" }] });
  });

  test.each(["{}{}", A + A, A + A + A])("without repeating its arguments: %s", (args) => {
    const { toolCalls } = whole({ content: null, tool_calls: [called(0, "c", "fs_read", args)] });
    expect(toolCalls[0]?.argumentsJson).toBe(args.slice(0, args.indexOf("}") + 1));
  });

  test("and not where the old form is empty", () => {
    const answer = whole({ content: "Which?", function_call: { name: "", arguments: "" } });
    expect(answer).toMatchObject({ content: "Which?", toolCalls: [] });
  });
});

test.each(["finishReason", "stop_reason", "native_finish_reason"])(
  "an end is read where a server has put it into %s",
  async (place) => {
    const choice = { index: 0, message: { content: "x" }, [place]: "max_tokens" };
    expect(toAnswer({ choices: [choice] }, ANSWERING).finishReason).toBe("length");
    const end = { choices: [{ index: 0, delta: {}, [place]: "max_tokens" }] };
    expect((await streamed([delta({ content: "x" }), end])).finishReason).toBe("length");
  },
);

describe("an end that a router calls stop is the one that the provider behind it has told", () => {
  const told = (native: string): readonly Piece[] => [
    { native_finish_reason: native }, // OpenRouter
    { provider_specific_fields: { native_finish_reason: native } }, // LiteLLM
  ];

  test.each(["abort", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])("%s", async (native) => {
    for (const more of told(native)) {
      const choice = { index: 0, finish_reason: "stop", ...more };
      const asked = [
        async () => toAnswer({ choices: [{ ...choice, message: { content: null } }] }, ANSWERING),
        async () => streamed([{ choices: [{ ...choice, delta: { content: "half" } }] }]),
      ];
      for (const answer of asked) {
        expect(await errorOf(answer)).toMatchObject({ code: "LLM_BAD_RESPONSE", retryable: true });
      }
    }
  });

  test.each([
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content_filter"],
    ["STOP", "tool_calls"],
    ["completed", "tool_calls"],
  ])("%s, whose words are the protocol's: %s", (native, finishReason) => {
    for (const more of told(native)) {
      const message = { content: null, tool_calls: [called(0, "c", "fs_read", A)] };
      const choices = [{ index: 0, message, finish_reason: "tool_calls", ...more }];
      expect(toAnswer({ choices }, ANSWERING)).toMatchObject({ finishReason });
    }
  });
});

test("an answer whose tokens are used up before it has a message is one that was cut off", () => {
  const choices = [{ index: 0, finish_reason: "MAX_TOKENS" }];
  expect(toAnswer({ choices, usage: COUNTED }, ANSWERING)).toMatchObject({
    content: "",
    finishReason: "length",
  });
});

describe("an answer that has no room beside its request is asked for again with less, where", () => {
  const FULL = { code: "LLM_CONTEXT_EXCEEDED", retryable: false };
  const ended = (reason: string, usage: unknown, message: Piece = { content: "" }) => ({
    choices: [{ index: 0, message, finish_reason: reason }],
    usage,
  });

  test.each<readonly [string, unknown, Piece, number | undefined]>([
    ["model_context_window_exceeded", { prompt_tokens: 0, completion_tokens: 0 }, { content: "" }, undefined],
    ["model_context_window_exceeded", undefined, { content: null }, undefined],
    [
      "model_context_window_exceeded",
      { prompt_tokens: 190_000, completion_tokens: 10_000 },
      { content: "Wh" },
      200_000,
    ],
    ["context_length_exceeded", { prompt_tokens: 4_000, completion_tokens: 96 }, { content: "Wh" }, 4_096],
    ["length", { prompt_tokens: 32_768, completion_tokens: 0 }, { content: "" }, 32_768],
  ])("it ends with %s, counted %j", async (reason, usage, message, contextTokens) => {
    const error = await Promise.resolve()
      .then(() => toAnswer(ended(reason, usage, message), ANSWERING))
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ ...FULL, contextTokens });
    const chunks = [{ ...delta(message), usage }, delta({}, reason)];
    await expect(streamed(chunks)).rejects.toMatchObject({ ...FULL, contextTokens });
  });

  test.each<readonly [string, unknown, Piece]>([
    ["model_context_window_exceeded", { prompt_tokens: 2_000, completion_tokens: 6_000 }, { content: "Wh" }],
    ["model_context_window_exceeded", undefined, { content: "Wh" }],
    ["length", { prompt_tokens: 2_000, completion_tokens: 512 }, { content: "" }],
    ["length", undefined, { content: "" }],
  ])("and was cut off where it was too long itself: %s, counted %j", (reason, usage, message) => {
    expect(toAnswer(ended(reason, usage, message), ANSWERING)).toMatchObject({ finishReason: "length" });
  });
});

test("an answer of the one token that it may have says nothing of room", () => {
  const usage = { prompt_tokens: 2_000, completion_tokens: 1 };
  const completion = {
    choices: [{ index: 0, message: { content: "" }, finish_reason: "length" }],
    usage,
  };
  expect(toAnswer(completion, { ...ANSWERING, maxTokens: 1 })).toMatchObject({ finishReason: "length" });
  expect(() => toAnswer(completion, { ...ANSWERING, maxTokens: 2 })).toThrow("no room");
});

describe("a text is read where it is", () => {
  test.each<readonly [unknown, string]>([
    [7, "7"],
    [{ type: "text", text: "Which?" }, "Which?"],
  ])("%j", async (content, text) => {
    expect(whole({ content }).content).toBe(text);
    expect((await streamed([delta({ content }), delta({}, "stop")])).content).toBe(text);
  });

  test.each(["data", "result"])("that a gateway has put into its %s", (place) => {
    const choices = [{ index: 0, message: { content: "Which?" }, finish_reason: "stop" }];
    const usage = { prompt_tokens: 5, completion_tokens: 2 };
    const answer = toAnswer({ success: true, [place]: { choices, usage } }, ANSWERING);
    expect(answer).toMatchObject({ content: "Which?", usage: { promptTokens: 5, completionTokens: 2 } });
  });

  test("that is none, in a gateway's error, does not hide it", () => {
    const error = { message: "Slow down.", code: 429 };
    expect(() => toAnswer({ error, data: { choices: [] } }, ANSWERING)).toThrow(/answered 429 Slow down/);
  });

  test("of the first of several choices", async () => {
    const choice = (index: number, content: string, reason: unknown = null) => ({
      choices: [{ index, delta: { content }, finish_reason: reason }],
    });
    const answer = await streamed([
      choice(0, "A"),
      choice(1, "B"),
      choice(0, "a", "stop"),
      choice(1, "b", "stop"),
    ]);
    expect(answer.content).toBe("Aa");
  });
});

describe("an answer in several choices, though one was asked for, is one where", () => {
  const piece = (index: number, value: Piece, reason: unknown = null) => ({
    choices: [{ index, delta: value, finish_reason: reason }],
  });

  test("each of its blocks has a choice, and all have one end, as LiteLLM's of Bedrock", async () => {
    const answer = await streamed([
      piece(0, { role: "assistant", reasoning_content: "hm" }),
      piece(1, { content: "I " }),
      piece(1, { content: "look." }),
      piece(2, calls(called(0, "c1", "fs_read", ""))),
      piece(2, calls({ index: 0, function: { arguments: A } })),
      piece(3, calls(called(1, "c2", "fs_list", B))),
      piece(0, {}, "tool_calls"),
    ]);
    expect(answer).toMatchObject({ content: "I look.", finishReason: "tool_calls" });
    expect(answer.toolCalls.map(({ name, argumentsJson }) => [name, argumentsJson])).toEqual([
      ["fs_read", A],
      ["fs_list", B],
    ]);
    expect(answer.provider?.message).toEqual({ reasoning_content: "hm" });
  });

  test("its calls have one of their own, as Copilot's do, whole and streamed", async () => {
    const answers = [
      await streamed([
        piece(0, { content: "I look." }),
        piece(1, calls(called(0, "c1", "fs_read", A))),
        piece(0, {}, "tool_calls"),
        piece(1, {}, "tool_calls"),
      ]),
      toAnswer(
        {
          choices: [
            { message: { content: "I look." }, finish_reason: "tool_calls" },
            {
              message: { content: null, ...calls(called(0, "c1", "fs_read", A)) },
              finish_reason: "tool_calls",
            },
          ],
        },
        ANSWERING,
      ),
    ];
    for (const answer of answers) {
      expect(answer.content).toBe("I look.");
      expect(answer.toolCalls).toEqual([{ id: "c1", name: "fs_read", argumentsJson: A }]);
    }
  });

  test("and not where the first has been filtered", async () => {
    const other = {
      message: { content: null, ...calls(called(0, "c1", "fs_read", A)) },
      finish_reason: "tool_calls",
    };
    const choices = [{ message: { content: "" }, finish_reason: "content_filter" }, other];
    expect(toAnswer({ choices }, ANSWERING).toolCalls).toEqual([]);
  });
});

describe("a stream that ends with all of its message in place of a piece", () => {
  const last = (message: Piece, reason = "stop") => ({
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason: reason }],
  });

  test.each<readonly [string, readonly Piece[], string]>([
    ["behind its text", [{ content: "Which " }, { content: "one?" }], "Which one?"],
    ["behind a part of its text", [{ content: "Which " }], "Which one?"],
    ["behind thoughts", [{ reasoning_content: "hm" }], "Which one?"],
    ["behind nothing", [], "Which one?"],
  ])("has its text once: %s", async (_, deltas, content) => {
    const message = { role: "assistant", content: "Which one?", reasoning_content: "hm" };
    const answer = await streamed([...deltas.map((piece) => delta(piece)), last(message)]);
    expect(answer.content).toBe(content);
    expect(answer.provider?.message).toEqual({ reasoning_content: "hm" });
  });

  test.each([undefined, "c1"])("has its calls once, their id: %s", async (id) => {
    const call = { id, type: "function", function: { name: "fs_read", arguments: A } };
    const answer = await streamed([
      delta(calls(called(0, id, "fs_read", '{"path":'))),
      delta(calls({ index: 0, function: { arguments: '"a"}' } })),
      last({ content: null, tool_calls: [call] }, "tool_calls"),
    ]);
    expect(answer.toolCalls).toEqual([{ id: id ?? "", name: "fs_read", argumentsJson: A }]);
  });

  test("and messages that are pieces are put together", async () => {
    const answer = await streamed([
      { choices: [{ index: 0, message: { content: "Which " } }] },
      last({ content: "one?" }),
    ]);
    expect(answer.content).toBe("Which one?");
  });
});

describe("an end", () => {
  test("without a reason is one where the stream says that it is done", async () => {
    expect(await streamed([delta({ content: "Which?" })])).toMatchObject({
      content: "Which?",
      finishReason: "stop",
    });
    const answer = await streamed([delta(calls(called(0, "c", "fs_list", "{}")))], [" [DONE] "]);
    expect(answer).toMatchObject({ finishReason: "tool_calls", toolCalls: [{ name: "fs_list" }] });
  });

  test.each([
    ["text", [delta({ content: "I will fir" })]],
    ["a half call", [delta(calls(called(0, "c", "fs_read", '{"pa')))]],
    ["a call's name", [delta(calls(called(0, "c", "fs_read", "")))]],
  ])("that others of the model had is missed: %s without one was broken off", async (_, chunks) => {
    const error = await errorOf(() => streamed(chunks, ["[DONE]"], { saysEnds: true }));
    expect(error).toMatchObject({ code: "LLM_BAD_RESPONSE", retryable: true });
    expect(error.message).toContain("the stream ended early");
  });

  test("is not missed of whole calls, which TGI sends without one", async () => {
    const chunks = [
      delta(calls(called(0, "c", "fs_read", "{"))),
      delta(calls({ index: 0, function: { arguments: '"path":"a"}' } })),
    ];
    const answer = await streamed(chunks, ["[DONE]"], { saysEnds: true });
    expect(answer).toMatchObject({ finishReason: "tool_calls", toolCalls: [{ argumentsJson: A }] });
  });

  test.each(['"[DONE]"', "[done]"])("is also said as %s", async (end) => {
    expect(await streamed([delta({ content: "Which?" })], [end])).toMatchObject({ finishReason: "stop" });
  });

  test.each([
    ["FinishReason.MAX_TOKENS", "length"],
    ["maxTokens", "length"],
    ["toolUse", "tool_calls"],
    ["EndTurn", "stop"],
    ["contentFilter", "content_filter"],
    ["contentfilter", "content_filter"],
  ])("in another language's spelling, %s, is %s", (reason, finishReason) => {
    expect(whole({ content: "x" }, reason)).toMatchObject({ finishReason });
  });

  test.each([
    ["that nothing says", [delta({ content: "Which" })], []],
    ["of nothing", [delta({ role: "assistant", content: "" })], ["[DONE]"]],
  ])("%s is none", async (_, chunks, end) => {
    expect((await errorOf(() => streamed(chunks, end))).message).toContain("the stream ended early");
  });

  test.each<readonly [Piece, Partial<ModelError>, string]>([
    [{ code: "InternalError", message: "out of memory", request_id: "r" }, {}, "it says out of memory"],
    [{ object: "error", message: "engine died", code: 500 }, { code: "LLM_HTTP_ERROR" }, "engine died"],
    [{ choices: null, base_resp: { status_code: 1002, status_msg: "too fast" } }, {}, "too fast"],
    [{ choices: [], detail: "worker lost" }, {}, "worker lost"],
  ])("that is said behind %j is none, whatever was said before", async (fault, expected, words) => {
    const error = await errorOf(() => streamed([delta({ content: "Half of an" }), fault]));
    expect(error).toMatchObject({ code: "LLM_BAD_RESPONSE", retryable: true, ...expected });
    expect(error.message).toContain(words);
  });

  test.each([
    "content_filter: PROHIBITED_CONTENT",
    "SAFETY",
    "guardrail_intervened",
    "input_guardrail_triggered",
    "content_filter: MODEL_ARMOR",
    "MODEL_ARMOR",
  ])("for %s is a filter's", async (reason) => {
    const refusal = { code: "LLM_CONTENT_FILTERED" };
    expect(whole(undefined, reason)).toMatchObject({ finishReason: "content_filter", refusal });
    expect(await streamed([delta({}, reason)])).toMatchObject({ finishReason: "content_filter", refusal });
  });

  test.each([
    "error",
    "abort",
    "network_error",
    "insufficient_system_resource",
    "function_call_filter: MALFORMED_FUNCTION_CALL",
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "MALFORMED_RESPONSE",
    "MISSING_THOUGHT_SIGNATURE",
    "malformed_model_output",
    "overloaded_error",
    "api_error",
    "ThrottlingException",
    "parse_error",
  ])("for %s is no answer, and worth another try", async (reason) => {
    const error = await errorOf(() => streamed([delta({ content: "half" }, reason)]));
    expect(error).toMatchObject({ code: "LLM_BAD_RESPONSE", retryable: true });
    expect(error.message).toContain(`it ended with "${reason}"`);
    expect(await errorOf(async () => whole(undefined, reason))).toMatchObject({ message: error.message });
  });

  test.each([
    ["TPM limit exceeded", "it says TPM limit exceeded"],
    [
      'id:1\nevent:error\n:HTTP_STATUS/429\ndata:{"code":"Throttling.AllocationQuota","message":"Allocated quota exceeded, please increase your quota limit."}',
      "answered 429",
    ],
    ["", 'it ended with "error_finish"'],
  ])("of DashScope's that is an error has its words in the last piece: %j", async (content, words) => {
    const pieces = [delta({ content: "Half of " }), delta({ content }, "error_finish")];
    const error = await errorOf(() => streamed(pieces));
    expect(error).toMatchObject({ retryable: true });
    expect(error.message).toContain(words);
    expect(error.message).not.toContain("Half of");
    expect((await errorOf(async () => whole({ content }, "error_finish"))).message).toContain(words);
  });

  test("that repeats the key says it without", async () => {
    const answering = { ...ANSWERING, apiKey: "hunter2hunter2" };
    const choices = [{ message: { content: "x" }, finish_reason: "error: hunter2hunter2 at /home/me/x" }];
    const { message } = await errorOf(async () => toAnswer({ choices }, answering));
    expect(message).toContain('it ended with "error: <secret> at <path>"');
  });

  test.each([
    [["stop", "stop", "length"], "length"],
    [["stop", "tool_calls", "content_filter"], "content_filter"],
    [["length", "stop"], "length"],
    [["null", "null", "length"], "length"],
    [["FINISH_REASON_UNSPECIFIED", "STOP"], "stop"],
    [["unfinished", "unfinished", "stop"], "stop"],
    [["", "time_limit"], "length"],
  ])("that a stream tells as %j is %s", async (reasons, reason) => {
    const answer = await streamed(reasons.map((told) => delta({ content: "x" }, told)));
    expect(answer).toMatchObject({ content: "x".repeat(reasons.length), finishReason: reason });
  });

  test("is not told by a word for none: a stream that breaks off there has none", async () => {
    const half = [delta({ content: "Half of" }, "null"), delta({ content: " an" }, "null")];
    expect((await errorOf(() => streamed(half, []))).message).toContain("the stream ended early");
    expect(whole({ content: "x" }, "null").finishReason).toBe("");
  });
});

test.each<readonly [string, Piece, Piece, Piece]>([
  ["in its choice", { usage: COUNTED }, {}, {}],
  ["in its message", {}, { usage: COUNTED }, {}],
  ["in a field of Groq's", {}, {}, { x_groq: { usage: COUNTED } }],
  ["where llama.cpp's server times it", {}, {}, { timings: { prompt_n: 5, predicted_n: 2, prompt_ms: 31 } }],
])("the usage of an answer is read %s, whole or in a stream", async (_, inChoice, inMessage, more) => {
  const usage = { promptTokens: 5, completionTokens: 2 };
  const choice = { index: 0, finish_reason: "stop", ...inChoice };
  const message = { content: "x", ...inMessage };
  for (const answer of [
    toAnswer({ choices: [{ ...choice, message }], ...more }, ANSWERING),
    await streamed([{ choices: [{ ...choice, delta: message }], ...more }]),
  ]) {
    expect(answer).toMatchObject({ usage });
    expect(answer.provider).toBeUndefined(); // no part of what goes back
  }
});

describe("an answer that was counted and holds nothing is an empty one", () => {
  test("whole, without a choice, as LiteLLM has it of Gemini", () => {
    const answer = toAnswer({ id: "x", choices: [], usage: { prompt_tokens: 354 } }, ANSWERING);
    expect(answer).toMatchObject({ content: "", toolCalls: [], usage: { promptTokens: 354 } });
  });

  test("in a stream that says that it is done", async () => {
    expect(await streamed([{ choices: [], usage: COUNTED }])).toMatchObject({ content: "", toolCalls: [] });
    const error = await errorOf(() => streamed([{ choices: [], usage: { prompt_tokens: 5 } }]));
    expect(error.message).toContain("the stream ended early");
  });

  test("and not where it says what went wrong", () => {
    const fault = { choices: [], usage: COUNTED, message: "no capacity" };
    expect(() => toAnswer(fault, ANSWERING)).toThrow("no capacity");
  });
});

describe("behind the end of a stream", () => {
  const said = delta({ content: "x" }, "stop");
  const behind = (...events: readonly unknown[]) => ["[DONE]", ...events.map((one) => JSON.stringify(one))];

  test("its count is read, and nothing else", async () => {
    const count = { choices: [], usage: COUNTED };
    const answer = await streamed(
      [said],
      behind({ error: { message: "late" } }, delta({ content: "y" }), count),
    );
    expect(answer).toMatchObject({ content: "x", usage: { promptTokens: 5, completionTokens: 2 } });
  });

  test.each([[["[DONE]"]], [[]]])("signs of life without end do not hold it up: %j", async (end) => {
    async function* events() {
      for (const chunk of [delta({ content: "x" }), delta({}, "stop")]) yield JSON.stringify(chunk);
      yield* end;
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        yield JSON.stringify({ type: "ping" });
      }
    }
    expect((await collectStream(events(), { ...ANSWERING, lastWordsMs: 100 })).content).toBe("x");
  });

  test("of an answer in one piece they do not either", async () => {
    async function* events() {
      yield JSON.stringify(delta({ content: "x" }, "stop"));
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        yield JSON.stringify({ type: "ping" });
      }
    }
    expect((await collectStream(events(), { ...ANSWERING, lastWordsMs: 10 })).content).toBe("x");
  });

  test("nothing is waited for where it was counted before, and not for long where it was not", async () => {
    const never = new Promise<never>(() => undefined);
    async function* events(chunk: unknown) {
      yield JSON.stringify(chunk);
      yield "[DONE]";
      await never;
    }
    const counted = collectStream(events({ ...said, usage: COUNTED }), { ...ANSWERING, lastWordsMs: 1e9 });
    expect((await counted).usage.promptTokens).toBe(5);
    expect((await collectStream(events(said), { ...ANSWERING, lastWordsMs: 1e9 })).content).toBe("x");
  });
});

test("the last count that counts anything is a stream's usage", async () => {
  const usage = { prompt_tokens: 7, completion_tokens: 3 };
  const zeros = { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } };
  const answer = await streamed([
    { ...delta({ content: "x" }, "stop"), usage },
    zeros,
    { choices: [], usage: null },
  ]);
  expect(answer.usage).toEqual({ promptTokens: 7, completionTokens: 3 });
});

test("a stream that counts its request first and its answer last has counted both", async () => {
  const answer = await streamed([
    { ...delta({ content: "x" }), usage: { prompt_tokens: 70, completion_tokens: 1, total_tokens: 71 } },
    { ...delta({}, "stop"), usage: { prompt_tokens: 0, completion_tokens: 3, total_tokens: 3 } },
  ]);
  expect(answer.usage).toEqual({ promptTokens: 70, completionTokens: 3 });
});

test.each<readonly [string, () => Promise<unknown>]>([
  ["a whole answer", async () => whole({ content: "x" }, "error", { usage: { prompt_tokens: 7 } })],
  [
    "a stream",
    () =>
      streamed([{ ...delta({ content: "x" }), usage: { prompt_tokens: 7 } }, { error: { message: "gone" } }]),
  ],
  [
    "a stream whose last piece says what went wrong and counts, as OpenRouter has it",
    () => streamed([delta({ content: "x" }), { error: { message: "gone" }, usage: { prompt_tokens: 7 } }]),
  ],
])("what was counted of an answer that is none is known: %s", async (_, answer) => {
  expect((await errorOf(answer)).usage).toEqual({ promptTokens: 7, completionTokens: 0 });
});

test("a count in the choice is a stream's usage, where there is no other", async () => {
  const usage = { prompt_tokens: 19, completion_tokens: 21, total_tokens: 40 };
  const end = { choices: [{ index: 0, delta: {}, finish_reason: "stop", usage }] };
  expect((await streamed([delta({ content: "x" }), end])).usage).toEqual({
    promptTokens: 19,
    completionTokens: 21,
  });
});

test("thoughts that come in pieces without an index go back as one, under their signature", async () => {
  const block = (thinking: string, signature?: string) =>
    delta({ thinking_blocks: [{ type: "thinking", thinking, signature }] });
  const answer = await streamed([
    block("a", ""),
    block("b"),
    block("", "S1"),
    block("c"),
    block("", "S2"),
    delta({}, "stop"),
  ]);
  expect(answer.provider?.message?.["thinking_blocks"]).toEqual([
    { type: "thinking", thinking: "ab", signature: "S1" },
    { type: "thinking", thinking: "c", signature: "S2" },
  ]);
});

test("thoughts and signatures of calls that have one index stay what they are", async () => {
  const details = (...items: readonly Piece[]) => delta({ reasoning_details: items });
  const answer = await streamed([
    details({ type: "reasoning.text", text: "a", index: 0 }),
    details({ type: "reasoning.text", text: "b", index: 0 }),
    details({ type: "reasoning.encrypted", id: "c1", data: "S1", index: 0 }),
    details({ type: "reasoning.encrypted", id: "c2", data: "S2", index: 0 }),
    details({ type: "reasoning.text", signature: "T", index: 0 }),
    delta({}, "stop"),
  ]);
  expect(answer.provider?.message?.["reasoning_details"]).toEqual([
    { type: "reasoning.text", text: "ab", signature: "T", index: 0 },
    { type: "reasoning.encrypted", id: "c1", data: "S1", index: 0 },
    { type: "reasoning.encrypted", id: "c2", data: "S2", index: 0 },
  ]);
});

const EVENTS =
  'data: {"choices":[{"delta":{"content":"Which?"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const WHOLE = '{"choices":[{"message":{"content":"Which?"},"finish_reason":"stop"}]}';

describe.each([false, true])("an answer of status 200, a stream asked for: %s,", (stream) => {
  const ask = async (type: string | undefined, body: string, more: Record<string, string> = {}) => {
    const server = await startRawServer((response: ServerResponse) => {
      response.writeHead(200, { ...(type === undefined ? {} : { "content-type": type }), ...more });
      response.end(body);
    });
    return createChatModel().complete({
      settings: { model: "m", baseUrl: server.baseUrl, stream, timeoutMs: 30_000 },
      messages: [],
      tools: [],
      signal: new AbortController().signal,
    });
  };

  test.each<readonly [string, string | undefined, string]>([
    ["whole under the type of events", "text/event-stream", WHOLE],
    ["whole under no type", undefined, WHOLE],
    ["whole behind a mark of its bytes' order", "text/plain", `\ufeff\n ${WHOLE}`],
    ["of events under the type of JSON", "application/json", EVENTS],
    ["of events behind pings", undefined, `: ping\r\n\r\n\n\n${EVENTS}`],
    ["of events behind empty data", "text/event-stream", `data:\n\n${EVENTS}`],
    ["of events without empty lines", "text/event-stream", EVENTS.replaceAll("\n\n", "\n")],
    ["of events without an end of the last line", undefined, EVENTS.replaceAll("\n\n", "\n").trimEnd()],
    [
      "of an event in several lines",
      "text/event-stream",
      'data: {"choices":\ndata: [{"delta":{"content":"Which?"},\ndata: "finish_reason":"stop"}]\ndata: }\n\n',
    ],
    ["of events behind words", "text/event-stream", `data: ping\n\ndata: [PING]\n\ndata: null\n\n${EVENTS}`],
  ])("is read as what it is: %s", async (_, type, body) => {
    expect((await ask(type, body)).content).toBe("Which?");
  });

  test.each([
    '{"error":{"message":"slow down","code":429}}',
    'data: {"choices":[{"delta":{"content":"Wh"}}]}\n\ndata: {"error":{"message":"slow down","code":429}}\n\n',
    '{"error":{"message":"slow down","code":"RequestBurst"}}',
  ])("that says what went wrong has the wait in its headers: %s", async (body) => {
    await expect(ask(undefined, body, { "retry-after": "33" })).rejects.toMatchObject({
      retryAfterMs: 33_000,
    });
  });

  test.each<readonly [string, string, Partial<ModelError>, string]>([
    ["nothing", "", { code: "LLM_BAD_RESPONSE", retryable: true }, "it is empty"],
    [
      "a page",
      "<!DOCTYPE html><title>Log in</title>",
      { retryable: true },
      "a web page, not a chat completion: Log in",
    ],
    [
      "an error",
      '{"error":{"message":"no","code":"invalid_api_key"}}',
      { code: "LLM_AUTH_FAILED", retryable: false },
      "it says no",
    ],
    [
      "an error without a field for it",
      '{"object":"error","message":"no","code":503}',
      { code: "LLM_HTTP_ERROR", retryable: true },
      "answered 503 no",
    ],
    [
      "an error of MiniMax",
      '{"choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}',
      { retryable: false },
      "it says insufficient balance",
    ],
    ["a detail", '{"detail":"Not authenticated"}', { retryable: true }, "it says Not authenticated"],
    [
      "plain words",
      "upstream connect error or disconnect/reset before headers",
      { code: "LLM_BAD_RESPONSE", retryable: true },
      "it says upstream connect error or disconnect/reset before headers",
    ],
    [
      "plain words of a key",
      "Invalid API key",
      { code: "LLM_AUTH_FAILED", retryable: false },
      "it says Invalid API key",
    ],
    [
      "of another interface",
      '{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"},"Version":"1.0"}',
      { code: "LLM_BAD_RESPONSE", retryable: true },
      'it holds no choice, but {"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"}',
    ],
    ["words in JSON", '"overloaded"', { code: "LLM_BAD_RESPONSE", retryable: true }, "it says overloaded"],
    [
      "an event of an error",
      'event: error\ndata: {"message":"upstream died","code":502}\n\n',
      { code: "LLM_HTTP_ERROR", retryable: true },
      "answered 502 upstream died",
    ],
    [
      "words in a stream",
      "data: upstream is gone\n\ndata: [DONE]\n\n",
      { code: "LLM_BAD_RESPONSE", retryable: true },
      "it says upstream is gone",
    ],
    [
      "a field of an error, as llama.cpp has it",
      'error: {"code":400,"message":"the request exceeds the available context size","n_ctx":4096}\n\n',
      { code: "LLM_CONTEXT_EXCEEDED", contextTokens: 4096 },
      "exceeds the available context size",
    ],
  ])("that is %s says so", async (_, body, expected, words) => {
    const error = await errorOf(() => ask(undefined, body));
    expect(error).toMatchObject(expected);
    expect(error.message).toContain(words);
  });

  test.each(["", false, {}, null, { code: null, message: null }, { code: 0, message: "" }])(
    "has no error where its error is %j",
    async (error) => {
      expect((await ask(undefined, JSON.stringify({ ...JSON.parse(WHOLE), error }))).content).toBe("Which?");
    },
  );
});

test.each([
  ["hunter2x", "<secret>"],
  ["ollama", "ollama"],
])("an answer that repeats the key %s says %s", async (apiKey, said) => {
  const server = await startRawServer((response) => {
    response.end(
      JSON.stringify({ choices: [{ message: { content: `Is it ${apiKey}?` }, finish_reason: "stop" }] }),
    );
  });
  const { content } = await createChatModel().complete({
    settings: { model: "m", baseUrl: server.baseUrl, apiKey, stream: false, timeoutMs: 30_000 },
    messages: [],
    tools: [],
    signal: new AbortController().signal,
  });
  expect(content).toBe(`Is it ${said}?`);
});

test.each<readonly [string, (key: string) => string]>([
  ["as it is", (key) => key],
  ["in percents", (key) => encodeURIComponent(key)],
  ["in base64", (key) => Buffer.from(`the key is ${key}`).toString("base64")],
  ["in escapes", (key) => key.replace(/./g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`)],
])("the thoughts of a model that repeats its key %s are kept without it", async (_, encoded) => {
  const apiKey = "hunter2/Hunter3+key=";
  const thought = `It may be ${encoded(apiKey)} or not.`;
  const message = { content: "Which?", reasoning_content: thought, reasoning_details: [{ text: thought }] };
  const server = await startRawServer((response) => {
    response.end(JSON.stringify({ choices: [{ message, finish_reason: "stop" }] }));
  });
  const { provider } = await createChatModel().complete({
    settings: { model: "m", baseUrl: server.baseUrl, apiKey, stream: false, timeoutMs: 30_000 },
    messages: [],
    tools: [],
    signal: new AbortController().signal,
  });
  const clean = "It may be <secret> or not.";
  expect(provider?.message).toEqual({ reasoning_content: clean, reasoning_details: [{ text: clean }] });
});
