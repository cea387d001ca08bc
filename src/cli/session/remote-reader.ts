import { remotePages } from "../../client/stores/remote-pages.js";
import { storeReader } from "../../client/stores/store-reader.js";
import type { StoreReader } from "../../contract/reads.js";
import { defined } from "../../core/defined.js";
import { excerpt } from "../../core/text.js";
import type { TemporalSession } from "./temporal-session.js";

/** Longer than it takes to say that nobody takes a question. */
const SILENCE_MS = 6_500;

/** Reads the store elsewhere whose queue the session's client has. A worker that takes its time is said to, once. */
export function remoteReader(
  { client, note }: Pick<TemporalSession, "client" | "note">,
  storeId?: string,
): StoreReader {
  const pages = remotePages(client);
  let isSaid = false;
  const say = (): void => {
    if (!isSaid) note(waitsWords(client.taskQueue));
    isSaid = true;
  };
  const waited: typeof pages = async (name, asked) => {
    const silence = setTimeout(say, SILENCE_MS);
    try {
      return await pages(name, asked);
    } finally {
      clearTimeout(silence);
    }
  };
  return storeReader(waited, defined({ storeId }));
}

function waitsWords(taskQueue: string): string {
  return `A worker of the task queue "${excerpt(taskQueue)}" is asked and does not answer yet: it is busy, or stopped. Waiting for it, or for another one; Ctrl-C stops waiting.`;
}
