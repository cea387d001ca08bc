import { InterlockError, type RunHandle } from "../../src/client/client.js";
import type { Pause, Raise } from "./evidence.js";
import type { PlannedUser } from "./plan-user.js";

/** What a run's `status.json` says to somebody who steers it. */
export interface SeenStatus {
  readonly phase: string;
  readonly change: number;
  readonly paused?: boolean;
  readonly question?: { readonly nodeId: string; readonly text: string; readonly code?: string };
}

/** Undefined where nothing comes back. Rejects with an `InterlockError` where the run refuses. */
export type Ask = <T>(action: () => Promise<T>) => Promise<T | undefined>;

/** After so long somebody who is not sure says it again, under the same id. */
export const AGAIN_AFTER_MS = 3_000;

type Heard = "accepted" | "refused" | "no answer";

/** Pauses, resumes and cancels one run, and raises its budget, as planned: again when nobody answers. */
export class Steering {
  readonly pauses: Pause[] = [];
  readonly raises: Raise[] = [];
  private readonly planned: PlannedUser;
  private readonly handle: RunHandle;
  private readonly ask: Ask;
  private readonly onRefusal: (sentence: string) => void;
  private readonly startedAt = Date.now();
  private readonly raisedAgain = new Set<string>();
  private isPauseOver: boolean;
  private isCancelOver: boolean;

  constructor(planned: PlannedUser, handle: RunHandle, ask: Ask, onRefusal: (sentence: string) => void) {
    this.planned = planned;
    this.handle = handle;
    this.ask = ask;
    this.onRefusal = onRefusal;
    this.isPauseOver = planned.pause === undefined;
    this.isCancelOver = planned.cancel === undefined;
  }

  /** What is due now. */
  async steer(status: SeenStatus): Promise<void> {
    await this.pauseOrResume(status);
    await this.cancel();
    if (status.phase === "waiting-user" && status.question?.code === "BUDGET_EXCEEDED") {
      await this.raise(status.change, status.question.text);
    }
    await this.raiseAgain();
  }

  /** It has failed or was cancelled: a pause has ended with it, and a second cancellation was never wanted. */
  noteEnd(wasCancelled: boolean): void {
    if (this.pauses.length > 0) this.endPause();
    if (wasCancelled) this.isCancelOver = true;
  }

  private async pauseOrResume(status: SeenStatus): Promise<void> {
    const { pause } = this.planned;
    const [paused] = this.pauses;
    if (pause !== undefined && !this.isPauseOver && paused === undefined) {
      if (Date.now() < this.startedAt + pause.after) return;
      const heard = await this.tell(() => this.handle.pause());
      if (heard === "accepted") this.pauses.push({ from: Date.now() });
      this.isPauseOver = heard === "refused";
      return;
    }
    // A pause that was sent again and again may have been heard after its end.
    const isDue = paused !== undefined && !this.isPauseOver && Date.now() >= paused.from + (pause?.for ?? 0);
    if (!isDue && !(this.isPauseOver && status.paused === true)) return;
    this.notePauseEnd();
    const heard = await this.tell(() => this.handle.resume());
    if (heard !== "no answer") this.endPause();
  }

  private notePauseEnd(): void {
    const [paused] = this.pauses;
    if (paused !== undefined && paused.to === undefined) this.pauses[0] = { ...paused, to: Date.now() };
  }

  private endPause(): void {
    this.notePauseEnd();
    this.isPauseOver = true;
  }

  private async cancel(): Promise<void> {
    if (this.isCancelOver || Date.now() < this.startedAt + (this.planned.cancel?.after ?? 0)) return;
    this.isCancelOver = (await this.tell(() => this.handle.cancel())) !== "no answer";
  }

  /** The id says at which change of phase it was wanted: sent again, it is the same raise. */
  private async raise(change: number, text: string): Promise<void> {
    const raiseId = `raise-at-${change}`;
    const scope = text.startsWith("The budget of this run ") ? "run" : "node";
    const turns = this.planned.budget?.raise ?? 1;
    const known = this.raises.findIndex((raise) => raise.raiseId === raiseId);
    const index = known === -1 ? this.raises.length : known;
    if (known === -1) this.raises.push({ raiseId, at: Date.now(), scope, turns, isAccepted: false });
    const heard = await this.tell(() => this.handle.raiseBudget({ raiseId, scope, add: { turns } }));
    const raise = this.raises[index];
    if (heard === "accepted" && raise !== undefined) this.raises[index] = { ...raise, isAccepted: true };
  }

  private async raiseAgain(): Promise<void> {
    const due = this.raises.find(
      ({ raiseId, at }) => !this.raisedAgain.has(raiseId) && Date.now() >= at + AGAIN_AFTER_MS,
    );
    if (due === undefined) return;
    const { raiseId, scope, turns } = due;
    this.raisedAgain.add(raiseId);
    await this.tell(() => this.handle.raiseBudget({ raiseId, scope, add: { turns } }));
  }

  private async tell(action: () => Promise<unknown>): Promise<Heard> {
    try {
      const heard = await this.ask(() => action().then(() => true));
      return heard === undefined ? "no answer" : "accepted";
    } catch (error) {
      if (!(error instanceof InterlockError)) throw error;
      this.onRefusal(error.message);
      return "refused";
    }
  }
}
