package deploy

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/nats-io/nats-server/v2/server"
)

// composeFile is what our compose files have of the Compose specification; a member that is not
// here is a mistake, or a reason to add it.
type composeFile struct {
	Name     string
	Services map[string]composeService
	Secrets  map[string]struct{ File string }
	Volumes  map[string]any
	Networks map[string]struct {
		IPAM struct {
			Config []struct{ Subnet string }
		}
	}
	// What several services have in common; YAML's aliases have put it into each.
	Gavel  any `yaml:"x-gavel"`
	Relay  any `yaml:"x-relay"`
	RPC    any `yaml:"x-rpc"`
	Stream any `yaml:"x-stream"`
	NATS   any `yaml:"x-nats"`
}

type composeService struct {
	Image, Restart                          string
	StopGracePeriod                         string   `yaml:"stop_grace_period"`
	ReadOnly                                bool     `yaml:"read_only"`
	CapDropped                              []string `yaml:"cap_drop"`
	SecurityOpt                             []string `yaml:"security_opt"`
	ExtraHosts                              []string `yaml:"extra_hosts"`
	Command, Tmpfs, Secrets, Volumes, Ports []string
	Environment                             map[string]string
	Ulimits                                 map[string]int
}

// composeFiles are by their names, and what Prometheus of each is told by.
var composeFiles = map[string]string{"compose.yaml": "compose.yml", "cluster/compose.yaml": "cluster.yml"}

var variables = regexp.MustCompile(`\$\{([A-Z_]+)(?::([-?])([^}]*))?\}`)

// settings are the variables of env.example. Those that it leaves to the operator get a value.
func settings(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("env.example")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(line, "#") {
			if values[name] = value; value == "" {
				values[name] = "1a2b"
			}
		}
	}
	return values
}

// readCompose reads a file as compose does, with the variables of env.example.
func readCompose(t *testing.T, path string) (file composeFile) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	values := settings(t)
	whole := variables.ReplaceAllStringFunc(string(text), func(found string) string {
		parts := variables.FindStringSubmatch(found)
		if values[parts[1]] == "" {
			t.Errorf("%s: env.example does not have %s", path, parts[1])
		}
		return values[parts[1]]
	})
	if err := yaml.UnmarshalWithOptions([]byte(whole), &file, yaml.DisallowUnknownField()); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return file
}

// ours says whether a service runs gavel.
func (s composeService) ours() bool { return strings.HasPrefix(s.Image, "gavel:") }

// flag is the value of a service's flag.
func (s composeService) flag(name string) string {
	for _, argument := range s.Command {
		if value, found := strings.CutPrefix(argument, "--"+name+"="); found {
			return value
		}
	}
	return ""
}

// Every service of ours is confined, keeps what it must not lose, and can end a delivery before it
// is killed.
func TestComposeServicesAreConfined(t *testing.T) {
	for path := range composeFiles {
		file, own := readCompose(t, path), 0
		for name, s := range file.Services {
			if s.Restart != "unless-stopped" {
				t.Errorf("%s: %s is not started again", path, name)
			}
			if !s.ours() {
				continue
			}
			own++
			if !s.ReadOnly || !slices.Equal(s.CapDropped, []string{"ALL"}) || s.StopGracePeriod < "30s" ||
				!slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
				t.Errorf("%s: %s may do more than it needs, or is killed too early: %+v", path, name, s)
			}
			if !strings.HasPrefix(s.flag("data-dir"), "/data/") {
				t.Errorf("%s: the data of %s are at %q, which is no volume", path, name, s.flag("data-dir"))
			}
			if stores := storesOf(s); stores != 0 && stores != 2 && path != "compose.yaml" {
				t.Errorf("%s: %s keeps something in its container", path, name)
			}
		}
		if own < 3 {
			t.Errorf("%s has %d services of ours", path, own)
		}
	}
}

// storesOf counts the stores that a service has outside of its container.
func storesOf(s composeService) (count int) {
	for name := range s.Environment {
		if strings.HasSuffix(name, "_JOURNAL") || strings.HasSuffix(name, "_DB") {
			count++
		}
	}
	return count
}

// Files that are mounted are there, volumes and secrets are declared and used, and only what is for
// everybody is published to everybody.
func TestComposeMountsAndPorts(t *testing.T) {
	public := []string{"9062:9062", "9072:9072", "9074:9074"}
	for path := range composeFiles {
		file, used, published := readCompose(t, path), map[string]bool{}, []string{}
		for name, s := range file.Services {
			for _, volume := range s.Volumes {
				source, _, _ := strings.Cut(volume, ":")
				_, err := os.Stat(filepath.Join(filepath.Dir(path), source))
				if _, declared := file.Volumes[source]; !declared && (!strings.HasPrefix(source, ".") || err != nil) {
					t.Errorf("%s: %s mounts %s, which is not there", path, name, source)
				}
				used[source] = true
			}
			for _, secret := range s.Secrets {
				if used[secret] = true; filepath.Base(file.Secrets[secret].File) != secret {
					t.Errorf("%s: %s asks for the secret %s", path, name, secret)
				}
			}
			for _, port := range s.Ports {
				if !strings.HasPrefix(port, "127.0.0.1:") {
					published = append(published, port)
				}
			}
		}
		slices.Sort(published)
		if !slices.Equal(published, public) {
			t.Errorf("%s publishes %q, want %q", path, published, public)
		}
		for _, name := range slices.Concat(slices.Collect(maps.Keys(file.Volumes)), slices.Collect(maps.Keys(file.Secrets))) {
			if !used[name] {
				t.Errorf("%s: nothing uses %s", path, name)
			}
		}
	}
}

// prometheusFile is the part of Prometheus' configuration that says whom it asks.
type prometheusFile struct {
	ScrapeConfigs []struct {
		JobName       string                       `yaml:"job_name"`
		StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
	} `yaml:"scrape_configs"`
}

// Prometheus asks the admin listener of every service of ours, and none that is not there.
func TestComposeIsScraped(t *testing.T) {
	for path, config := range composeFiles {
		var want, got []string
		for name, s := range readCompose(t, path).Services {
			if s.ours() {
				want = append(want, "gavel-"+s.Command[0]+" "+name+s.flag("admin-listen"))
			}
		}
		text, err := os.ReadFile(filepath.Join("prometheus", config))
		if err != nil {
			t.Fatal(err)
		}
		var read prometheusFile
		if err := yaml.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		for _, job := range read.ScrapeConfigs {
			for _, target := range job.StaticConfigs[0].Targets {
				got = append(got, job.JobName+" "+target)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("prometheus/%s asks %q, %s has %q", config, got, path, want)
		}
		if said, err := promtool(t, "check", "config", filepath.Join("prometheus", config)); err != nil {
			t.Errorf("prometheus/%s: %v\n%s", config, err, said)
		}
		command := readCompose(t, path).Services["prometheus"].Command
		if !slices.Contains(command, "--config.file=/etc/prometheus/"+config) {
			t.Errorf("%s: Prometheus is started with %q", path, command)
		}
	}
}

// Grafana finds every board in the folder that its provisioning names, and Prometheus.
func TestGrafanaIsProvisioned(t *testing.T) {
	var boardsOf struct {
		Providers []struct{ Options struct{ Path string } }
	}
	var sources struct{ Datasources []struct{ Type, URL string } }
	for path, into := range map[string]any{"dashboards": &boardsOf, "datasources": &sources} {
		text, err := os.ReadFile(filepath.Join("grafana/provisioning", path, "gavel.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	if len(sources.Datasources) != 1 || sources.Datasources[0].URL != "http://prometheus:9090" {
		t.Errorf("%+v", sources)
	}
	for path := range composeFiles {
		mounted := ""
		for _, volume := range readCompose(t, path).Services["grafana"].Volumes {
			if parts := strings.Split(volume, ":"); parts[1] == boardsOf.Providers[0].Options.Path {
				mounted = filepath.Join(filepath.Dir(path), parts[0])
			}
		}
		for _, b := range boards {
			if _, err := os.Stat(filepath.Join(mounted, b.file+".json")); mounted == "" || err != nil {
				t.Errorf("%s: Grafana does not find the board %s: %v", path, b.file, err)
			}
		}
	}
}

// The NATS servers take their configuration, lose nothing that they acknowledged, take a block with
// its blobs as one message, know each other by name, and are of the version that our tests run.
func TestNATSServersAreConfigured(t *testing.T) {
	t.Setenv("NATS_PASSWORD", "1a2b")
	t.Setenv("SERVER_NAME", "nats-2")
	configs := map[string]string{"compose.yaml": "nats/one.conf", "cluster/compose.yaml": "cluster/nats.conf"}
	for path, config := range configs {
		options, err := server.ProcessConfigFile(config)
		if err != nil {
			t.Fatal(err)
		}
		if !options.JetStream || !options.SyncAlways || options.MaxPayload != 32<<20 || options.StoreDir != "/data" ||
			options.Username != "gavel" || options.Password != "1a2b" || options.Port != 4222 {
			t.Errorf("%s: JetStream %t, sync %t, max_payload %d, store %s, user %s, port %d", config, options.JetStream,
				options.SyncAlways, options.MaxPayload, options.StoreDir, options.Username, options.Port)
		}
		var servers, routes []string
		for name, s := range readCompose(t, path).Services {
			if !strings.HasPrefix(s.Image, "nats:") {
				continue
			}
			servers = append(servers, name)
			version := strings.Split(server.VERSION, ".")
			if want := fmt.Sprintf("nats:%s.%s-alpine", version[0], version[1]); s.Image != want {
				t.Errorf("%s: %s is %s; the tests run %s", path, name, s.Image, want)
			}
			if own := s.Environment["SERVER_NAME"]; own != "" && own != name {
				t.Errorf("%s: %s is called %s", path, name, own)
			}
		}
		for _, route := range options.Routes {
			routes = append(routes, route.Hostname())
		}
		slices.Sort(servers)
		if len(servers) > 1 && !slices.Equal(servers, routes) {
			t.Errorf("%s: the servers are %q, the routes %q", path, servers, routes)
		}
	}
}

// The balancer has every instance, at its ports, and its health is asked for where it is told.
func TestBalancerKnowsEveryInstance(t *testing.T) {
	text, err := os.ReadFile("cluster/haproxy.cfg")
	if err != nil {
		t.Fatal(err)
	}
	connections := 0
	limit := regexp.MustCompile(`maxconn \d+`).FindString(string(text))
	if _, err := fmt.Sscanf(limit, "maxconn %d", &connections); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	servers := regexp.MustCompile(`(?m)^  server (\S+) (\S+):(\d+) check port (\d+)$`)
	for _, found := range servers.FindAllStringSubmatch(string(text), -1) {
		got = append(got, strings.Join(found[1:], " "))
	}
	file := readCompose(t, "cluster/compose.yaml")
	if open := file.Services["balancer"].Ulimits["nofile"]; open < 2*connections+100 {
		t.Errorf("the balancer may open %d files, and needs two for each of %d connections", open, connections)
	}
	for name, s := range file.Services {
		if !s.ours() {
			continue
		}
		want = append(want, fmt.Sprint(name, " ", name, " ", s.flag("listen")[1:], " ", s.flag("admin-listen")[1:]))
		if s.flag("trusted-proxies") != file.Networks["default"].IPAM.Config[0].Subnet || s.flag("linger") < "5s" {
			t.Errorf("%s does not believe the balancer, or leaves before it knows: %q", name, s.Command)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the balancer has\n%q, the file\n%q", got, want)
	}
	if path, err := exec.LookPath("haproxy"); err != nil {
		t.Log("haproxy is not here to read the file")
	} else {
		check := exec.CommandContext(t.Context(), path, "-c", "-f", "cluster/haproxy.cfg")
		if said, err := check.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, said)
		}
	}
}

// Stores that a service names are services of the file, with the databases that are made for them.
func TestStoresAreInTheFile(t *testing.T) {
	databases, err := os.ReadFile("cluster/databases.sql")
	if err != nil {
		t.Fatal(err)
	}
	hosts := regexp.MustCompile(`(nats|postgres)://gavel:1a2b@([^,/]+)(?:/(\w+)\?)?`)
	for path := range composeFiles {
		file := readCompose(t, path)
		for name, s := range file.Services {
			for variable, value := range s.Environment {
				if !s.ours() {
					continue
				}
				all := hosts.FindAllStringSubmatch(value, -1)
				if len(all) == 0 || len(all) != strings.Count(value, "://") {
					t.Errorf("%s: %s of %s is %s", path, variable, name, value)
				}
				for _, found := range all {
					host, _, err := net.SplitHostPort(found[2])
					if err != nil {
						host = found[2]
					}
					if _, known := file.Services[host]; !known {
						t.Errorf("%s: %s of %s names %s", path, variable, name, host)
					}
					if found[1] == "postgres" && (found[3] != s.Command[0] ||
						!strings.Contains(string(databases), "CREATE DATABASE "+found[3]+";")) {
						t.Errorf("%s: nobody makes the database %s for %s", path, found[3], name)
					}
				}
			}
		}
	}
}
