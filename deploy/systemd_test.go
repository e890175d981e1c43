package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// unit is a unit of systemd: the values of its keys, in order.
type unit map[string][]string

// readUnits reads the units by the names of their services.
func readUnits(t *testing.T) map[string]unit {
	t.Helper()
	paths, err := filepath.Glob("systemd/gavel-*.service")
	if err != nil || len(paths) != 4 {
		t.Fatal(paths, err)
	}
	units := map[string]unit{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		read := unit{}
		for line := range strings.Lines(string(text)) {
			if key, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(line, "#") {
				read[key] = append(read[key], value)
			}
		}
		units[strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "gavel-"), ".service")] = read
	}
	return units
}

// unitCommands are the commands of the units, with the configuration beside each.
func unitCommands(t *testing.T) (all []command) {
	t.Helper()
	units := readUnits(t)
	for _, name := range []string{"monitor", "relay", "rpc", "stream"} {
		arguments := strings.Fields(units[name]["ExecStart"][0])
		config, err := os.ReadFile(filepath.Join("systemd", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		env := map[string]string{}
		files := map[string]string{"/etc/gavel/" + name + ".yaml": string(config)}
		if strings.Contains(string(config), "/etc/gavel/builders.yaml") && name == "rpc" {
			files["/etc/gavel/builders.yaml"] = "builders.yaml"
		}
		for _, variable := range units[name]["Environment"] {
			key, value, _ := strings.Cut(variable, "=")
			env[key] = strings.Replace(value, "%d", "/run/credentials", 1)
		}
		for _, credential := range units[name]["LoadCredential"] {
			id, _, _ := strings.Cut(credential, ":")
			files["/run/credentials/"+id] = id
		}
		all = append(all, command{"systemd/gavel-" + name + ".service", arguments[1:], env, files})
	}
	return all
}

// Each service is confined, has its data where systemd makes a folder for it, is started again for
// ever, and is not killed while it finishes.
func TestUnitsAreConfined(t *testing.T) {
	confined := []string{
		"User=gavel", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "ProtectHome=yes",
		"PrivateTmp=yes", "PrivateDevices=yes", "MemoryDenyWriteExecute=yes", "SystemCallFilter=@system-service",
		"UMask=0077", "Restart=on-failure", "StartLimitIntervalSec=0",
	}
	for name, u := range readUnits(t) {
		for _, line := range confined {
			if key, value, _ := strings.Cut(line, "="); !slices.Contains(u[key], value) {
				t.Errorf("gavel-%s.service has no %s", name, line)
			}
		}
		text, err := os.ReadFile(filepath.Join("systemd", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var config struct {
			DataDir string `yaml:"data-dir"`
		}
		if err := yaml.Unmarshal(text, &config); err != nil {
			t.Fatal(err)
		}
		if name != "monitor" && (config.DataDir != "/var/lib/"+u["StateDirectory"][0] || u["TimeoutStopSec"][0] < "30") {
			t.Errorf("gavel-%s.service: data are in %s, the folder is %s; killed after %s s", name, config.DataDir,
				u["StateDirectory"], u["TimeoutStopSec"])
		}
	}
}

// systemd reads the units without a complaint, and finds little that they expose.
func TestUnitsAreVerified(t *testing.T) {
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here to read the units")
	}
	dir := t.TempDir()
	for name := range readUnits(t) {
		file := "gavel-" + name + ".service"
		text, err := os.ReadFile(filepath.Join("systemd", file))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, file)
		there := regexp.MustCompile(`(?m)^ExecStart=\S+`).ReplaceAll(text, []byte("ExecStart=/bin/true"))
		if err := os.WriteFile(path, there, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, arguments := range [][]string{{"verify", path}, {"security", "--offline=yes", "--threshold=20", path}} {
			said, err := exec.CommandContext(t.Context(), program, arguments...).CombinedOutput()
			if err != nil || arguments[0] == "verify" && strings.Contains(string(said), file+":") {
				t.Errorf("systemd-analyze %s %s: %v\n%s", arguments[0], file, err, said)
			}
		}
	}
}
