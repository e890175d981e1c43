// Package deploy has what an operator installs gavel with, and runs beside it: compose files, a
// Helm chart, systemd's units, Grafana's boards and Prometheus' alert rules. Its tests write boards
// and rules from the catalogue of metrics (docs/metrics.md), and check all of it.
//
//	docs/metrics.md ─▶ catalogue ─┬─▶ boards ─▶ grafana/*.json           each metric is on a board
//	                              └─▶ alerts ─▶ prometheus/rules.yml     each alert has a case that fires and one that does not
//	                                     │                               (prometheus/rules_test.yml, by promtool)
//	                                     └────▶ docs/operations.md       and a page that says what to do
//	compose.yaml, cluster/, systemd/ ────────────────┬─▶ testdata/commands.json ─▶ cmd/gavel: TestDeployedCommandsAreTaken
//	helm/ ─▶ tools/charts ─▶ testdata/chart-*.yaml ──┘                             the program itself takes each command line
package deploy
