package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
)

type object = map[string]any

// inGrafana is a board as Grafana imports it. Its variables are the data source and the instances.
func inGrafana(b board, all map[string]metric) string {
	source := object{"type": "prometheus", "uid": "${datasource}"}
	instances := fmt.Sprintf(`label_values(gavel_build_info{service=~"%s"}, instance)`, b.service)
	var panels []object
	id, y := 0, 0
	for _, row := range b.rows {
		id++
		panels = append(panels, object{"id": id, "type": "row", "title": row.title, "collapsed": false, "panels": []any{},
			"gridPos": object{"h": 1, "w": 24, "x": 0, "y": y}})
		y++
		x, height := 0, 0
		for _, p := range row.panels {
			id++
			width, high := 12, 8
			if p.stat {
				width, high = 4, 4
			}
			if x+width > 24 {
				x, y, height = 0, y+height, 0
			}
			panels = append(panels, panelInGrafana(p, all, source, object{"h": high, "w": width, "x": x, "y": y}, id))
			x, height = x+width, max(height, high)
		}
		y += height
	}
	text, err := json.MarshalIndent(object{
		"uid": "gavel-" + b.file, "title": b.title, "tags": []string{"gavel"}, "schemaVersion": 39, "version": 1,
		"editable": true, "refresh": "15s", "time": object{"from": "now-1h", "to": "now"}, "timezone": "utc",
		"templating": object{"list": []object{
			{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
			{"name": "instance", "label": "Instance", "type": "query", "datasource": source, "refresh": 2, "sort": 1,
				"definition": instances, "query": object{"query": instances, "refId": "instances"},
				"multi": true, "includeAll": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"}},
		}},
		"panels": panels,
	}, "", " ")
	if err != nil {
		panic(err) // only maps, texts and numbers
	}
	return string(text) + "\n"
}

func panelInGrafana(p panel, all map[string]metric, source, place object, id int) object {
	var targets []object
	var helps []string
	for i, q := range p.shows {
		targets = append(targets, object{"refId": string(rune('A' + i)), "datasource": source, "range": true,
			"expr": strings.ReplaceAll(q.expr, "$here", `instance=~"$instance"`), "legendFormat": q.legend})
		for _, match := range namesIn.FindAllStringSubmatch(q.expr, -1) {
			if name, m := lookUp(all, match[1]); name != "" && !slices.Contains(helps, m.help) {
				helps = append(helps, m.help)
			}
		}
	}
	kind, options := "timeseries", object{
		"legend":  object{"displayMode": "table", "placement": "bottom", "calcs": []string{"lastNotNull", "max"}},
		"tooltip": object{"mode": "multi", "sort": "desc"},
	}
	if p.stat {
		kind, options = "stat", object{"reduceOptions": object{"calcs": []string{"lastNotNull"}}}
	}
	return object{"id": id, "type": kind, "title": p.title, "description": strings.Join(helps, "\n\n"), "gridPos": place,
		"datasource": source, "targets": targets, "options": options,
		"fieldConfig": object{"defaults": object{"unit": p.unit}, "overrides": []any{}}}
}

// Every metric of a panel exists, every metric of the catalogue is on a board, and every
// expression is one for Prometheus.
func TestBoardDocs(t *testing.T) {
	all, shown := catalogue(t), map[string]bool{}
	var recording strings.Builder
	recording.WriteString("groups:\n  - name: boards\n    rules:\n")
	for _, b := range boards {
		golden.File(t, filepath.Join("grafana", b.file+".json"), inGrafana(b, all))
		for _, row := range b.rows {
			for _, p := range row.panels {
				for i, q := range p.shows {
					for _, name := range metricsOf(t, all, b.file+": "+p.title, strings.ReplaceAll(q.expr, "$here", `instance="x"`)) {
						shown[name] = true
					}
					expr := strings.NewReplacer("$here", `instance=~"x"`, "$__rate_interval", "1m").Replace(q.expr)
					fmt.Fprintf(&recording, "      - record: %s_%d\n        expr: %s\n",
						strings.Map(letter, b.file+"_"+row.title+"_"+p.title), i, quoted(expr))
				}
			}
		}
	}
	for name := range all {
		if !shown[name] {
			t.Errorf("%s is on no board", name)
		}
	}
	path := filepath.Join(t.TempDir(), "boards.yml")
	if err := os.WriteFile(path, []byte(recording.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := promtool(t, "check", "rules", path); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// letter makes names of panels names of rules.
func letter(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return '_'
}

// Legends name labels that are there, panels have titles of their own, and none overlap.
func TestBoardsAreWhole(t *testing.T) {
	all := catalogue(t)
	for _, b := range boards {
		var read struct {
			UID    string
			Panels []struct {
				ID                       int
				Type, Title, Description string
				GridPos                  struct{ H, W, X, Y int }
			}
		}
		if err := json.Unmarshal([]byte(inGrafana(b, all)), &read); err != nil || read.UID == "" {
			t.Fatal(err)
		}
		taken, titles := map[[2]int]int{}, map[string]bool{}
		for _, p := range read.Panels {
			if p.Type != "row" && (titles[p.Title] || p.Description == "") {
				t.Errorf("%s: %q is twice, or says nothing", b.file, p.Title)
			}
			titles[p.Title] = p.Type != "row"
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != 0 || x >= 24 {
						t.Fatalf("%s: panels %d and %d overlap", b.file, other, p.ID)
					}
					taken[[2]int{x, y}] = p.ID
				}
			}
		}
		for _, row := range b.rows {
			for _, p := range row.panels {
				for _, q := range p.shows {
					checkLegend(t, all, b.file+": "+p.title, q)
				}
			}
		}
	}
}

// checkLegend complains about a label in a legend that the series do not have.
func checkLegend(t *testing.T, all map[string]metric, where string, q query) {
	t.Helper()
	for part := range strings.SplitSeq(q.legend, "{{") {
		label, _, found := strings.Cut(part, "}}")
		if !found || label == "instance" && !strings.Contains(q.expr, "by (") {
			continue
		}
		has := false
		if group := groupsIn.FindStringSubmatch(q.expr); group != nil {
			has = slices.Contains(strings.Split(group[1], ", "), label)
		} else {
			for _, match := range namesIn.FindAllStringSubmatch(q.expr, -1) {
				_, m := lookUp(all, match[1])
				has = has || slices.Contains(m.labels, label)
			}
		}
		if !has {
			t.Errorf("%s: the series have no label %s", where, label)
		}
	}
}
