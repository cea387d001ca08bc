import { pathToFileURL } from "node:url";
import { Client, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { z } from "zod";
import { excerpt } from "../core/text.js";
import { Interrupted, NotReached } from "../tools/external/tool-source.js";
import { type McpServer, isOfProject } from "./server-settings.js";
import { type Surroundings, wayTo } from "./transport.js";

const CONNECT_TIMEOUT_MS = 30_000;
const LIST_TIMEOUT_MS = 10_000;
const PING_TIMEOUT_MS = 5_000;
const MAX_PAGES = 20;
/** Of one server; more are not looked at. */
const MAX_LISTED_TOOLS = 500;

const listSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });
const answerSchema = z.looseObject({
  content: z.array(z.unknown()).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});
export type McpAnswer = z.infer<typeof answerSchema>;

/** What a connection is to. */
export interface ConnectionPlace extends Surroundings {
  readonly name: string;
  readonly server: McpServer;
  /** The version that servers are told. */
  readonly version: string;
  /** Is told what the operator may want to know. */
  readonly note: (sentence: string) => void;
}

/** One server, for all runs or those of one project: begun when it is needed, and begun again when it has ended. */
export class Connection {
  private readonly place: ConnectionPlace;
  private client: Promise<Client> | undefined;
  private listed: readonly unknown[] | undefined;
  private callsRunning = 0;
  /** Whether the server is still alive is being found out: who wants to call it waits for that. */
  private suspicion: Promise<void> | undefined;
  private isStale = true;
  private isClosed = false;

  constructor(place: ConnectionPlace) {
    this.place = place;
  }

  /** The tools as the server describes them; while it cannot be asked, those it had when it last could. Throws `NotReached`. */
  async tools(): Promise<readonly unknown[]> {
    if (this.isClosed) throw new NotReached("The worker is stopping.");
    if (this.listed !== undefined && !this.isStale) return this.listed;
    let client: Client | undefined;
    try {
      client = await this.connected();
      this.isStale = false; // before it is asked: it may say again that they have changed
      this.listed = await listTools(client);
    } catch (error) {
      this.isStale = true;
      if (this.listed !== undefined) return this.listed;
      if (client !== undefined) await this.drop(client);
      throw error instanceof NotReached ? error : this.notReached("has not said which tools it has");
    }
    return this.listed;
  }

  /** Throws `NotReached` where the server cannot be asked, `Interrupted` where it was and has not answered. */
  async call(tool: string, args: object, signal: AbortSignal): Promise<McpAnswer> {
    await this.suspicion;
    const client = await this.connected();
    this.callsRunning += 1;
    try {
      const request = { method: "tools/call", params: { name: tool, arguments: args } };
      return await client.request(request, answerSchema, { signal, timeout: MAX_REQUEST_MS });
    } catch (error) {
      if (isRefusal(error))
        throw new Error(`The server refuses the call: ${error.message}`, { cause: error });
      if (error instanceof SdkError && error.code === SdkErrorCode.NotConnected)
        throw this.notReached("has ended");
      this.suspicion ??= this.dropUnlessAlive(client);
      const isGone = error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed;
      const what = isGone ? "has ended while the call ran" : "has not given an answer that can be read";
      throw new Interrupted(`The MCP server ${this.place.name} ${what}.`);
    } finally {
      this.callsRunning -= 1;
    }
  }

  /** One that no more answers is ended; the next who needs it begins it again. Calls that run are let end. */
  private async dropUnlessAlive(client: Client): Promise<void> {
    try {
      await client.request({ method: "ping" }, { timeout: PING_TIMEOUT_MS });
    } catch {
      if (this.callsRunning === 0) await this.drop(client);
    } finally {
      this.suspicion = undefined;
    }
  }

  private async drop(client: Client): Promise<void> {
    await client.close().catch(() => undefined);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    const client = await this.client?.catch(() => undefined);
    await client?.close().catch(() => undefined);
  }

  private connected(): Promise<Client> {
    if (this.isClosed) throw new NotReached("The worker is stopping.");
    this.client ??= this.connect();
    return this.client;
  }

  private async connect(): Promise<Client> {
    const { name, server, projectRoot, version, note } = this.place;
    const { transport, lastWords } = wayTo(server, this.place);
    const roots = isOfProject(server) ? { roots: {} } : {};
    const client = new Client({ name: "interlock-temporal", version }, { capabilities: roots });
    if (isOfProject(server)) {
      const uri = pathToFileURL(projectRoot).href;
      client.setRequestHandler("roots/list", () => ({ roots: [{ uri, name: "project" }] }));
    }
    client.setNotificationHandler("notifications/tools/list_changed", () => {
      this.isStale = true;
    });
    const forget = (): void => {
      this.client = undefined;
      this.isStale = true;
    };
    const onclose = (): void => {
      forget();
      if (this.isClosed) return;
      const words = excerpt(lastWords(), 500);
      note(`The MCP server ${name} has ended.${words === "" ? "" : ` It said: ${words}`}`);
    };
    Object.assign(client, { onclose }); // the SDK's client is no target of events
    try {
      await client.connect(transport, { timeout: CONNECT_TIMEOUT_MS });
      return client;
    } catch {
      await client.close().catch(() => undefined);
      forget();
      const words = excerpt(lastWords(), 500);
      note(`The MCP server ${name} cannot be reached.${words === "" ? "" : ` It said: ${words}`}`);
      throw this.notReached("cannot be reached");
    }
  }

  private notReached(what: string): NotReached {
    return new NotReached(`The MCP server ${this.place.name} ${what}.`);
  }
}

/** Whoever calls has a timeout of its own; the SDK's, of one minute, would be another. */
const MAX_REQUEST_MS = 3_700_000;

/** The server has answered, with an error. */
function isRefusal(error: unknown): error is Error {
  return error instanceof Error && "code" in error && typeof error.code === "number";
}

async function listTools(client: Client): Promise<readonly unknown[]> {
  const tools: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_LISTED_TOOLS; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const options = { timeout: LIST_TIMEOUT_MS };
    const answer: z.infer<typeof listSchema> = await client.request(
      { method: "tools/list", params },
      listSchema,
      options,
    );
    tools.push(...answer.tools);
    cursor = answer.nextCursor;
    if (cursor === undefined) break;
  }
  return tools.slice(0, MAX_LISTED_TOOLS);
}
