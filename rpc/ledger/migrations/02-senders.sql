-- Who sent the first transaction of the order that a refund is for; null in facts that do not tell it.
ALTER TABLE refunds ADD COLUMN sender BLOB;
CREATE INDEX refunds_sender ON refunds (sender, block, seq);
