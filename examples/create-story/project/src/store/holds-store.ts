import type { DatabaseSync } from "node:sqlite";
import type { Branch, Hold, HoldStatus, Reader } from "../domain/hold.ts";

/** All SQL about readers and their holds. */
export class HoldsStore {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Runs `work` in one transaction that no other writer can come between. */
  inTransaction<T>(work: () => T): T {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.#db.exec("COMMIT");
      return result;
    } catch (error) {
      this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  reader(card: string): Reader | undefined {
    const row = this.#db.prepare("SELECT card, email, blocked FROM readers WHERE card = ?").get(card);
    if (row === undefined) return undefined;
    return {
      card: row["card"] as string,
      email: row["email"] as string | null,
      blocked: row["blocked"] === 1,
    };
  }

  openHolds(card: string): Hold[] {
    return this.#db
      .prepare("SELECT * FROM holds WHERE reader_card = ? AND status IN ('waiting', 'ready') ORDER BY seq")
      .all(card)
      .map(toHold);
  }

  insert(hold: Hold): void {
    this.#db
      .prepare(
        `INSERT INTO holds (id, title_id, reader_card, pickup_branch, status, placed_at)
         VALUES (?, ?, ?, ?, ?, ?)`,
      )
      .run(hold.id, hold.titleId, hold.readerCard, hold.pickupBranch, hold.status, hold.placedAt);
  }

  /** The place of a waiting hold among those for its title and branch, counted from 1. */
  placeInQueue(holdId: string): number {
    const row = this.#db
      .prepare(
        `SELECT COUNT(*) AS place FROM holds AS other JOIN holds AS mine ON mine.id = ?
         WHERE other.title_id = mine.title_id AND other.pickup_branch = mine.pickup_branch
           AND other.status = 'waiting' AND other.seq <= mine.seq`,
      )
      .get(holdId);
    return Number(row?.["place"] ?? 0);
  }
}

function toHold(row: Record<string, unknown>): Hold {
  return {
    id: row["id"] as string,
    titleId: row["title_id"] as string,
    readerCard: row["reader_card"] as string,
    pickupBranch: row["pickup_branch"] as Branch,
    status: row["status"] as HoldStatus,
    placedAt: row["placed_at"] as string,
  };
}
