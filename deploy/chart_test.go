package deploy

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/nats-io/nats-server/v2/server"
)

// charts are the topologies that tools/charts renders.
var charts = []string{"chart-cluster.yaml", "chart-external.yaml", "chart-single.yaml"}

// kubeObject is the part of a Kubernetes object that these tests look at.
type kubeObject struct {
	Kind     string
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Data map[string]string
	Spec struct {
		Replicas    int
		Selector    any
		JobLabel    string `yaml:"jobLabel"`
		PodSelector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		} `yaml:"podSelector"`
		Ports []struct {
			Name       string
			TargetPort int `yaml:"targetPort"`
		}
		Ingress  []struct{ Ports []struct{ Port int } }
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Containers                    []container
				TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
			}
		}
	}
}

type container struct {
	Name, Image string
	Args        []string
	Env         []struct {
		Name, Value string
		ValueFrom   struct {
			SecretKeyRef struct{ Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
	Ports []struct {
		ContainerPort int `yaml:"containerPort"`
	}
	Liveness  probe `yaml:"livenessProbe"`
	Readiness probe `yaml:"readinessProbe"`
}

type probe struct {
	HTTPGet struct {
		Path string
		Port int
	} `yaml:"httpGet"`
}

// readChart reads the objects of a rendered chart.
func readChart(t *testing.T, name string) (objects []kubeObject) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var read kubeObject
		err := decoder.Decode(&read)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if read.Kind != "" {
			objects = append(objects, read)
		}
	}
}

// flag is the value of a container's flag.
func (c container) flag(name string) string { return composeService{Command: c.Args}.flag(name) }

// pods are the containers of a chart by the component of their pods.
func pods(objects []kubeObject) map[string][]container {
	all := map[string][]container{}
	for _, o := range objects {
		if o.Kind == "StatefulSet" {
			all[component(o.Spec.Template.Metadata.Labels)] = o.Spec.Template.Spec.Containers
		}
	}
	return all
}

func component(labels map[string]string) string { return labels["app.kubernetes.io/component"] }

// chosen is the component of the pods that a selector of a service selects.
func chosen(selector any) string {
	labels, _ := selector.(map[string]any)
	name, _ := labels["app.kubernetes.io/component"].(string)
	return name
}

// The charts that these tests read are rendered from the chart that is here.
func TestChartIsRendered(t *testing.T) {
	sum := sha256.New()
	err := filepath.WalkDir("helm/gavel", func(path string, entry os.DirEntry, err error) error {
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
	for _, name := range charts {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil || !strings.Contains(string(text), fmt.Sprintf("%x.\n", sum.Sum(nil)[:8])) {
			t.Errorf("%s is of another chart: make charts ARGS=-update renders it (%v)", name, err)
		}
	}
}

// chartCommands are the commands of a chart's containers. Values of its Secret are made up.
func chartCommands(t *testing.T, name string) (all []command) {
	t.Helper()
	objects := readChart(t, name)
	found := pods(objects)
	for _, part := range slices.Sorted(maps.Keys(found)) {
		for _, c := range found[part] {
			if !strings.HasPrefix(c.Image, "gavel:") {
				continue
			}
			env, files := map[string]string{}, map[string]string{}
			for _, variable := range c.Env {
				switch key := variable.ValueFrom.SecretKeyRef.Key; {
				case key == "journal-url":
					env[variable.Name] = "nats://gavel:1a2b@nats:4222"
				case strings.HasSuffix(key, "-db-url"):
					env[variable.Name] = "postgres://gavel:1a2b@db/" + c.Name
				case key == "":
					env[variable.Name] = strings.NewReplacer("$(NATS_PASSWORD)", "1a2b", "$(POSTGRES_PASSWORD)",
						"1a2b").Replace(variable.Value)
				}
			}
			for _, argument := range c.Args {
				switch _, path, _ := strings.Cut(argument, "="); {
				case strings.HasSuffix(path, "-builders"):
					files[path] = "- name: a\n"
				case strings.HasPrefix(path, "/run/secrets/"):
					files[path] = filepath.Base(path)
				case strings.HasPrefix(path, "/etc/gavel/"):
					files[path] = data(objects, filepath.Base(path))
				}
			}
			all = append(all, command{name + " " + c.Name, c.Args, env, files})
		}
	}
	return all
}

// data is a file of a chart's ConfigMaps.
func data(objects []kubeObject, file string) string {
	for _, o := range objects {
		if text, found := o.Data[file]; found {
			return text
		}
	}
	return ""
}

// Probes ask the admin listener, at the ports that the flags say, and a container is not killed
// while it finishes.
func TestChartProbes(t *testing.T) {
	for _, name := range charts {
		for _, o := range readChart(t, name) {
			for _, c := range o.Spec.Template.Spec.Containers {
				if !strings.HasPrefix(c.Image, "gavel:") {
					continue
				}
				admin := c.flag("admin-listen")
				for path, p := range map[string]probe{"/livez": c.Liveness, "/readyz": c.Readiness} {
					if p.HTTPGet.Path != path || fmt.Sprint(":", p.HTTPGet.Port) != admin {
						t.Errorf("%s: %s asks %+v, and listens at %s", name, c.Name, p, admin)
					}
				}
				var open []string
				for _, port := range c.Ports {
					open = append(open, fmt.Sprint(":", port.ContainerPort))
				}
				if !slices.Equal(open, []string{c.flag("listen"), admin}) {
					t.Errorf("%s: %s has the ports %q", name, c.Name, open)
				}
				if o.Spec.Template.Spec.TerminationGracePeriodSeconds < 30 {
					t.Errorf("%s: %s is killed while it finishes", name, c.Name)
				}
			}
		}
	}
}

// Every address leads to a container that listens there; every set of pods has a budget, so that
// not all of it is away at once; and policies name ports that somebody listens at.
func TestChartAddresses(t *testing.T) {
	for _, name := range charts {
		objects := readChart(t, name)
		found, budgets := pods(objects), map[string]bool{}
		listens := func(part string, port int) bool {
			for _, c := range found[part] {
				for _, p := range c.Ports {
					if p.ContainerPort == port {
						return true
					}
				}
			}
			return false
		}
		for _, o := range objects {
			switch o.Kind {
			case "Service":
				for _, port := range o.Spec.Ports {
					if !listens(chosen(o.Spec.Selector), port.TargetPort) {
						t.Errorf("%s: nobody listens behind %s at %d", name, o.Metadata.Name, port.TargetPort)
					}
				}
			case "NetworkPolicy":
				for _, rule := range o.Spec.Ingress {
					if !listens(component(o.Spec.PodSelector.MatchLabels), rule.Ports[0].Port) {
						t.Errorf("%s: the policy %s opens %d, where nobody listens", name, o.Metadata.Name, rule.Ports[0].Port)
					}
				}
			case "PodDisruptionBudget":
				budgets[o.Metadata.Name] = true
			}
		}
		for part := range found {
			if !budgets["house-"+part] && part != "postgres" {
				t.Errorf("%s: all of %s may be away at once", name, part)
			}
		}
	}
}

// The jobs are those that alerts and boards go by.
func TestChartIsScraped(t *testing.T) {
	var jobs, want []string
	scraped := ""
	for _, o := range readChart(t, "chart-cluster.yaml") {
		if job := o.Metadata.Labels["gavel-job"]; job != "" {
			jobs = append(jobs, job)
		}
		if o.Kind == "ServiceMonitor" {
			scraped = o.Spec.JobLabel
		}
	}
	for _, s := range readCompose(t, "compose.yaml").Services {
		if s.ours() {
			want = append(want, "gavel-"+s.Command[0])
		}
	}
	slices.Sort(jobs)
	slices.Sort(want)
	if scraped != "gavel-job" || !slices.Equal(jobs, want) {
		t.Errorf("scraped by %q: %q, want %q", scraped, jobs, want)
	}
}

// The servers of the journal take their configuration, lose nothing that they acknowledged, and
// have the names by which they and the services look for them.
func TestChartHasAJournal(t *testing.T) {
	objects := readChart(t, "chart-cluster.yaml")
	t.Setenv("NATS_PASSWORD", "1a2b")
	t.Setenv("SERVER_NAME", "house-nats-0")
	path := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(path, []byte(data(objects, "nats.conf")), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !options.JetStream || !options.SyncAlways || options.MaxPayload != 32<<20 || options.StoreDir != "/data" {
		t.Errorf("JetStream %t, sync %t, max_payload %d, store %s", options.JetStream, options.SyncAlways,
			options.MaxPayload, options.StoreDir)
	}
	var hosts []string
	for n := range 3 {
		hosts = append(hosts, fmt.Sprintf("house-nats-%d.house-nats", n))
	}
	for i, route := range options.Routes {
		if route.Host != hosts[i]+":6222" {
			t.Errorf("the route %s leads nowhere", route)
		}
	}
	for _, c := range chartCommands(t, "chart-cluster.yaml") {
		journal := c.Env["GAVEL_"+strings.ToUpper(c.Arguments[0])+"_JOURNAL"]
		if want := "nats://gavel:1a2b@" + strings.Join(hosts, ":4222,nats://gavel:1a2b@") + ":4222"; journal != want {
			t.Errorf("%s: %s, want %s", c.From, journal, want)
		}
	}
}
