import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { RouteAnswer, RouteName, RouteRequest } from "../api.js";
import { type PageError, ask, toPageError } from "./ask.js";

/** What was asked for: the newest answer, also while it is asked again or after that has failed. */
export interface Asked<T> {
  readonly value: T | undefined;
  readonly error: PageError | undefined;
  /** Asks again, without taking away what is shown. */
  readonly again: () => void;
}

/** What could not be answered is asked again: the run may have begun since, or a worker be back. */
const RETRY_MS = 3_000;

/**
 * Asks whenever `key` changes, and every `everyMs` while somebody looks at the page; after an error, until there is an answer. An answer that comes late, for another key, counts
 * for nothing. Another `asOf` asks the same anew, and keeps what is shown until then.
 */
export function useAsked<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  everyMs?: number,
  asOf = 0,
): Asked<T> {
  const [held, setHeld] = useState<Held<T>>({ key });
  const latest = useRef(load);
  latest.current = load;
  const asking = useRef<OneAtATime | undefined>(undefined);
  const askedAsOf = useRef(asOf);

  useEffect(() => {
    const one = new OneAtATime(async (signal) => {
      try {
        const value = await latest.current(signal);
        if (!signal.aborted) setHeld({ key, value });
      } catch (error) {
        if (signal.aborted) return;
        setHeld((before) => ({ ...(before.key === key ? before : { key }), error: toPageError(error) }));
      }
    });
    asking.current = one;
    askedAsOf.current = asOf;
    one.again();
    return () => one.end();
  }, [key]);

  const again = useCallback(() => asking.current?.again(), []);
  useEffect(() => {
    if (askedAsOf.current === asOf) return;
    askedAsOf.current = asOf;
    again();
  }, [asOf]);

  const isOfKey = held.key === key;
  const pauseMs = everyMs ?? (isOfKey && held.error !== undefined ? RETRY_MS : undefined);
  useEffect(() => {
    if (pauseMs === undefined) return undefined;
    return whileSeen(() => asking.current?.isUnderWay === false && again(), pauseMs);
  }, [again, pauseMs]);

  return { value: isOfKey ? held.value : undefined, error: isOfKey ? held.error : undefined, again };
}

/** As `useAsked`, of what one route answers: a request is its own key. */
export function useAnswer<N extends RouteName>(
  name: N,
  request: RouteRequest<N>,
  { everyMs, asOf }: { readonly everyMs?: number; readonly asOf?: number } = {},
): Asked<RouteAnswer<N>> {
  const key = `${name} ${JSON.stringify(request)}`;
  return useAsked(key, (signal) => ask(name, request, signal), everyMs, asOf);
}

/** Does one thing at a time. What is wanted again meanwhile is done once more afterwards, never in its place: else a slow answer would never come. */
class OneAtATime {
  isUnderWay = false;
  private isWanted = false;
  private readonly stop = new AbortController();
  private readonly act: (signal: AbortSignal) => Promise<void>;

  /** `act` must not throw. */
  constructor(act: (signal: AbortSignal) => Promise<void>) {
    this.act = act;
  }

  again(): void {
    this.isWanted = true;
    if (!this.isUnderWay) void this.actWhileWanted();
  }

  end(): void {
    this.stop.abort();
  }

  private async actWhileWanted(): Promise<void> {
    this.isUnderWay = true;
    while (this.isWanted && !this.stop.signal.aborted) {
      this.isWanted = false;
      await this.act(this.stop.signal);
    }
    this.isUnderWay = false;
  }
}

interface Held<T> {
  readonly key: string;
  readonly value?: T | undefined;
  readonly error?: PageError | undefined;
}

/** Calls every so often while the page is seen, and at once when it is seen again or the network is back. Returns what ends it. */
function whileSeen(call: () => void, everyMs: number): () => void {
  const timer = setInterval(() => !document.hidden && call(), everyMs);
  const seen = () => !document.hidden && call();
  document.addEventListener("visibilitychange", seen);
  addEventListener("online", seen);
  return () => {
    clearInterval(timer);
    removeEventListener("online", seen);
    document.removeEventListener("visibilitychange", seen);
  };
}

/** Something that is done once at a time, by a button: what it said, or why it was refused. */
export interface Doing {
  readonly isBusy: boolean;
  readonly error: PageError | undefined;
  readonly run: (act: () => Promise<unknown>) => Promise<void>;
}

export function useDoing(): Doing {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<PageError>();
  const run = useCallback(async (act: () => Promise<unknown>) => {
    setBusy(true);
    setError(undefined);
    try {
      await act();
    } catch (thrown) {
      setError(toPageError(thrown));
    } finally {
      setBusy(false);
    }
  }, []);
  return { isBusy, error, run };
}

const NOW_MS = 5_000;

/** The time, anew every so often: what says how long ago something was goes on. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => whileSeen(() => setNow(Date.now()), NOW_MS), []);
  return now;
}

export interface OnceIds {
  readonly of: (sent: object) => string;
  /** After it was taken. */
  readonly renew: () => void;
}

/** Ids for what a form sends: sent again it happens once, though nobody has heard of the first time. What was changed meanwhile is something else. */
export function useOnceIds(): OnceIds {
  const [ids] = useState(() => new Map<string, string>());
  const of = (sent: object) => {
    const key = JSON.stringify(sent);
    const id = ids.get(key) ?? crypto.randomUUID();
    ids.set(key, id);
    return id;
  };
  return { of, renew: () => ids.clear() };
}
