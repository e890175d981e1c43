// Package dataset says what the data set of a replay holds: bids and deliveries of
// archives, in tables with a versioned schema. It recognises the formats of
// archives by their content, reads their rows, and keeps tables as sorted Parquet files.
//
//	archive ─Recognise─▶ Format ─Read─▶ Sink (good rows, bad rows) ─▶ sorted ─Merge─▶ file of a table and an hour
//
// A table is a set of rows. Merging two sets is the same in any order and any number of times, so
// an import that is repeated, or goes on after a crash, changes nothing that is there already.
package dataset
