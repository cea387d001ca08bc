import { gateOptionsSchema, openGate } from "./gate.js";
import { lives } from "./process-identity.js";

/*
 * The process of the gate: it belongs to the server and not to one of the server's users, so that the announced address
 * serves for as long as the server does, whichever of its users ends. One line tells whoever started it how it went. The Compose
 * file's gate is one as well, with a server elsewhere.
 */

const POLL_MS = 500;

const options = gateOptionsSchema.parse(JSON.parse(process.argv[2] ?? "null"));
try {
  await openGate(options);
  process.stdout.write("open\n");
} catch (error) {
  const taken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  process.stdout.write(taken ? "taken\n" : `failed ${String(error)}\n`);
  process.exit(1);
}
process.stdout.on("error", () => undefined); // who started us may be gone
const { server } = options;
if (server !== undefined) {
  setInterval(() => {
    if (!lives(server)) process.exit();
  }, POLL_MS);
}
