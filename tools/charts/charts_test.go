// Package charts renders deploy/helm with Helm's own engine, and checks what comes out against
// Kubernetes' own types. It is a module of its own, since gavel needs neither Helm nor Kubernetes.
package charts

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/dotenv"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

const folder = "../../deploy"

var update = flag.Bool("update", false, "write the rendered charts instead of comparing")

// needed are the values that nobody can have defaults for.
const needed = `
existingSecret: gavel
network: hoodi
beaconUrls: [http://beacon-1:5052, http://beacon-2:5052]
validationUrls: [http://validation:8545]
executionUrls: [http://execution:8545]
`

// render renders the chart with texts of values, of which the later ones win.
func render(texts ...string) (string, error) {
	chart, err := loader.Load(filepath.Join(folder, "helm/gavel"))
	if err != nil {
		return "", err
	}
	values := map[string]any{}
	for _, text := range texts {
		read, err := chartutil.ReadValues([]byte(text))
		if err != nil {
			return "", err
		}
		values = chartutil.CoalesceTables(map[string]any(read), values)
	}
	options := chartutil.ReleaseOptions{Name: "house", Namespace: "auctions", IsInstall: true, Revision: 1}
	all, err := chartutil.ToRenderValues(chart, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return "", err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if text := strings.TrimSpace(files[name]); text != "" && strings.HasSuffix(name, ".yaml") {
			fmt.Fprintf(&b, "---\n# %s\n%s\n", name, strings.TrimPrefix(text, "---\n"))
		}
	}
	return b.String(), nil
}

// variants are the topologies that are kept rendered, by the names of their files.
func variants(t *testing.T) map[string][]string {
	t.Helper()
	single, err := os.ReadFile(filepath.Join(folder, "helm/gavel/single.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	watched := "serviceMonitor: {enabled: true, labels: {release: prometheus}}\n"
	own := `
journal: external
databases: external
antiAffinity: preferred
trustedProxies: [10.0.0.0/8]
storageClass: fast
networkPolicy: {enabled: false}
relay: {buildersKey: relay-builders}
rpc: {builders: [{name: a, url: "http://a:1", apis: [eth_sendBundle]}]}
stream: {enabled: false}
`
	return map[string][]string{
		"chart-cluster.yaml":  {needed, watched},
		"chart-single.yaml":   {needed, string(single)},
		"chart-external.yaml": {needed, own},
	}
}

// Each topology renders as it did, and Kubernetes and Prometheus' operator know every member of it.
func TestCharts(t *testing.T) {
	if err := monitoring.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	for name, values := range variants(t) {
		got, err := render(values...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := known(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got = checksum(t) + got
		path := filepath.Join(folder, "testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || string(want) != got {
			t.Errorf("%s is not up to date (make charts ARGS=-update writes it): %v", path, err)
		}
	}
}

// checksum is a line by which a test of the package deploy, which has no Helm, sees that the chart
// is another now than the one that was rendered. The alert rules do not count: they are made there.
func checksum(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(filepath.Join(folder, "helm/gavel"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "rules.yml" {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", filepath.Base(path), len(text), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("# Rendered by make charts ARGS=-update from the chart with the checksum %x.\n", sum.Sum(nil)[:8])
}

// The alert rules are a document for Prometheus' operator.
func TestRulesAreADocument(t *testing.T) {
	if err := monitoring.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	text, err := render(needed, "prometheusRule: {enabled: true}")
	if err != nil {
		t.Fatal(err)
	}
	if err := known(text); err != nil || !strings.Contains(text, "alert: GavelDown") {
		t.Error(err)
	}
}

// known complains about a document with a member that its type does not have, or of another type.
func known(text string) error {
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	documents := yaml.NewDocumentDecoder(io.NopCloser(strings.NewReader(text)))
	count, buffer := 0, make([]byte, 1<<20)
	for {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			if count < 8 {
				return fmt.Errorf("only %d documents", count)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if _, _, err := strict.Decode(bytes.Clone(buffer[:n]), nil, nil); err != nil {
			return fmt.Errorf("document %d: %w\n%s", count, err, buffer[:n])
		}
		count++
	}
}

// A member that Kubernetes does not know is noticed; without that, the check would show nothing.
func TestWrongDocumentsAreNoticed(t *testing.T) {
	right, err := render(needed)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{
		strings.Replace(right, "livenessProbe:", "livenesProbe:", 1),
		strings.Replace(right, "maxUnavailable: 1", "maxUnavailable: [1]", 1),
		strings.Replace(right, "kind: NetworkPolicy", "kind: NetworkPolice", 1),
	} {
		if wrong == right || known(wrong) == nil {
			t.Error("a wrong document is taken")
		}
	}
}

// Values that would lose something, or start nothing, are refused with what to do.
func TestWrongValuesAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		"journal: embedded\ndatabases: embedded": "set all replicas to 1",
		"databases: embedded":                    "needs journal: embedded",
		"relay: {replicas: 0}":                   "replicas",
		"relay: {replica: 1}":                    "replica",
		"existingSecret: ''":                     "existingSecret",
		"beaconUrls: []":                         "beaconUrls is empty",
		"executionUrls: []":                      "executionUrls is empty",
		"validationUrls: [node:8545]":            "validationUrls",
		"antiAffinity: maybe":                    "antiAffinity",
		"terminationGracePeriodSeconds: 5":       "terminationGracePeriodSeconds",
	} {
		if _, err := render(needed, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a word about %s", values, err, want)
		}
	}
}

// Compose's own reader takes the compose files with the variables of env.example.
func TestComposeFiles(t *testing.T) {
	text, err := os.Open(filepath.Join(folder, "env.example"))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	values, err := dotenv.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"NATS_PASSWORD=p1", "POSTGRES_PASSWORD=p2"}
	for name, value := range values {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	for path, services := range map[string]int{"compose.yaml": 6, "cluster/compose.yaml": 13} {
		options, err := cli.NewProjectOptions([]string{filepath.Join(folder, path)}, cli.WithEnv(env))
		if err != nil {
			t.Fatal(err)
		}
		project, err := options.LoadProject(t.Context())
		if err != nil || len(project.Services) != services {
			t.Fatalf("%s: %v", path, err)
		}
		if options, err = cli.NewProjectOptions([]string{filepath.Join(folder, path)},
			cli.WithEnv(env[:2])); err != nil {
			t.Fatal(err)
		}
		if _, err := options.LoadProject(t.Context()); err == nil {
			t.Errorf("%s starts without a beacon node", path)
		}
	}
}
