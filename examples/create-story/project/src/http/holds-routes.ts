import { BRANCHES, type Branch, type HoldRequest, placeHold, type Refusal } from "../domain/hold.ts";
import type { HoldsStore } from "../store/holds-store.ts";

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Outside {
  readonly now: () => string;
  readonly newId: () => string;
}

const REFUSALS: Record<Refusal, { status: number; message: string }> = {
  "card-unknown": { status: 404, message: "This card number is not known." },
  "card-blocked": { status: 409, message: "This card is blocked; please ask at the desk." },
  "too-many-holds": { status: 409, message: "Five holds are open already." },
  "already-held": { status: 409, message: "There is a hold on this title already." },
};

/** POST /holds */
export function postHold(body: unknown, store: HoldsStore, outside: Outside): Answer {
  const request = readRequest(body);
  if (request === undefined) {
    const message = "A hold needs readerCard, titleId and a pickupBranch of ours.";
    return { status: 400, body: { code: "invalid-body", message } };
  }
  return store.inTransaction(() => {
    const made = { id: outside.newId(), at: outside.now() };
    const open = store.openHolds(request.readerCard);
    const hold = placeHold(request, store.reader(request.readerCard), open, made);
    if (typeof hold === "string") {
      const { status, message } = REFUSALS[hold];
      return { status, body: { code: hold, message } };
    }
    store.insert(hold);
    return { status: 201, body: { id: hold.id, place: store.placeInQueue(hold.id) } };
  });
}

function readRequest(body: unknown): HoldRequest | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const { readerCard, titleId, pickupBranch } = body as Record<string, unknown>;
  if (!isText(readerCard) || !isText(titleId) || !isBranch(pickupBranch)) return undefined;
  return { readerCard, titleId, pickupBranch };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function isBranch(value: unknown): value is Branch {
  return BRANCHES.some((branch) => branch === value);
}
