import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import { z } from "zod";
import { canonicalJson } from "../core/canonical-json.js";
import type { JsonObject } from "../core/json.js";
import { runIdIn } from "../core/run/run-id.js";
import { sha256Schema } from "../core/sha256.js";
import { removeTemporaries, syncDirectory, writeFileAtomic } from "./disk/atomic-file.js";
import { withFileLock } from "./disk/fenced-lock.js";
import { makeDurable } from "./disk/make-folders.js";
import { readOwnText, readPrivateText, standsThere } from "./disk/own-file.js";
import { sha256 } from "./disk/sha256.js";
import type { Store } from "./store.js";

/** What is signed: see `contract/signed.ts`. */
interface Signed {
  readonly kind: "start" | "update" | "read";
  /** Of a start and of an update. */
  readonly workflowId?: string;
  readonly runId?: string;
  readonly content: JsonObject;
}

type StoreOfSecret = Pick<Store, "dir" | "storeId" | "runs">;

const DOMAIN = "interlock-temporal signed starts v1";
const SECRET_BYTES = 32;
const NONCE_BYTES = 16;

const usedSchema = z.object({
  /** The first of Temporal's run ids: it may ask again. */
  executionId: z.string(),
  follows: z.int().optional(),
  /** Of the statement; absent where an earlier version has written it. */
  sha256: sha256Schema.optional(),
});

/**
 * The secret of a store that takes signed starts only, and what was started with it (docs/decisions/2026-11-22-signed-starts.md).
 *
 * `starts.secret` is made under a lock where there is none, and never written again. It is read each time it is used: whoever exchanges it
 * exchanges it for all workers and commands at once. It leaves this class as HMACs only. A start's signature is
 * good for one execution: `starts/<nonce>.json` says which. That of a run that goes on also says which of its executions it
 * follows, as the store counts them.
 */
export class StartSignatures {
  private readonly store: StoreOfSecret;

  private constructor(store: StoreOfSecret) {
    this.store = store;
  }

  /** Makes the secret where there is none. Throws where it is damaged, or others could read it. */
  static async open(store: StoreOfSecret): Promise<StartSignatures> {
    await readOrMakeSecret(store);
    return new StartSignatures(store);
  }

  /** Signs what is to be started or told. Each signature is another one, unless its nonce is given. */
  async sign(statement: Signed, nonce = randomBytes(NONCE_BYTES).toString("hex")): Promise<string> {
    const follows = await this.followed(statement);
    const hmac = await this.hmac(nonce, statement, follows);
    return `v1.${nonce}.${hmac.toString("hex")}`;
  }

  /** Whether an update's signature is that of its statement. */
  async verifies(statement: Signed, signature: string | undefined): Promise<boolean> {
    const parts = partsOf(signature);
    return parts !== undefined && (await this.matches(parts, statement, undefined));
  }

  /**
   * Whether a start's signature is that of its statement, and has started nothing but this execution. Then it is used: another
   * execution is not started with it. Twice for one execution is once, whichever secret there is by then.
   */
  async admits(statement: Signed, signature: string | undefined, executionId: string): Promise<boolean> {
    const parts = partsOf(signature);
    if (parts === undefined) return false;
    const folder = startsFolder(this.store);
    const file = join(folder, `${parts.nonce}.json`);
    const temporaries = join(folder, ".new"); // the folder itself has two files for each start there ever was
    if (!standsThere(file) && !(await this.matches(parts, statement, await this.followed(statement)))) {
      return false;
    }
    await makeDurable(temporaries, 0o700);
    return withFileLock(
      join(folder, `${parts.nonce}.lock`),
      async (lock) => {
        const used = await readUsed(file);
        if (used !== undefined) {
          await syncDirectory(folder); // who wrote it may have died first
          return this.isSameStart(used, parts, statement, executionId);
        }
        const follows = await this.followed(statement);
        if (!(await this.matches(parts, statement, follows))) return false;
        const digest = sha256(this.textOf(parts.nonce, statement, follows));
        const entry = { executionId, ...(follows === undefined ? {} : { follows }), sha256: digest };
        await writeFileAtomic(file, `${JSON.stringify(entry)}\n`, lock, { temporaries });
        return true;
      },
      () => {
        removeTemporaries(file, temporaries);
        removeTemporaries(file); // of a worker of an earlier version
      },
    );
  }

  /** Whether what was started with a signature is asked for again. The secret that it was admitted by may have been exchanged since. */
  private async isSameStart(
    used: z.infer<typeof usedSchema>,
    parts: Parts,
    statement: Signed,
    executionId: string,
  ): Promise<boolean> {
    const { follows } = used;
    if (used.executionId !== executionId) return false;
    if (used.sha256 === undefined) return this.matches(parts, statement, follows);
    return used.sha256 === sha256(this.textOf(parts.nonce, statement, follows));
  }

  /** Of a start that lets a run go on: how many executions of it the store knows. */
  private async followed({ kind, workflowId, runId, content }: Signed): Promise<number | undefined> {
    if (kind !== "start" || content["resume"] !== true) return undefined;
    const known = await this.store.runs.findPlaced(runId ?? runIdIn(workflowId ?? "") ?? "");
    const files = known && (await this.store.runs.openFiles(known.projectId, known.runId));
    return files?.ok === true ? files.value.executions.newest() : 0;
  }

  private async matches(
    { nonce, hmac }: Parts,
    statement: Signed,
    follows: number | undefined,
  ): Promise<boolean> {
    return timingSafeEqual(hmac, await this.hmac(nonce, statement, follows));
  }

  private async hmac(nonce: string, statement: Signed, follows: number | undefined): Promise<Buffer> {
    const secret = await readOrMakeSecret(this.store);
    return createHmac("sha256", secret)
      .update(this.textOf(nonce, statement, follows))
      .digest();
  }

  private textOf(nonce: string, statement: Signed, follows: number | undefined): string {
    const { storeId } = this.store;
    return `${DOMAIN}\n${canonicalJson({ ...statement, storeId, nonce, follows })}`;
  }
}

/**
 * What signs for a store that takes signed starts only: the `sign` of an `InterlockClient` on the store's machine. Makes the
 * store's secret where there is none. Rejects where it is damaged, or others could read it.
 */
export async function startSigner(
  store: StoreOfSecret,
): Promise<(statement: Signed, nonce?: string) => Promise<string>> {
  const signatures = await StartSignatures.open(store);
  return (statement, nonce) => signatures.sign(statement, nonce);
}

/** Whether a store has had a secret: one that is removed to be exchanged is made again when it is needed. */
export function signsStarts(store: Pick<Store, "dir">): boolean {
  return [secretFile(store), secretLock(store), startsFolder(store)].some(standsThere);
}

/** Whether a store has a secret. */
export function hasStartSecret(store: Pick<Store, "dir">): boolean {
  return standsThere(secretFile(store));
}

interface Parts {
  readonly nonce: string;
  readonly hmac: Buffer;
}

function partsOf(signature: string | undefined): Parts | undefined {
  const [, nonce, hmac] = /^v1\.([0-9a-f]{32})\.([0-9a-f]{64})$/.exec(signature ?? "") ?? [];
  return nonce === undefined || hmac === undefined ? undefined : { nonce, hmac: Buffer.from(hmac, "hex") };
}

/** Throws what keeps a secret from being used: it is damaged, or others could read it. Makes none. */
export function checkStartSecret(store: Pick<Store, "dir">): void {
  readSecret(secretFile(store));
}

function secretFile({ dir }: Pick<Store, "dir">): string {
  return join(dir, "starts.secret");
}

function secretLock({ dir }: Pick<Store, "dir">): string {
  return join(dir, "starts.lock");
}

function startsFolder({ dir }: Pick<Store, "dir">): string {
  return join(dir, "starts");
}

async function readOrMakeSecret(store: StoreOfSecret): Promise<Buffer> {
  const path = secretFile(store);
  if (!standsThere(path)) {
    await withFileLock(
      secretLock(store),
      async (lock) => {
        if (standsThere(path)) return;
        await writeFileAtomic(path, `${randomBytes(SECRET_BYTES).toString("hex")}\n`, lock);
      },
      () => removeTemporaries(path),
    );
  }
  return readSecret(path);
}

/** Says nothing of what it has read. */
function readSecret(path: string): Buffer {
  const [, digits] = /^([0-9a-f]{64})\n$/.exec(readPrivateText(path)) ?? [];
  if (digits !== undefined) return Buffer.from(digits, "hex");
  throw new Error(
    `${path} is damaged: it must hold the secret that this store's starts are signed with. Restore it from a backup, or remove it: another one is made, and what was signed before and not begun is then refused.`,
  );
}

/** Undefined where there is none. One that cannot be understood is nobody's. */
async function readUsed(file: string): Promise<z.infer<typeof usedSchema> | undefined> {
  if (!standsThere(file)) return undefined;
  try {
    return usedSchema.parse(JSON.parse(await readOwnText(file)));
  } catch (error) {
    if (error instanceof z.ZodError || error instanceof SyntaxError) return { executionId: "" };
    throw error;
  }
}
