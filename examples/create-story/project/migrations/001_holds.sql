-- A nightly copy of the town's card system: read here, never written.
CREATE TABLE readers (
  card    TEXT PRIMARY KEY,
  name    TEXT NOT NULL,
  email   TEXT,
  blocked INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE holds (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of the queue
  id            TEXT NOT NULL UNIQUE,
  title_id      TEXT NOT NULL,
  reader_card   TEXT NOT NULL,
  pickup_branch TEXT NOT NULL CHECK (pickup_branch IN ('mill-lane', 'station-road', 'hilltop')),
  status        TEXT NOT NULL CHECK (status IN ('waiting', 'ready', 'collected', 'expired', 'cancelled')),
  placed_at     TEXT NOT NULL
) STRICT;

CREATE INDEX holds_queue ON holds (title_id, pickup_branch, status, seq);
CREATE INDEX holds_of_reader ON holds (reader_card, status);
