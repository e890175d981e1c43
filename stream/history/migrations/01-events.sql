-- What was streamed. Blocks and times (seconds since 1970) are between 0 and 2^63-1.

CREATE TABLE progress (seq INTEGER NOT NULL);
INSERT INTO progress VALUES (0);

-- The last id that was given. It stays when its event is deleted, so that no id is given twice. Who writes events holds its row.
CREATE TABLE counter (last INTEGER NOT NULL);
INSERT INTO counter VALUES (0);

-- The orders that had their event, for ever: their events may have been deleted.
CREATE TABLE announced (hash BLOB PRIMARY KEY);

CREATE TABLE events (
    id    INTEGER PRIMARY KEY,
    block INTEGER NOT NULL,
    at_s  INTEGER NOT NULL,
    json  BLOB NOT NULL
);

-- The events of 1024 ids, summed up: those of chunk n are n * 1024 + 1 and so on. There is none without an event.
CREATE TABLE chunks (
    chunk     INTEGER PRIMARY KEY,
    events    INTEGER NOT NULL,
    min_block INTEGER NOT NULL,
    max_block INTEGER NOT NULL,
    min_at_s  INTEGER NOT NULL,
    max_at_s  INTEGER NOT NULL
);
