-- Views of the facts. Hashes and addresses are their bytes, times microseconds since 1970, booleans 0 and 1.

CREATE TABLE progress (seq INTEGER NOT NULL);
INSERT INTO progress VALUES (0);

-- Refunds of blocks of the chain. An amount has four parts of 32 bits, the lowest first: sums of parts are exact for two billion rows, in a
-- database whose numbers have 64 bits.
CREATE TABLE refunds (
    seq          INTEGER PRIMARY KEY,
    hash         BLOB NOT NULL,
    bundle       BLOB NOT NULL, -- the order's own hash, if no other one has brought the refund
    block        INTEGER NOT NULL,
    block_hash   BLOB NOT NULL,
    recipient    BLOB NOT NULL,
    amount_0     INTEGER NOT NULL,
    amount_1     INTEGER NOT NULL,
    amount_2     INTEGER NOT NULL,
    amount_3     INTEGER NOT NULL,
    delayed      INTEGER NOT NULL,
    -- Set when the payout was seen.
    payout_tx    BLOB,
    payout_block INTEGER
);
-- A refund is credited once, however often it is told.
CREATE UNIQUE INDEX refunds_once ON refunds (hash, block_hash, recipient, bundle);
CREATE INDEX refunds_recipient ON refunds (recipient, block, seq);
CREATE INDEX refunds_delayed ON refunds (recipient, block, seq) WHERE delayed = 1;
CREATE INDEX refunds_bundle ON refunds (bundle);
CREATE INDEX refunds_block ON refunds (block, seq);
CREATE INDEX refunds_payout ON refunds (payout_block);
CREATE INDEX refunds_pending ON refunds (block, seq) WHERE payout_tx IS NULL;

-- Blocks of the chain whose refunds are counted. The timestamp is in seconds.
CREATE TABLE blocks (
    number    INTEGER PRIMARY KEY,
    hash      BLOB NOT NULL,
    timestamp INTEGER NOT NULL
);
CREATE INDEX blocks_timestamp ON blocks (timestamp, number);

-- Where refunds of an address go, from a place in the journal on.
CREATE TABLE recipients (
    seq          INTEGER PRIMARY KEY,
    from_address BLOB NOT NULL,
    to_address   BLOB NOT NULL,
    at_us        INTEGER NOT NULL
);
CREATE INDEX recipients_from ON recipients (from_address, seq);

-- Orders by the name that their signers know; id is the newest intake's.
CREATE TABLE orders (
    hash             BLOB NOT NULL,
    signer           BLOB NOT NULL,
    id               INTEGER NOT NULL,
    kind             TEXT NOT NULL,
    state            TEXT NOT NULL,
    reason           TEXT NOT NULL DEFAULT '',
    received_us      INTEGER NOT NULL,
    simulated_us     INTEGER,
    simulation_error TEXT NOT NULL DEFAULT '',
    ended_us         INTEGER,
    block            INTEGER NOT NULL DEFAULT 0,
    block_hash       BLOB,
    value            BLOB,
    PRIMARY KEY (hash, signer)
);
-- For Prune.
CREATE INDEX orders_ended ON orders (ended_us);

-- Which builders took an order, and when they did so first.
CREATE TABLE sendings (
    hash    BLOB NOT NULL,
    signer  BLOB NOT NULL,
    builder TEXT NOT NULL,
    seq     INTEGER NOT NULL,
    at_us   INTEGER NOT NULL,
    PRIMARY KEY (hash, signer, builder)
);
