import { connect, createServer } from "node:net";

export const HOST = "127.0.0.1";
const SERVER_PORT = 7233;
const UI_PORT = 8233;

export interface ServerPorts {
  readonly port: number;
  readonly uiPort: number;
}

/** Temporal's usual ports where they are free, else free ones; never one that is to be avoided. */
export async function chooseServerPorts(avoid: ReadonlySet<number> = new Set()): Promise<ServerPorts> {
  const port = await choosePort(SERVER_PORT, avoid);
  const uiPort = await choosePort(UI_PORT, new Set([...avoid, port]));
  return { port, uiPort };
}

async function choosePort(usual: number, avoid: ReadonlySet<number>): Promise<number> {
  if (!avoid.has(usual) && (await isFree(usual))) return usual;
  for (;;) {
    const port = await bindOnce(0);
    if (port !== null && !avoid.has(port)) return port;
  }
}

/** Some systems let us bind beside one who listens on all addresses, so nobody may answer either. */
async function isFree(port: number): Promise<boolean> {
  return !(await somebodyAnswers(port)) && (await bindOnce(port)) !== null;
}

function somebodyAnswers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: HOST, port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

/** The port that could be bound (any free one for 0), or null. */
function bindOnce(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen({ host: HOST, port, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === "object" ? address.port : null));
    });
  });
}
