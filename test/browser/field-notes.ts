import { nestedPackage } from "../fakes/nested-package.js";
import { type ChatRequestBody, type ScriptedAnswer, call, patch } from "../fakes/scripted-model.js";
import { twoNodePackage } from "../fakes/two-node-package.js";
import { nodeOf, step } from "../fakes/walk.js";

/*
 * A package whose runs show what the page has to show: a question, a loop, a refused move, files in two versions, and texts that want to
 * be more than text.
 */

/** What would run, load or mislead, if it could. */
const HOSTILE = [
  "# Notes <script>window.harmed = 'script'</script>",
  "",
  "<img src=x onerror=\"window.harmed = 'image'\"><svg onload=\"window.harmed = 'svg'\"></svg>",
  "<style>body { display: none }</style><form action=https://evil.test><input name=q></form>",
  "<iframe src=https://evil.test></iframe>",
  "",
  "[a script](javascript:window.harmed='link') [data](data:text/html,<script>1</script>) [other](vbscript:x) [a page](https://example.com/a)",
  "",
  "![a picture](https://evil.test/pixel.png) <https://example.com/b>",
  "",
  "report\u202Efdp.exe and zero\u200Bwidth",
  "",
  "report&#x202E;fdp.exe and zero&ZeroWidthSpace;width",
  "",
  "```ts",
  'const label: string = "</code><script>window.harmed = 1</script>"; // code',
  "```",
  "",
].join("\n");

const QUESTION =
  "Which of these shall the notes be for?\n\n1. **Newcomers**, who know nothing\n2. Colleagues";

const FIRST = "# Field notes\n\nThe heron stands.\n\n- one\n- two\n";
const SECOND = "# Field notes\n\nThe heron stands still.\n\n- one\n- two\n- three\n";

const NODES = [
  ["gather", "step", "Gather what is known"],
  ["ask", "step", "Ask for whom it is"],
  ["draft", "step", "Draft the notes"],
  ["review", "decision", "Review the draft"],
  ["publish", "end", "Publish"],
] as const;

/** What the bundle run writes. */
export const BUNDLE_RESULT = "request-2026-03-04.md";

export function fieldNotes(): Record<string, string> {
  const {
    "steps/ask.md": _ask,
    "steps/middle.md": _middle,
    "steps/finish.md": _finish,
    ...rest
  } = twoNodePackage();
  const edge = (from: string, to: string, label: string, isDefault = true) => ({
    from,
    to,
    label,
    isDefault,
  });
  const graph = {
    schemaVersion: "1.1",
    entryNodeId: "gather",
    nodes: NODES.map(([id, type, title]) => ({ id, type, title, file: `steps/${id}.md` })),
    edges: [
      edge("gather", "ask", "gathered"),
      edge("ask", "draft", "answered"),
      edge("draft", "review", "drafted"),
      edge("review", "publish", "good"),
      edge("review", "draft", "again", false),
    ],
  };
  const steps = NODES.map(([id, type]) => [
    `steps/${id}.md`,
    `---\nschemaVersion: "1.1"\nnodeId: ${id}\ntype: ${type}\n---\nDo ${id}.\n`,
  ]);
  return {
    ...rest,
    "bmad.json": (rest["bmad.json"] ?? "").replace("two-nodes", "field-notes"),
    "workflow.md": (rest["workflow.md"] ?? "").replace("two-nodes", "field-notes"),
    "workflow.graph.json": JSON.stringify(graph),
    ...Object.fromEntries(steps),
  };
}

const write = (path: string, content: string) =>
  call("fs_write", { path: `@project/artifacts/${path}`, content });

/** A workflow with a subworkflow that asks at `colour`. */
export function notesInParts(): Record<string, string> {
  const publish = { type: "end" };
  return nestedPackage({
    main: { nodes: { parts: { type: "subworkflow", workflow: "part" }, publish } },
    part: { nodes: { colour: {}, publish } },
  });
}

/** What the model does next to; changed by tests. */
export interface Mood {
  /** The endpoint refuses the key. */
  refusesKey: boolean;
  /** Awaited before a draft ends. */
  beforeDraftEnds: (() => Promise<void>) | undefined;
  /** Awaited before a question ends. */
  beforeQuestionEnds: (() => Promise<void>) | undefined;
  /** How often it has reviewed. */
  reviews: number;
}

/** The model of such a run: it walks on, asks at `ask`, tries a move that is no edge, and wants the draft once more. */
export function fieldModel(mood: Mood) {
  return (request: ChatRequestBody): ScriptedAnswer => {
    if (mood.refusesKey) return { status: 401, body: { error: { message: "Incorrect API key" } } };
    switch (nodeOf(request)) {
      case "":
        return bundleTurn(request);
      case "gather":
        return gather(request);
      case "ask":
        return isAnswered(request)
          ? { calls: [variables({ audience: "newcomers" }), step("ask", "draft")] }
          : { content: QUESTION, ...held(mood.beforeQuestionEnds) };
      case "colour":
        return isAnswered(request)
          ? { calls: [step("colour", "publish")] }
          : { content: "Which **colour**?" };
      case "draft":
        return draft(mood);
      case "review":
        return review(request, mood);
      default:
        return { calls: [patch({ stepsCompleted: { append: ["publish"] } })] };
    }
  };
}

/** Of the example bundle's intake workflow: read, written, done. */
function bundleTurn(request: ChatRequestBody): ScriptedAnswer {
  const calls = request.messages.filter(({ tool_calls: made }) =>
    made?.some(({ function: { name } }) => NAMES.includes(name)),
  );
  if (calls.length === 0) return { calls: [call("preload_workflow", { workflow_path: INTAKE })] };
  if (calls.length === 1)
    return { calls: [call("save_output", { file_path: BUNDLE_RESULT, content: "# A quiet book\n" })] };
  return { content: "Everything is saved.\n\nWORKFLOW COMPLETE" };
}

const INTAKE = "{bundle-root}/workflows/intake/workflow.yaml";
const NAMES = ["preload_workflow", "save_output"];

function gather(request: ChatRequestBody): ScriptedAnswer {
  if (toolResults(request) > 0) return { calls: [step("gather", "ask")] };
  return {
    content: `I look at what is there.\n\n${HOSTILE}`,
    calls: [
      call("fs_read", { path: "@project/missing.md" }),
      write("sources.md", HOSTILE),
      write("list.json", '{ "birds": ["heron"] }\n'),
    ],
  };
}

function draft(mood: Mood): ScriptedAnswer {
  const calls = [write("notes.md", mood.reviews === 0 ? FIRST : SECOND), step("draft", "review")];
  return { content: "I write the notes now, for newcomers.", calls, ...held(mood.beforeDraftEnds) };
}

function held(beforeEnd: (() => Promise<void>) | undefined) {
  return beforeEnd === undefined ? {} : { beforeEnd };
}

function review(request: ChatRequestBody, mood: Mood): ScriptedAnswer {
  if (mood.reviews > 0) return { content: "They are good.", calls: [step("review", "publish")] };
  if (toolResults(request) === 0) return { calls: [patch({ currentNodeId: { set: "gather" } })] };
  mood.reviews += 1;
  return { content: "A third point is missing.", calls: [step("review", "draft")] };
}

function variables(set: object) {
  return patch({ variables: { set } });
}

function toolResults(request: ChatRequestBody): number {
  return request.messages.filter(({ role }) => role === "tool").length;
}

function isAnswered(request: ChatRequestBody): boolean {
  return request.messages.some(
    ({ role, content }) => role === "user" && content?.startsWith("USER_INPUT") === true,
  );
}
