// Package timeline draws a run of the lab as a page for browsers: its slots as a timeline with
// orders, hints, bids, headers and payloads, its faults as bands, and every fact as text. The page
// is the same while a run goes on and when it is over; it needs nothing else, and can be read
// without a script.
//
//	facts ─Chart.Add─▶ slots, bands ─WritePage─▶ one HTML file
//	                               └─WriteSlot, WriteOverview─▶ parts of a page that is open
package timeline
