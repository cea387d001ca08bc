import type { Client } from "@modelcontextprotocol/client";
import { z } from "zod";
import { saidAs } from "./message-lines.js";

const PAGE_TIMEOUT_MS = 10_000;
/** Of all pages: a turn waits for them. */
const LIST_TIMEOUT_MS = 30_000;
const MAX_PAGES = 20;
/** Of one server; more are not looked at. */
const MAX_LISTED_TOOLS = 500;

/** What the protocol leaves out where there is none: servers that are written by hand say `null`, as for a list of no tools (Go's do). */
const listSchema = z.looseObject({
  tools: z.array(z.unknown()).nullish(),
  nextCursor: z.string().nullish().catch(undefined),
});

interface ListedTools {
  readonly tools: readonly unknown[];
  /** The server has no more. */
  readonly isWhole: boolean;
}

/** The tools of a server, page by page: as many as it says in time. Rejects where a page does not come. */
export async function askForTools(
  client: Pick<Client, "request">,
  now: () => number = Date.now,
): Promise<ListedTools> {
  const tools: unknown[] = [];
  const cursors = new Set([""]); // some servers say an empty one behind the last page, or the same one again
  const begun = now();
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_LISTED_TOOLS; page += 1) {
    if (now() - begun >= LIST_TIMEOUT_MS) break;
    const params = cursor === undefined ? {} : { cursor };
    const answer: z.infer<typeof listSchema> = await client.request(
      { method: "tools/list", params },
      saidAs(listSchema),
      { timeout: PAGE_TIMEOUT_MS },
    );
    tools.push(...(answer.tools ?? []));
    cursor = answer.nextCursor ?? "";
    if (cursors.has(cursor))
      return { tools: tools.slice(0, MAX_LISTED_TOOLS), isWhole: tools.length <= MAX_LISTED_TOOLS };
    cursors.add(cursor);
  }
  return { tools: tools.slice(0, MAX_LISTED_TOOLS), isWhole: false };
}
