package deploy

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
)

// runbook is where an alert's page stands.
const runbook = "https://github.com/gavel-relay/gavel/blob/main/docs/operations.md#"

const generated = "# Made from deploy/*alerts_test.go (go test ./deploy -update); changes here are lost.\n"

// quoted is a text as a YAML scalar in double quotes.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// rules is the file that Prometheus reads.
func rules() string {
	var b strings.Builder
	b.WriteString(generated + "groups:\n")
	for _, group := range alerts {
		fmt.Fprintf(&b, "  - name: gavel-%s\n    rules:\n", group.service)
		for _, a := range group.rules {
			fmt.Fprintf(&b, "      - alert: %s\n        expr: %s\n", a.name, quoted(a.expr))
			if a.since != "" {
				fmt.Fprintf(&b, "        for: %s\n", a.since)
			}
			fmt.Fprintf(&b, "        labels:\n          severity: %s\n        annotations:\n          summary: %s\n"+
				"          runbook_url: %s\n", a.severity, quoted(a.summary), runbook+strings.ToLower(a.name))
		}
	}
	return b.String()
}

// ruleTests is the file that promtool reads: each alert whose name begins so fires in its case, and
// not in the other.
func ruleTests(prefix string) string {
	var b strings.Builder
	b.WriteString(generated + "rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n")
	for _, group := range alerts {
		for _, a := range group.rules {
			if !strings.HasPrefix(a.name, prefix) {
				continue
			}
			b.WriteString(ruleTest(a, "fires", a.fires))
			labels := fmt.Sprintf("                severity: %s\n", a.severity)
			for _, label := range slices.Sorted(maps.Keys(a.with)) {
				labels += fmt.Sprintf("                %s: %s\n", label, quoted(a.with[label]))
			}
			fmt.Fprintf(&b, "        exp_alerts:\n          - exp_labels:\n%s            exp_annotations:\n"+
				"                summary: %s\n                runbook_url: %s\n", labels, quoted(a.summary),
				runbook+strings.ToLower(a.name))
			b.WriteString(ruleTest(a, "is quiet", a.quiet))
			b.WriteString("        exp_alerts: []\n")
		}
	}
	return b.String()
}

func ruleTest(a alert, what string, series []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  - name: %s %s\n    interval: 1m\n    input_series:\n", a.name, what)
	for _, line := range series {
		name, values, _ := strings.Cut(line, "} ")
		if values == "" {
			name, values, _ = strings.Cut(line, " ")
		} else {
			name += "}"
		}
		fmt.Fprintf(&b, "      - series: %s\n        values: %s\n", quoted(name), quoted(values))
	}
	fmt.Fprintf(&b, "    alert_rule_test:\n      - eval_time: %dm\n        alertname: %s\n", a.at, a.name)
	return b.String()
}

// Every metric of a rule exists, every rule has both cases and is of its own name, and every
// endpoint and refusal that a rule names is documented.
func TestAlertDocs(t *testing.T) {
	golden.File(t, "prometheus/rules.yml", rules())
	golden.File(t, "prometheus/rules_test.yml", ruleTests(""))
	all, known := catalogue(t), map[string]bool{}
	page, err := os.ReadFile("../docs/relay.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range alerts {
		for _, a := range group.rules {
			if known[a.name] || len(a.fires) == 0 || len(a.quiet) == 0 || a.summary == "" {
				t.Errorf("%s: twice, or without a case or summary", a.name)
			}
			known[a.name] = true
			if metricsOf(t, all, a.name, a.expr); !strings.HasPrefix(a.expr, "up{") && !strings.Contains(a.expr, "gavel_") {
				t.Errorf("%s asks for no metric of ours", a.name)
			}
			for _, series := range slices.Concat(a.fires, a.quiet) {
				if strings.HasPrefix(series, "gavel_") {
					metricsOf(t, all, a.name, series)
				}
			}
			for _, selector := range selectorsIn.FindAllStringSubmatch(a.expr, -1) {
				if selector[1] != "endpoint" && selector[1] != "refusal" {
					continue
				}
				for _, value := range strings.Split(selector[2], "|") {
					if !strings.Contains(string(page), value) {
						t.Errorf("%s: docs/relay.md does not have the %s %s", a.name, selector[1], value)
					}
				}
			}
		}
	}
}

// headings are the titles of docs/operations.md.
var headings = regexp.MustCompile(`(?m)^#+ (.+)$`)

// Every alert has a page that says what to do, and no page is of an alert that is gone.
func TestEveryAlertHasAPage(t *testing.T) {
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var pages, named []string
	places := headings.FindAllStringSubmatchIndex(string(text), -1)
	for i, at := range places {
		title, end := string(text[at[2]:at[3]]), len(text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		if !strings.HasPrefix(title, "Gavel") {
			continue
		}
		if pages = append(pages, title); len(strings.Fields(string(text[at[1]:end]))) < 15 {
			t.Errorf("the page of %s says next to nothing", title)
		}
	}
	for _, group := range alerts {
		for _, a := range group.rules {
			named = append(named, a.name)
		}
	}
	if !slices.Equal(pages, named) {
		t.Errorf("docs/operations.md has pages of %q, the alerts are %q", pages, named)
	}
}

// promtool runs Prometheus' own tool.
func promtool(t *testing.T, arguments ...string) (said string, err error) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is needed (make install-needs)")
	}
	answer, err := exec.CommandContext(t.Context(), path, arguments...).CombinedOutput()
	return string(answer), err
}

// Prometheus reads the rules, and each fires and is quiet as its cases say.
func TestRulesFireAsTheySay(t *testing.T) {
	for _, arguments := range [][]string{
		{"check", "rules", "prometheus/rules.yml"}, {"test", "rules", "prometheus/rules_test.yml"},
		{"check", "config", "prometheus/prometheus.yml"},
	} {
		if said, err := promtool(t, arguments...); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, said)
		}
	}
}

// A rule that never fires, or always does, fails its case.
func TestWrongRulesAreNoticed(t *testing.T) {
	for _, row := range []struct{ alert, of, into string }{
		{"GavelRelayKillSwitch", "gavel_relay_kill_switch == 1", "gavel_relay_kill_switch == 2"},
		{"GavelRPCHeadStands", "gavel_rpc_head[3m]) == 0", "gavel_rpc_head[3m]) >= 0"},
	} {
		wrong := strings.Replace(rules(), row.of, row.into, 1)
		if wrong == rules() {
			t.Fatalf("no rule has %s", row.of)
		}
		dir := t.TempDir()
		for name, text := range map[string]string{"rules.yml": wrong, "rules_test.yml": ruleTests(row.alert)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if said, err := promtool(t, "test", "rules", filepath.Join(dir, "rules_test.yml")); err == nil {
			t.Errorf("%s passes: %s", row.into, said)
		}
	}
}
