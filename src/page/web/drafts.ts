import { useLayoutEffect, useState } from "preact/hooks";
import { PageError } from "./ask.js";

/** What somebody types for a question, or for the start of a run. */
export interface Draft {
  /** Which question: its run and its id; or which field. */
  readonly to: string;
  readonly text: string;
  /** It is on its way: whether it is taken, its answer says, or the run. */
  readonly isSent?: boolean;
}

export interface Drafts {
  readonly all: readonly Draft[];
  /** An empty text takes the draft away. */
  readonly type: (to: string, text: string) => void;
  /** Marks what is sent meanwhile. Throws what `act` throws. */
  readonly whileSent: (to: string, act: () => Promise<unknown>) => Promise<void>;
}

/** By page. They outlive the form, which goes when its question is answered elsewhere, and the view: what is sent from it may come back refused. */
const typed = new Map<string, readonly Draft[]>();
const changes = new EventTarget();

/** What is typed on a page, of a run or of a package. The tab keeps it, also when the page is loaded anew. */
export function useDrafts(page: string): Drafts {
  const [all, setAll] = useState(() => draftsOf(page));
  useLayoutEffect(() => {
    const look = () => setAll(draftsOf(page));
    changes.addEventListener("change", look);
    return () => changes.removeEventListener("change", look);
  }, [page]);
  const put = (to: string, change: (text: string) => Omit<Draft, "to">, isKept = true) => {
    const before = draftsOf(page);
    const draft = { to, ...change(before.find((each) => each.to === to)?.text ?? "") };
    const after = [...before.filter((each) => each.to !== to), ...(draft.text === "" ? [] : [draft])];
    typed.set(page, after);
    if (isKept) keep(page, after);
    changes.dispatchEvent(new Event("change"));
  };
  const type = (to: string, text: string) => put(to, () => ({ text }));
  const whileSent = async (to: string, act: () => Promise<unknown>): Promise<void> => {
    put(to, (text) => ({ text, isSent: true }));
    try {
      await act();
      type(to, "");
    } catch (error) {
      // What breaks off may have been taken, and breaks off when the page is left as well: the next page waits for what the run says.
      put(to, (text) => ({ text }), !(error instanceof PageError && error.code === "OFFLINE"));
      throw error;
    }
  };
  return { all, type, whileSent };
}

function placeOf(page: string): string {
  return `drafts of ${page}`;
}

function draftsOf(page: string): readonly Draft[] {
  return typed.get(page) ?? keptOf(page);
}

function keptOf(page: string): readonly Draft[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(placeOf(page)) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isDraft) : [];
  } catch {
    return [];
  }
}

function isDraft(kept: unknown): kept is Draft {
  if (typeof kept !== "object" || kept === null) return false;
  return "to" in kept && typeof kept.to === "string" && "text" in kept && typeof kept.text === "string";
}

/** Where the browser keeps nothing, or no more, what is typed is in the page alone. */
function keep(page: string, drafts: readonly Draft[]): void {
  try {
    if (drafts.length === 0) sessionStorage.removeItem(placeOf(page));
    else sessionStorage.setItem(placeOf(page), JSON.stringify(drafts));
  } catch {
    return;
  }
}
