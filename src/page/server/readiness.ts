import type { InterlockClient } from "../../client/client.js";
import { SILENT, unreadyWords } from "../../client/temporal/temporal-words.js";
import { askOnce } from "../../core/ask-once.js";

const READY_MS = 3_000;

/** Why the page can show nothing now, in a sentence; undefined while Temporal answers. Who asks meanwhile hears the same answer. */
export function readiness({ temporal, namespace }: InterlockClient): () => Promise<string | undefined> {
  return askOnce(async () => {
    try {
      await temporal.withDeadline(Date.now() + READY_MS, () =>
        temporal.workflowService.describeNamespace({ namespace }),
      );
      return undefined;
    } catch (error) {
      return unreadyWords(error) ?? SILENT;
    }
  });
}
