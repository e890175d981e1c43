-- Views of the facts. Values are 32 bytes, big-endian, so that SQL orders 256-bit numbers exactly. Slots and other 64-bit numbers are stored
-- as the signed number with the same bits; everything below 2^63 orders as it should.

CREATE TABLE progress (seq INTEGER NOT NULL);
INSERT INTO progress VALUES (0);

CREATE TABLE delivered (
    seq           INTEGER PRIMARY KEY,
    slot          INTEGER NOT NULL,
    parent_hash   BLOB NOT NULL,
    block_hash    BLOB NOT NULL,
    builder       BLOB NOT NULL,
    proposer      BLOB NOT NULL,
    fee_recipient BLOB NOT NULL,
    gas_limit     INTEGER NOT NULL,
    gas_used      INTEGER NOT NULL,
    value         BLOB NOT NULL,
    num_tx        INTEGER NOT NULL,
    num_blobs     INTEGER NOT NULL,
    block_number  INTEGER NOT NULL,
    at_us         INTEGER NOT NULL,
    optimistic    INTEGER NOT NULL DEFAULT 0
);
-- A block is delivered once, however often its proposer asked.
CREATE UNIQUE INDEX delivered_once ON delivered (block_hash, slot, proposer);
CREATE INDEX delivered_slot ON delivered (slot, seq);
CREATE INDEX delivered_number ON delivered (block_number);
CREATE INDEX delivered_proposer ON delivered (proposer, slot);
CREATE INDEX delivered_builder ON delivered (builder, slot);
CREATE INDEX delivered_value ON delivered (value);

CREATE TABLE received (
    seq           INTEGER PRIMARY KEY,
    slot          INTEGER NOT NULL,
    parent_hash   BLOB NOT NULL,
    block_hash    BLOB NOT NULL,
    builder       BLOB NOT NULL,
    proposer      BLOB NOT NULL,
    fee_recipient BLOB NOT NULL,
    gas_limit     INTEGER NOT NULL,
    gas_used      INTEGER NOT NULL,
    value         BLOB NOT NULL,
    num_tx        INTEGER NOT NULL,
    num_blobs     INTEGER NOT NULL,
    block_number  INTEGER NOT NULL,
    at_us         INTEGER NOT NULL,
    optimistic    INTEGER NOT NULL
);
CREATE INDEX received_slot ON received (slot, seq);
CREATE INDEX received_hash ON received (block_hash);
CREATE INDEX received_number ON received (block_number);
CREATE INDEX received_builder ON received (builder, slot);

CREATE TABLE registrations (
    pubkey        BLOB PRIMARY KEY,
    fee_recipient BLOB NOT NULL,
    gas_limit     INTEGER NOT NULL,
    timestamp     INTEGER NOT NULL,
    signature     BLOB NOT NULL
);
