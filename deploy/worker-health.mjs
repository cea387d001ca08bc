// The health check of the worker's container: is the worker ready, by its own word? Exit code 0 when it is; otherwise 1, with a
// sentence on standard error that `docker inspect` shows.
const address = process.env["INTERLOCK_HEALTH"];
const response = await fetch(`http://${address}/readyz`, { signal: AbortSignal.timeout(10_000) }).catch(
  () => undefined,
);
if (response?.status !== 200) {
  process.stderr.write((await response?.text()) ?? `No worker answers at ${address}.\n`);
  process.exitCode = 1;
}
