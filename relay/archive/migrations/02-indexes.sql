-- Every documented filter finds its rows in the order in which they are listed, and stops at the limit. Only rows that another filter has
-- found first are sorted by value.

DROP INDEX delivered_number;
DROP INDEX delivered_proposer;
DROP INDEX delivered_builder;
DROP INDEX delivered_value;
CREATE INDEX delivered_number ON delivered (block_number, slot, seq);
CREATE INDEX delivered_proposer ON delivered (proposer, slot, seq);
CREATE INDEX delivered_builder ON delivered (builder, slot, seq);
CREATE INDEX delivered_cheapest ON delivered (value, slot DESC, seq DESC);
CREATE INDEX delivered_dearest ON delivered (value, slot, seq);
-- A builder may have a great part of the rows.
CREATE INDEX delivered_builder_cheapest ON delivered (builder, value, slot DESC, seq DESC);
CREATE INDEX delivered_builder_dearest ON delivered (builder, value, slot, seq);

DROP INDEX received_hash;
DROP INDEX received_number;
DROP INDEX received_builder;
CREATE INDEX received_hash ON received (block_hash, slot, seq);
CREATE INDEX received_number ON received (block_number, slot, seq);
CREATE INDEX received_builder ON received (builder, slot, seq);
-- For Prune.
CREATE INDEX received_at ON received (at_us);
