import type { Entry } from "../ways/entries.js";
import type { SourceGraph } from "../ways/plan-graph.js";
import { isBelow } from "../source/references.js";
import { type SourceText, readSource } from "../source/source-text.js";
import { type SourceTree, folderOf } from "../source/source-tree.js";

/** Something that a run of the package will be asked to do. */
export interface Need {
  readonly name: "shell" | "git" | "web" | "subagents" | "mcp";
  /** The first places that ask for it, `file:line`. */
  readonly places: readonly string[];
  /** What the run does instead. */
  readonly instead: string;
}

const MAX_PLACES = 5;

const ASKS: readonly (Omit<Need, "places"> & { readonly asks: RegExp })[] = [
  {
    name: "shell",
    asks: /\b(?:python3?|uv run|npm|npx|yarn|pnpm|bash|pytest|node) [\w./{-]|\bRun: `|\brun the (?:tests?|command|script)|\bshell\b|\bterminal\b|\bexecute (?:the )?(?:tests?|command|script)|(?:^|[\s:(])!`[\w./[]/i,
    instead: "the model says what to run, or does by hand what the script would do",
  },
  {
    name: "git",
    asks: /\bgit (?:diff|log|status|add|commit|rev-parse|show|stash|checkout|branch|worktree|init)\b|\bcommit the changes\b|\bworking tree\b/i,
    instead: "paste a diff or name the files when the run asks",
  },
  {
    name: "web",
    asks: /\bweb ?-?search|\bsearch (?:the|for .{1,40} on the) (?:web|internet)|\bbrowse the web\b|\bfetch (?:the )?(?:url|page)|\bweb (?:research|browsing)\b|\binternet\b/i,
    instead: "the model says that it works from what it knows and what the project holds",
  },
  {
    name: "subagents",
    asks: /\bsub-?agents?\b|\bsub-?process(?:es)?\b|\btask tool\b|\bagent team\b/i,
    instead: "the model does their work itself, one after the other",
  },
  {
    name: "mcp",
    asks: /\bmcp__\w+__\w/,
    instead:
      "the model does without, unless the settings name their servers and tools.mcp in agents.json allows them",
  },
];

/** What the steps ask for that goes beyond reading and writing files of the project. */
export function needsOf(texts: readonly (readonly [path: string, source: SourceText])[]): readonly Need[] {
  return ASKS.flatMap(({ asks, ...need }) => {
    const places: string[] = [];
    for (const [path, source] of texts) {
      const line = source.body.find(({ text }) => asks.test(text.slice(0, 1_000)));
      if (line !== undefined) places.push(`${path}:${line.number}`);
    }
    return places.length === 0 ? [] : [{ ...need, places: places.slice(0, MAX_PLACES) }];
  });
}

/** Of a skill without steps what it reads, beside its own text: the work is told there. */
export function referencesOf(
  tree: SourceTree,
  entry: Entry,
  graph: SourceGraph,
): readonly (readonly [path: string, source: SourceText])[] {
  if (entry.form !== "instructions") return [];
  const folder = folderOf(entry.document);
  const read = [...graph.used].filter(
    (path) => path.endsWith(".md") && isBelow(path, folder) && tree.has(path),
  );
  return read.map((path) => [path, readSource(tree.text(path))]);
}

const REMEMBERS =
  /\b(?:in memory|based on (?:the |our )?(?:conversation|discussion)|from (?:the )?(?:previous|earlier|prior) (?:steps?|conversation)|(?:earlier|previous) (?:in (?:the|this) )?conversation|already loaded|carry for the rest|conversation history|from step \d|established in)\b/i;

/** The first line by which a step relies on what was said before it, if one does. */
export function remembers(source: SourceText): number | undefined {
  return source.body.find(({ text }) => REMEMBERS.test(text.slice(0, 1_000)))?.number;
}
