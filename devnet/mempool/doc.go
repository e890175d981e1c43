// Package mempool decides which transactions of a file of the mempool the devnet's users send when,
// as what: whose account stands for which sender, what becomes of nonces, fees and calldata, and
// what cannot be sent. It keeps times, types, tips, lengths of calldata and chains of nonces, and
// counts by reason what it changes or leaves out.
//
//	rows of a file ─Add─▶ Flow ─Decide─▶ Plan: Steps in the order of time ─▶ agent ─▶ Outcome, as a table
//
// The sequence follows from the rows alone. A row takes about a hundred bytes of memory.
package mempool
