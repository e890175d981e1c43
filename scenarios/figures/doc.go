// Package figures makes the figures of a paper of replayed auctions. It is pure: courses and
// results of slots go in, series of numbers and pictures come out.
//
//	slots ─Add─▶ Part (of an hour) ─Merge─▶ Part ─Figures─▶ Figure: series, table ─▶ SVG, CSV, one HTML page
//
// Amounts are summed exactly, in wei. What is drawn, and bounds of confidence, are floating-point
// numbers of ether, since they are estimates.
package figures
