import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** Browsers that are let in at once; the one that came first makes room for the next. */
const MAX_SESSIONS = 16;

/** 256 bits, as text. */
function secret(): string {
  return randomBytes(32).toString("base64url");
}

function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/**
 * Who may use the page: whoever has opened the link that was printed. A link is good once; the next one is made when it is used. Only
 * hashes are kept.
 */
export class Sessions {
  private link: Buffer = Buffer.alloc(0);
  private readonly known = new Map<string, Session>();
  private readonly cookieName: string;
  /**
   * What the paths of the API begin with, told to those who have opened a link. Cookies know no ports: on a path that others can guess, the
   * browser would send the session's to any other program of this host that it visits.
   */
  readonly place = `/api/${secret()}`;
  private readonly onToken: (token: string) => void;

  /** `onToken` is told of each link's token. `port` tells the cookies of several pages on one host apart. */
  constructor(port: number, onToken: (token: string) => void) {
    this.cookieName = `interlock-page-${port}`;
    this.onToken = onToken;
    this.nextLink();
  }

  /** The cookie of a new session, for the token of the link; undefined for any other. */
  open(token: string): string | undefined {
    if (!timingSafeEqual(hashOf(token), this.link)) return undefined;
    const id = secret();
    const [oldest] = this.known;
    if (this.known.size >= MAX_SESSIONS && oldest !== undefined) {
      const [name, session] = oldest;
      this.known.delete(name);
      session.over.abort(new Error("Another browser has taken its place."));
    }
    this.known.set(hashOf(id).toString("hex"), { streams: 0, over: new AbortController() });
    this.nextLink();
    return `${this.cookieName}=${id}; Path=${this.place}; HttpOnly; SameSite=Strict`;
  }

  /** The session that a request's cookies name. */
  find(cookies: string | undefined): Session | undefined {
    for (const cookie of (cookies ?? "").split(";")) {
      const [name = "", value = ""] = cookie.trim().split("=", 2);
      const session = name === this.cookieName ? this.known.get(hashOf(value).toString("hex")) : undefined;
      if (session !== undefined) return session;
    }
    return undefined;
  }

  private nextLink(): void {
    const token = secret();
    this.link = hashOf(token);
    this.onToken(token);
  }
}

/** A browser that was let in. */
export interface Session {
  /** How many streams it has open. */
  streams: number;
  /** Aborted when another browser takes its place: what it watches ends with it. */
  readonly over: AbortController;
}
