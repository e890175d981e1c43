//go:build duckdb

package query

import _ "github.com/duckdb/duckdb-go/v2" // registers the driver "duckdb"
