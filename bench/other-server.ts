import { connect } from "../src/client/temporal/connect.js";
import type { OtherServer } from "./stage.js";
import { WrongUsage } from "./usage.js";
import { wordsOf } from "../src/core/system-code.js";

/** Whether the server that is to be measured in the place of the embedded one is there. Throws `WrongUsage`. */
export async function expectAnswer(server: OtherServer | undefined): Promise<void> {
  if (server === undefined) return;
  const { address, pid } = server;
  if (!isAlive(pid)) throw new WrongUsage(`--server-pid: there is no process ${pid}.`);
  try {
    const connection = await connect({ address });
    await connection.close();
  } catch (error) {
    const reason = wordsOf(error);
    throw new WrongUsage(
      `--address: no Temporal answers at ${address} (${reason}). Start it, or correct the address.`,
      {
        cause: error,
      },
    );
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0); // sends nothing
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"; // it is another user's
  }
}
