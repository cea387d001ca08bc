import { pathToFileURL } from "node:url";
import { Client, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { z } from "zod";
import { barredPort } from "../core/barred-port.js";
import { redactSecrets } from "../core/prompt/redact.js";
import { inTime } from "../within.js";
import { Interrupted, NotReached, Reopenable } from "../tools/external/tool-source.js";
import { askForTools } from "./ask-for-tools.js";
import { codeIn, isLost, whyFailed, whyNotTaken } from "./http-way.js";
import { isUnreadable, saidAs } from "./message-lines.js";
import { paramHeaders } from "./param-headers.js";
import { secretsOf, withoutSecrets } from "./secrets.js";
import { type McpServer, isOfProject, tokenProblem } from "./server-settings.js";
import {
  METHOD_NOT_FOUND,
  bothEnds,
  isOf,
  isRefusal,
  notBegun,
  refuseRequest,
  saidBeside,
  whatOfCall,
} from "./server-words.js";
import { type Surroundings, wayTo } from "./transport.js";
import { ENDED_FOR_LENGTH, knowsNoTools, whyNotBegun, whyUnanswered, whyUnlisted } from "./why-not.js";
import { WITHOUT_HANDSHAKE, refusesHandshake } from "./without-handshake.js";

/** So long somebody waits for a server. */
const CONNECT_TIMEOUT_MS = 30_000;
/** So long a program may take all in all: until then whoever asks next finds it further on, where a new one would be no quicker. */
const PROGRAM_TIMEOUT_MS = 120_000;
const PING_TIMEOUT_MS = 5_000;
/** Whoever calls has a timeout of its own; the SDK's, of one minute, would be another. */
const MAX_REQUEST_MS = 3_700_000;
/** Of a server: more than one has, with those that its tokens were before. */
const MAX_SECRETS = 100;
/** Notifications, requests and what cannot be read: each costs the worker something, and a request an answer that is kept until it is read. */
const MAX_UNASKED_A_MINUTE = 10_000;

/**
 * What the protocol leaves out where there is none: servers that are written by hand say `null`. They have one block for a list of
 * them as well, or its text alone, and a yes or no in other spellings.
 */
const answerSchema = z.looseObject({
  content: z
    .union([
      z.array(z.unknown()),
      z.string().transform((text) => [{ type: "text", text }]),
      z.looseObject({ type: z.string() }).transform((block) => [block]),
    ])
    .nullish(),
  structuredContent: z.unknown().optional(),
  isError: z
    .union([
      z.boolean(),
      z.literal(["true", "True", 1]).transform(() => true),
      z.literal(["false", "False", 0]),
    ])
    .nullish(),
});
export type McpAnswer = z.infer<typeof answerSchema>;

/** A tool as its server describes it. */
interface CalledTool {
  readonly name: string;
  readonly inputSchema?: unknown;
}

/** What a connection is to. */
export interface ConnectionPlace extends Surroundings {
  readonly name: string;
  readonly server: McpServer;
  /** The version that servers are told. */
  readonly version: string;
  /** Is told what the operator may want to know. */
  readonly note: (sentence: string) => void;
}

/** A way to the server: it is being opened, is open, or was. */
interface Link {
  readonly client: Client;
  /** Who comes next opens another. */
  readonly leave: () => void;
  /** It was ended since it has said more at once than is read. */
  readonly isTooLong: () => boolean;
  /** Begun by the handshake of the versions of the protocol that have one. */
  readonly byHandshake: boolean;
  callsRunning: number;
  isOpen: boolean;
  /** It is closed with its last call. */
  isLeft: boolean;
}

/** One server, for all runs or those of one project: begun when it is needed, and begun again when it has ended. */
export class Connection {
  private readonly place: ConnectionPlace;
  private opened: Promise<Link> | undefined;
  private readonly links = new Set<Link>();
  private listed: readonly unknown[] | undefined;
  /** Whether the server is still alive is being found out: who wants to call it waits for that. */
  private suspicion: Promise<void> | undefined;
  private isStale = true;
  /** That the list of tools is cut off is told once. */
  private isCutTold = false;
  private isClosed = false;
  private asked = 0;
  /** Of the newest link, and of those before: a token may be exchanged between two, and what came under the old one may still be told. */
  private secrets: readonly string[] = [];

  constructor(place: ConnectionPlace) {
    this.place = place;
  }

  /** Nobody waits for an answer of it. */
  get isIdle(): boolean {
    return this.asked === 0;
  }

  /**
   * The tools as the server describes them; while it cannot be asked, those it had when it last could. The same list until it
   * is another. Throws `NotReached`.
   */
  tools(): Promise<readonly unknown[]> {
    return this.whileAsked(() => this.listTools());
  }

  /** Throws `NotReached` where the server cannot be asked, `Interrupted` where it was and has not answered. */
  call(tool: CalledTool, args: object, signal: AbortSignal): Promise<McpAnswer> {
    return this.whileAsked(() => this.callTool(tool, args, signal));
  }

  private async whileAsked<T>(ask: () => Promise<T>): Promise<T> {
    this.asked += 1;
    try {
      return await ask();
    } finally {
      this.asked -= 1;
    }
  }

  private async listTools(): Promise<readonly unknown[]> {
    await this.suspicion; // here, where no call's time runs yet
    if (this.isClosed) throw new NotReached("The worker is stopping.");
    if (this.listed !== undefined && !this.isStale) return this.listed;
    let link: Link | undefined;
    try {
      link = await this.link();
      this.isStale = false; // before it is asked: it may say again that they have changed
      const { tools, isWhole } = await askForTools(link.client);
      this.listed = tools;
      if (!isWhole && !this.isCutTold)
        this.place.note(this.sentence(`has more tools than the first ${tools.length}, which are looked at`));
      this.isCutTold = !isWhole;
    } catch (error) {
      if (this.listed === undefined && knowsNoTools(error) && link?.byHandshake === true) {
        this.place.note(this.sentence("has no tools"));
        return (this.listed = []); // until it says that they have changed
      }
      this.isStale = true;
      // A server that no longer says what it has may have forgotten the session, or be a proxy whose own server has ended, and tell it in an answer as any other.
      const mayHaveForgotten = isRefusal(error) && !isLost(error);
      if (link !== undefined && (this.listed === undefined || mayHaveForgotten)) await this.leave(link);
      if (this.listed === undefined) {
        if (error instanceof NotReached) throw error;
        const isTooLong = link?.isTooLong() === true;
        throw new NotReached(this.sentence(whyUnlisted(error, this.place.server, isTooLong)));
      }
    }
    return this.listed;
  }

  private async callTool(
    { name, inputSchema }: CalledTool,
    args: object,
    signal: AbortSignal,
  ): Promise<McpAnswer> {
    await this.suspicion;
    const link = await this.link();
    link.callsRunning += 1;
    try {
      const request = { method: "tools/call", params: { name, arguments: args } };
      const headers = link.byHandshake ? {} : paramHeaders(inputSchema, args);
      const options = { signal, timeout: MAX_REQUEST_MS, headers };
      const answer = await link.client.request(request, saidAs(answerSchema), options);
      if (answer.isError === true) this.isStale = true; // some proxies say so that their own server has ended
      return answer;
    } catch (error) {
      throw await this.failureOf(error, link);
    } finally {
      link.callsRunning -= 1;
      if (link.isLeft && link.callsRunning === 0) void this.drop(link);
    }
  }

  private async failureOf(error: unknown, link: Link): Promise<Error> {
    if (isRefusal(error) && !isLost(error) && !isUnreadable(error)) {
      this.isStale = true; // it may have other tools by now, and no way to say so
      return new Error(this.clean(`${whatOfCall(error)}: ${error.message}${saidBeside(error)}`), {
        cause: error,
      });
    }
    if (isOf(error, SdkErrorCode.NotConnected)) return new Reopenable(this.sentence("has ended"));
    this.suspicion ??= this.leaveUnlessAlive(link);
    const notTaken = whyNotTaken(error);
    if (notTaken !== undefined) {
      await this.suspicion;
      return new (link.isLeft ? Reopenable : NotReached)(this.sentence(notTaken));
    }
    return new Interrupted(this.sentence(whyFailed(error) ?? whyUnanswered(error, link.isTooLong())));
  }

  /** One that no more answers is begun again for the next who needs it. Calls that run on the old one are let end. */
  private async leaveUnlessAlive(link: Link): Promise<void> {
    try {
      const method = link.byHandshake ? "ping" : "server/discover";
      await link.client.request({ method }, z.unknown(), { timeout: PING_TIMEOUT_MS });
    } catch (error) {
      if (codeIn(error) !== METHOD_NOT_FOUND) await this.leave(link); // it answers, and has no word for that
    } finally {
      this.suspicion = undefined;
    }
  }

  private async leave(link: Link): Promise<void> {
    link.isLeft = true;
    link.leave();
    if (link.callsRunning === 0) await this.drop(link);
  }

  private async drop(link: Link): Promise<void> {
    await link.client.close().catch(() => undefined);
    this.links.delete(link);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.links].map((link) => this.drop(link))); // who begins one hears that it has ended
    await this.opened?.catch(() => undefined);
  }

  private link(): Promise<Link> {
    const late = (): NotReached => new NotReached(this.sentence(notBegun(CONNECT_TIMEOUT_MS)));
    return inTime(CONNECT_TIMEOUT_MS, this.linkOrBegin(), late);
  }

  private linkOrBegin(): Promise<Link> {
    if (this.isClosed) throw new NotReached("The worker is stopping.");
    if (this.opened === undefined) {
      const leave = (): void => {
        if (this.opened !== opening) return; // there is another by now
        this.opened = undefined;
        this.isStale = true;
      };
      const opening = this.open(leave);
      this.opened = opening;
      opening.catch(leave);
    }
    return this.opened;
  }

  /** `leave` is called when it is over with it. */
  private async open(leave: () => void): Promise<Link> {
    const { server, variable } = this.place;
    if ("url" in server) {
      const barred = barredPort(new URL(server.url));
      if (barred !== undefined) throw new NotReached(this.sentence(`cannot be reached: its URL ${barred}`));
      const problem = tokenProblem(server, variable);
      if (problem !== undefined)
        throw new NotReached(this.sentence(`wants a token: ${problem} where this worker runs`));
    }
    const known = new Set([...secretsOf(server, variable), ...this.secrets]);
    this.secrets = [...known].slice(0, MAX_SECRETS);
    return this.connect(leave, true);
  }

  private async connect(leave: () => void, byHandshake: boolean): Promise<Link> {
    const { server, projectRoot, version, note } = this.place;
    const { transport, lastWords, strays, isTooLong } = wayTo(server, this.place);
    const roots = isOfProject(server) ? { roots: {} } : {};
    const client = new Client({ name: "interlock-temporal", version }, { capabilities: roots });
    if (isOfProject(server)) {
      const uri = pathToFileURL(projectRoot).href;
      client.setRequestHandler("roots/list", () => ({ roots: [{ uri, name: "project" }] }));
    }
    client.fallbackRequestHandler = refuseRequest;
    client.setNotificationHandler("notifications/tools/list_changed", () => {
      this.isStale = true;
    });
    const still = { callsRunning: 0, isOpen: false, isLeft: false };
    const link: Link = { client, leave, isTooLong, byHandshake, ...still };
    const tell = (what: string): void => {
      const words = bothEnds(redactSecrets(this.clean(lastWords())));
      note(`${this.sentence(what)}${words === "" ? "" : ` It said: ${words}`}`);
    };
    const onclose = (): void => {
      this.links.delete(link);
      if (!link.isOpen) return; // who opens it hears why
      leave();
      if (!this.isClosed) tell(isTooLong() ? ENDED_FOR_LENGTH : "has ended");
    };
    let unasked = 0;
    const onUnasked = (): void => {
      unasked += 1;
      if (unasked === 1) setTimeout(() => (unasked = 0), 60_000).unref();
      if (unasked !== MAX_UNASKED_A_MINUTE) return;
      tell("says too much that nobody has asked for: it is ended");
      leave();
      void this.drop(link);
    };
    const onmessage = (message: object): void => {
      if ("method" in message) onUnasked();
    };
    // Neither is a target of events. The SDK leaves what it finds on a transport in place.
    Object.assign(client, { onclose, onerror: onUnasked });
    Object.assign(transport, { onmessage });
    this.links.add(link);
    const patience = patienceWith(server);
    const isSlow = (): void => tell(`${notBegun(CONNECT_TIMEOUT_MS, strays())}. It is waited for further`);
    const slow = patience > CONNECT_TIMEOUT_MS ? setTimeout(isSlow, CONNECT_TIMEOUT_MS) : undefined;
    try {
      // The SDK bounds the first request alone, and not the word behind it that all is well.
      const options = { timeout: patience, ...(!byHandshake && { prior: WITHOUT_HANDSHAKE }) };
      const late = (): SdkError => new SdkError(SdkErrorCode.RequestTimeout, "It has not begun in time.");
      await inTime(patience, client.connect(transport, options), late);
      link.isOpen = true;
      return link;
    } catch (error) {
      await this.drop(link);
      if (byHandshake && !this.isClosed && refusesHandshake(error)) return this.connect(leave, false);
      const why = await whyNotBegun(error, this.place, { milliseconds: patience, strays: strays() });
      tell(why);
      throw new NotReached(this.sentence(why));
    } finally {
      clearTimeout(slow);
    }
  }

  private sentence(what: string): string {
    return this.clean(`The MCP server ${this.place.name} ${what}${what.endsWith("?") ? "" : "."}`);
  }

  /** A text of the server's without the secrets that it is given. */
  clean(text: string): string {
    return withoutSecrets(text, this.secrets);
  }
}

function patienceWith(server: McpServer): number {
  return "command" in server ? PROGRAM_TIMEOUT_MS : CONNECT_TIMEOUT_MS;
}
