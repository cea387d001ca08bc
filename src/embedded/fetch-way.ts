import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";

export interface FetchJob {
  /** An empty directory of this attempt alone; it is removed afterwards. */
  readonly directory: string;
  /** What a program that fetches gets, in this directory: nothing else of the user's environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly onProgress?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One way to bring the Temporal CLI here. Failing means throwing an error whose message is the reason. */
export interface FetchWay {
  readonly name: string;
  /** Returns the path of the program, inside the directory of the job. */
  bring(job: FetchJob): Promise<string>;
}

export async function verifySha256(path: string, expected: string): Promise<void> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  const actual = hash.digest("hex");
  if (actual !== expected) {
    throw new Error(`what came has SHA-256 ${actual}, not ${expected}; it was refused`);
  }
}
