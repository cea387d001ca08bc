import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { postHold } from "../src/http/holds-routes.ts";
import { HoldsStore } from "../src/store/holds-store.ts";

const MIGRATIONS = new URL("../migrations/", import.meta.url);
const AT = "2026-03-27T15:04:05.000Z";

function library() {
  const db = new DatabaseSync(":memory:");
  for (const file of readdirSync(MIGRATIONS).sort()) db.exec(readFileSync(new URL(file, MIGRATIONS), "utf8"));
  db.exec("INSERT INTO readers (card, name, email) VALUES ('R1', 'Ada', 'ada@example.org'), ('R2', 'Ben', NULL)");
  db.exec("INSERT INTO readers (card, name, blocked) VALUES ('R3', 'Cleo', 1)");
  const store = new HoldsStore(db);
  let made = 0;
  const outside = { now: () => AT, newId: () => `H${++made}` };
  return (readerCard: string, titleId: string, pickupBranch = "mill-lane") =>
    postHold({ readerCard, titleId, pickupBranch }, store, outside);
}

test("holds placed in the same millisecond keep their order", () => {
  const place = library();
  assert.deepEqual(place("R1", "T1042"), { status: 201, body: { id: "H1", place: 1 } });
  assert.deepEqual(place("R2", "T1042"), { status: 201, body: { id: "H2", place: 2 } });
});

test("each branch has a queue of its own", () => {
  const place = library();
  place("R1", "T1042");
  assert.equal(place("R2", "T1042", "hilltop").body["place"], 1);
});

test("the sixth open hold is refused", () => {
  const place = library();
  for (const title of ["T1", "T2", "T3", "T4", "T5"]) place("R1", title);
  assert.equal(place("R1", "T6").body["code"], "too-many-holds");
});

test("a second hold on a title is refused, whatever the branch", () => {
  const place = library();
  place("R1", "T1042");
  assert.equal(place("R1", "T1042", "hilltop").body["code"], "already-held");
});

test("unknown and blocked cards are refused", () => {
  const place = library();
  assert.equal(place("R9", "T1042").status, 404);
  assert.equal(place("R3", "T1042").body["code"], "card-blocked");
});

test("a branch that does not exist is a wrong body", () => {
  assert.equal(library()("R1", "T1042", "harbour").status, 400);
});
