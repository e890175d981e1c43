// Package query answers questions in SQL over a data set and the results of a replay, with DuckDB
// in this process. Each table is a view of its name: bids, deliveries, registrations, and results.
//
//	DIR/bids/day=…/*.parquet ─▶ view bids ┐
//	results.parquet ─▶ view results       ┴▶ SELECT … ─▶ table, CSV or JSON
//
// The engine is 56 MB of a program and needs a C++ library to link, so that it is only in programs
// that are built with the tag duckdb (make lab-sql). Others say so, and how DuckDB's own program
// reads the same tables.
package query
