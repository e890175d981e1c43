// Package deploy has what an operator runs beside gavel: Grafana's boards and Prometheus' alert
// rules. Its tests write both from the catalogue of metrics (docs/metrics.md), and check them.
//
//	docs/metrics.md ─▶ catalogue ─┬─▶ boards ─▶ grafana/*.json           each metric is on a board
//	                              └─▶ alerts ─▶ prometheus/rules.yml     each alert has a case that fires and one that does not
//	                                     │                               (prometheus/rules_test.yml, by promtool)
//	                                     └────▶ docs/operations.md       and a page that says what to do
package deploy
