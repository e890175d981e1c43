-- What a delivered block was found to pay its proposer, as 32 bytes like a value; NULL while no execution has said.

ALTER TABLE delivered ADD COLUMN paid BLOB;
