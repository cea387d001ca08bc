import { connect, createServer } from "node:net";
import { expect, inject, onTestFinished, test } from "vitest";
import { startWorker } from "../../src/worker.js";
import { eventually } from "../fakes/eventually.js";
import { openPlace } from "../fakes/place.js";
import { quietRuntime } from "../fakes/quiet-runtime.js";
import { listen } from "../fakes/listen.js";

/** A way to the suite's server that knows how many connections are open. */
async function countedWay(address: string) {
  const [host = "", port = ""] = address.split(":");
  let open = 0;
  let ever = 0;
  const server = createServer((socket) => {
    open += 1;
    ever += 1;
    const onward = connect(Number(port), host);
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) end.on("error", () => end.destroy());
    socket.once("close", () => {
      open -= 1;
      onward.destroy();
    });
  });
  return { address: `127.0.0.1:${await listen(server)}`, open: () => open, ever: () => ever };
}

test.each([
  ["cannot be read", { codePath: "/no/where" }, "/no/where"],
  ["is not there", undefined, "There is no bundle."],
])("a worker whose workflow bundle %s leaves no connection open", async (_, bundle, why) => {
  quietRuntime();
  const place = await openPlace(inject("temporalAddress"), []);
  onTestFinished(() => place.close());
  const way = await countedWay(inject("temporalAddress"));
  const starting = startWorker(place.config, {
    connection: { address: way.address },
    namespace: "default",
    store: place.store,
    get workflowBundle() {
      if (bundle === undefined) throw new Error("There is no bundle.");
      return bundle;
    },
  });
  await expect(starting).rejects.toThrow(why);
  expect(way.ever()).toBeGreaterThan(0);
  await eventually(async () => way.open() === 0);
});
