import { NewestKept } from "../core/newest-kept.js";
import type { ModelSettings } from "../model/chat.js";

/** Endpoints and models; more than any settings name. */
const MAX_REMEMBERED = 1_000;

/** How long the contexts of models are, as their endpoints have said when they refused a request; for the life of a worker. */
export class LearnedContexts {
  private readonly known = new NewestKept<string, number>(MAX_REMEMBERED);

  of(settings: ModelSettings): number | undefined {
    return this.known.get(keyOf(settings));
  }

  learn(settings: ModelSettings, contextTokens: number): void {
    this.known.set(keyOf(settings), contextTokens);
  }

  forget(settings: ModelSettings): void {
    this.known.delete(keyOf(settings));
  }
}

function keyOf({ baseUrl = "", model }: ModelSettings): string {
  return JSON.stringify([baseUrl, model]);
}
