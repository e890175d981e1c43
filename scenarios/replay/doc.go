// Package replay imports archives of auctions, run folders and relays' lists into a data set on
// disk, and replays its auctions: it opens files, asks relays, keeps a catalogue of what was
// imported, goes on where a killed import was, and reads the data set slot by slot. It also holds
// auctions again at a relay that runs (Feed). What a row is, and what the formats are, is package
// dataset's; what comes of an auction is package backtest's.
//
//	URL ──ask, page by page────┐
//	FILES ─open (zip, gzip)────┴▶ rows ─batch─▶ commit: new files, then the catalogue, then renames ─▶ DIR
//
//	DIR/dataset.json                          the catalogue: network, inputs and their counts
//	DIR/bids/day=2024-06-12/07.parquet        the bids for slots that begin between 07:00 and 08:00 UTC
//	DIR/deliveries/day=…
//	DIR/rejected/ID-N.ndjson                  rows that cannot be imported, with file, place and reason
//
// The catalogue decides: a file that it does not name as committed is removed when the data set is
// opened the next time.
package replay
