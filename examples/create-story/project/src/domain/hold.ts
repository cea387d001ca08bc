export const BRANCHES = ["mill-lane", "station-road", "hilltop"] as const;
export type Branch = (typeof BRANCHES)[number];

export type HoldStatus = "waiting" | "ready" | "collected" | "expired" | "cancelled";

export interface Hold {
  readonly id: string;
  readonly titleId: string;
  readonly readerCard: string;
  readonly pickupBranch: Branch;
  readonly status: HoldStatus;
  readonly placedAt: string;
}

export interface Reader {
  readonly card: string;
  readonly email: string | null;
  readonly blocked: boolean;
}

export interface HoldRequest {
  readonly readerCard: string;
  readonly titleId: string;
  readonly pickupBranch: Branch;
}

export type Refusal = "card-unknown" | "card-blocked" | "too-many-holds" | "already-held";

/** A hold is open while it is waiting or ready (FR4). */
export const MAX_OPEN_HOLDS = 5;

/** Decides whether a reader may have this hold, and if so makes it. */
export function placeHold(
  request: HoldRequest,
  reader: Reader | undefined,
  openHolds: readonly Hold[],
  made: { readonly id: string; readonly at: string },
): Hold | Refusal {
  if (reader === undefined) return "card-unknown";
  if (reader.blocked) return "card-blocked";
  if (openHolds.some((hold) => hold.titleId === request.titleId)) return "already-held";
  if (openHolds.length >= MAX_OPEN_HOLDS) return "too-many-holds";
  return { ...request, id: made.id, status: "waiting", placedAt: made.at };
}
