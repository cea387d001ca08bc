import { randomInt } from "node:crypto";
import { connect, createServer } from "node:net";

export const HOST = "127.0.0.1";
const SERVER_PORT = 7233;
const UI_PORT = 8233;

/**
 * Ports that no browser connects to, whatever page asks (the "bad ports" of the Fetch standard), without those that only
 * root may have.
 */
const PORTS_CLOSED_TO_BROWSERS = [
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
  10_080,
];

export interface ServerPorts {
  /** For clients, on `HOST`. */
  readonly port: number;
  /** Where browsers come to the gate before the Web UI, on `HOST`. */
  readonly uiPort: number;
  readonly hidden: HiddenPlaces;
}

/**
 * What browsers must not reach. A page can name every port of `HOST`, but cannot guess one of 16 million addresses; where the
 * system has no other loopback address, and for the metrics, which cannot be moved, a port is taken that browsers refuse.
 */
export interface HiddenPlaces {
  readonly uiHost: string;
  readonly uiPort: number;
  readonly metricsPort: number;
}

/** What the system says of a loopback address whose interface is down. */
const INTERFACE_IS_DOWN: ReadonlySet<string> = new Set([
  "EADDRNOTAVAIL",
  "ENETDOWN",
  "ENETUNREACH",
  "EHOSTUNREACH",
]);

/** The system lets nothing listen on a loopback address, or nobody come to it. */
export class NoPortError extends Error {
  override readonly name = "NoPortError";

  constructor(host: string, { code, message }: NodeJS.ErrnoException) {
    const remedy = isOfInterface(code)
      ? ": the loopback interface is down, or has no such address (ip address show lo)"
      : "";
    super(`nothing can listen on ${host} (${code ?? message})${remedy}`);
  }
}

function isOfInterface(code: string | undefined): boolean {
  return code !== undefined && INTERFACE_IS_DOWN.has(code);
}

/** Temporal's usual ports where they are free, else free ones; never one that is to be avoided. */
export async function chooseServerPorts(avoid: ReadonlySet<number> = new Set()): Promise<ServerPorts> {
  const port = await choosePort(SERVER_PORT, avoid);
  const uiPort = await chooseUiPort(new Set([...avoid, port]));
  return { port, uiPort, hidden: await chooseHiddenPlaces(new Set([...avoid, port, uiPort])) };
}

export function chooseUiPort(avoid: ReadonlySet<number>): Promise<number> {
  return choosePort(UI_PORT, avoid);
}

async function chooseHiddenPlaces(avoid: ReadonlySet<number>): Promise<HiddenPlaces> {
  const metricsPort = await choosePortClosedToBrowsers(avoid);
  const host = `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`;
  const port = await bindOnce(0, host);
  if (typeof port === "number") return { uiHost: host, uiPort: port, metricsPort };
  const uiPort = await choosePortClosedToBrowsers(new Set([...avoid, metricsPort]));
  return { uiHost: HOST, uiPort, metricsPort };
}

/** With more servers on one machine than there are such ports, the others get one that is only hard to guess. */
async function choosePortClosedToBrowsers(avoid: ReadonlySet<number>): Promise<number> {
  const candidates = PORTS_CLOSED_TO_BROWSERS.filter((port) => !avoid.has(port));
  while (candidates.length > 0) {
    const [port] = candidates.splice(randomInt(candidates.length), 1);
    if (port !== undefined && (await isFree(port))) return port;
  }
  return chooseFreePort(avoid);
}

async function choosePort(usual: number, avoid: ReadonlySet<number>): Promise<number> {
  if (!avoid.has(usual) && (await isFree(usual))) return usual;
  return chooseFreePort(avoid);
}

/** Throws where the system gives no port at all: another try would be refused as well. */
async function chooseFreePort(avoid: ReadonlySet<number>): Promise<number> {
  for (;;) {
    const port = await bindOnce(0, HOST);
    if (typeof port !== "number") throw new NoPortError(HOST, port);
    if (!avoid.has(port)) return port;
  }
}

/** Some systems let us bind beside one who listens on all addresses, so nobody may answer either. */
async function isFree(port: number): Promise<boolean> {
  return !(await somebodyAnswers(port)) && typeof (await bindOnce(port, HOST)) === "number";
}

/** Throws where nobody could come to the port: the system may let us bind it all the same. */
function somebodyAnswers(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: HOST, port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (isOfInterface(error.code)) reject(new NoPortError(HOST, error));
      else resolve(false);
    });
  });
}

/** The port that could be bound (any free one for 0), or why not. */
function bindOnce(port: number, host: string): Promise<number | NodeJS.ErrnoException> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", resolve);
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      const bound = address !== null && typeof address === "object" ? address.port : null;
      server.close(() => resolve(bound ?? new Error("its port is not known")));
    });
  });
}
