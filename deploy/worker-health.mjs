// The health check of the worker's container: is the worker ready, by its own word? Exit code 0 when it is; otherwise 1, with a
// sentence on standard error that `docker inspect` shows.
import { loadConfig } from "../dist/config.js";
import { addressText } from "../dist/environment/listen-address.js";

const { health } = loadConfig();
if (health === undefined) throw new Error("Set INTERLOCK_HEALTH to where the worker says that it is ready.");
const address = addressText(health);
const response = await fetch(`http://${address}/readyz`, { signal: AbortSignal.timeout(10_000) }).catch(
  () => undefined,
);
if (response?.status !== 200) {
  process.stderr.write((await response?.text()) ?? `No worker answers at ${address}.\n`);
  process.exitCode = 1;
}
