import { join } from "node:path";
import { z } from "zod";
import type { RunExecution } from "../../core/run/run-execution.js";
import { removeTemporaries, syncDirectory, writeFileAtomic } from "../disk/atomic-file.js";
import { FencedLock, type HeldLock, LockLost } from "../disk/fenced-lock.js";
import { standsThere, understoodFile } from "../disk/own-file.js";

const startedSchema = z.object({ id: z.string(), startedAt: z.number() });

/** What the run folder keeps of an execution. */
type KeptExecution = Pick<RunExecution, "id" | "startedAt">;

/** The run goes on in a newer execution: whatever an older one was about to do, it has lost. */
export class ExecutionOver extends LockLost {
  constructor() {
    super("A newer execution of the run has taken over: this one changes nothing more.");
  }
}

/**
 * The executions of a run, counted from 1: each retry and each restore is one more. The numbers are fencing tokens.
 *
 * X1. `execution.<n>` says which execution has the number n. The one that a run begins with is 1 and has no file.
 * X2. An execution is over as soon as there is a file for the next number; that is never undone. All that is done for an
 *     execution is done under locks that it owns, so that they check this as well (`fenced-lock.ts`).
 * X3. Whoever opens a new execution gives it its number first. Then it fences the locks of the older ones, and only then
 *     it reads. So an older one has done a thing before that, or it never will.
 * X4. An execution that Temporal began before the newest one gets no number: whoever opens it was asleep. Of one that goes on, Temporal is
 *     asked where its clock says so: that may have been set back. One that has a number keeps it, whatever the clock says.
 */
export class Executions {
  private readonly dir: string;
  private readonly lock: FencedLock;

  constructor(dir: string) {
    this.dir = dir;
    this.lock = new FencedLock(join(dir, "execution.lock"), () =>
      removeTemporaries(this.fileOf(this.newest() + 1)),
    );
  }

  /**
   * The number of an execution, the same however often it is asked for. One that is not known yet gets the next number,
   * except the one a run begins with. `isNewest`: whether Temporal has begun none after it. Throws `ExecutionOver`.
   */
  async begin(
    execution: KeptExecution,
    resumes: boolean,
    isNewest: () => Promise<boolean> = () => Promise.resolve(false),
  ): Promise<number> {
    if (!resumes && this.newest() === 1) return 1;
    return this.lock.hold(async (lock) => {
      const newest = this.newest();
      const last = this.read(newest);
      if (last?.id === execution.id) {
        await syncDirectory(this.dir); // who gave it its number may have died first
        return newest;
      }
      if (this.hadNumber(execution, newest)) throw new ExecutionOver();
      const seemsOver = last !== undefined && last.startedAt >= execution.startedAt;
      if (seemsOver && !(resumes && (await isNewest()))) throw new ExecutionOver();
      await writeFileAtomic(this.fileOf(newest + 1), `${JSON.stringify(execution)}\n`, lock);
      return newest + 1;
    });
  }

  /** Runs `action` while no execution begins, and only while this one is the newest; returns false where it is not. */
  whileNewest(number: number, action: () => Promise<boolean>): Promise<boolean> {
    return this.lock.hold(async () => this.newest() === number && (await action()));
  }

  /** The newest execution; undefined where nobody has written down which one that is, as for the first. */
  last(): KeptExecution | undefined {
    return this.read(this.newest());
  }

  newest(): number {
    let number = 1;
    while (standsThere(this.fileOf(number + 1))) number += 1;
    return number;
  }

  private hadNumber({ id }: KeptExecution, newest: number): boolean {
    for (let number = 2; number < newest; number += 1) if (this.read(number)?.id === id) return true;
    return false;
  }

  /** What an execution may do, it may do as long as it holds this. */
  claimOf(number: number): HeldLock {
    const next = this.fileOf(number + 1);
    return {
      isHeld: () => !standsThere(next),
      assertHeld() {
        if (standsThere(next)) throw new ExecutionOver();
      },
    };
  }

  /** Undefined for the first one, and where the file cannot be understood. Throws what the system says. */
  private read(number: number): KeptExecution | undefined {
    return number === 1 ? undefined : understoodFile(this.fileOf(number), startedSchema);
  }

  private fileOf(number: number): string {
    return join(this.dir, `execution.${number}`);
  }
}
