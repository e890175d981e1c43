package deploy

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// labCommands are the commands by which other labs start gavel.
func labCommands(t *testing.T) []command {
	t.Helper()
	return []command{kurtosisCommand(t), playgroundCommand(t)}
}

// launcher is where the launcher for ethereum-package is.
const launcher = "labs/ethereum-package/gavel_launcher.star"

// kurtosisCommand runs the launcher as Kurtosis would, with stand-ins for what ethereum-package has
// there, and returns the service that it adds.
func kurtosisCommand(t *testing.T) command {
	t.Helper()
	service, url := launched(t)
	if url != "http://0xpub@10.0.0.9:9062" {
		t.Errorf("sidecars get %s", url)
	}
	c := command{From: launcher, Env: map[string]string{}}
	cmd, _ := service.Attr("cmd")
	for argument := range starlark.Elements(cmd.(*starlark.List)) {
		c.Arguments = append(c.Arguments, string(argument.(starlark.String)))
	}
	env, _ := service.Attr("env_vars")
	for name, value := range starlark.Entries(env.(*starlark.Dict)) {
		c.Env[string(name.(starlark.String))] = string(value.(starlark.String))
	}
	return c
}

// structOf makes a struct of names and values in turn.
func structOf(values ...any) *starlarkstruct.Struct {
	fields := starlark.StringDict{}
	for i := 0; i < len(values); i += 2 {
		switch v := values[i+1].(type) {
		case string:
			fields[values[i].(string)] = starlark.String(v)
		case starlark.Value:
			fields[values[i].(string)] = v
		}
	}
	return starlarkstruct.FromStringDict(starlarkstruct.Default, fields)
}

// launched executes the launcher. It returns the configuration of the service that it adds, and
// what the launcher returns.
func launched(t *testing.T) (service *starlarkstruct.Struct, url string) {
	t.Helper()
	returns := func(name string, value func(kwargs []starlark.Tuple) starlark.Value) *starlark.Builtin {
		return starlark.NewBuiltin(name, func(_ *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple,
			kwargs []starlark.Tuple) (starlark.Value, error) {
			return value(kwargs), nil
		})
	}
	empty := func([]starlark.Tuple) starlark.Value { return new(starlark.Dict) }
	none := func([]starlark.Tuple) starlark.Value { return starlark.NewList(nil) }
	modules := map[string]starlark.Value{
		"../../package_io/constants.star": structOf("DEFAULT_MEV_SECRET_KEY", "0x"+strings.Repeat("22", 32),
			"DEFAULT_MEV_PUBKEY", "0xpub"),
		"../../shared_utils/shared_utils.star": structOf("TCP_PROTOCOL", "TCP", "HTTP_APPLICATION_PROTOCOL", "http",
			"new_port_spec", returns("new_port_spec", empty),
			"get_mev_public_port", returns("get_mev_public_port", empty),
			"get_tolerations", returns("get_tolerations", none)),
	}
	predeclared := starlark.StringDict{
		"import_module": starlark.NewBuiltin("import_module", func(_ *starlark.Thread, _ *starlark.Builtin,
			args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			if module := modules[string(args[0].(starlark.String))]; module != nil {
				return module, nil
			}
			return nil, fmt.Errorf("there is no module %s", args[0])
		}),
		"ServiceConfig": returns("ServiceConfig", func(kwargs []starlark.Tuple) starlark.Value {
			return starlarkstruct.FromKeywords(starlarkstruct.Default, kwargs)
		}),
	}
	thread := &starlark.Thread{Name: t.Name()}
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{}, thread, launcher, nil, predeclared)
	if err != nil {
		t.Fatal(err)
	}
	plan := structOf("add_service", returns("add_service", func(kwargs []starlark.Tuple) starlark.Value {
		for _, pair := range kwargs {
			if pair[0] == starlark.String("config") {
				service = pair[1].(*starlarkstruct.Struct)
			}
		}
		return structOf("ip_address", "10.0.0.9")
	}))
	params := structOf("mev_relay_image", "gavel:dev", "mev_relay_api_extra_args", starlark.NewList(nil),
		"mev_relay_api_extra_env_vars", new(starlark.Dict))
	said, err := starlark.Call(thread, globals["launch_gavel_relay"], starlark.Tuple{
		plan, params, starlark.String("http://10.0.0.1:4000,http://10.0.0.2:4000"), starlark.String("http://10.0.0.3:8545"),
		new(starlark.Dict), starlark.MakeInt(0), new(starlark.Dict), starlark.NewList(nil),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if service == nil {
		t.Fatal("the launcher adds no service")
	}
	return service, string(said.(starlark.String))
}

// playgroundCommand is the command of the recipe for builder-playground, with the addresses that a
// run would fill in.
func playgroundCommand(t *testing.T) command {
	t.Helper()
	const path = "labs/builder-playground/playground.yaml"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var recipe struct {
		Base, Description string
		BaseArgs          []string `yaml:"base_args"`
		Recipe            map[string]struct {
			Services map[string]struct {
				Image, Tag, Entrypoint string
				Args                   []string
				Env                    map[string]string
				DependsOn              []string `yaml:"depends_on"`
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(text, &recipe, yaml.DisallowUnknownField()); err != nil {
		t.Fatal(err)
	}
	service, there := recipe.Recipe["relay"].Services["mev-boost-relay"]
	if !there || recipe.Base != "l1" || service.Entrypoint != "/gavel" {
		t.Fatalf("%+v", recipe)
	}
	functions := template.FuncMap{
		"Port":    func(_ string, port int) int { return port },
		"Service": func(service, _, scheme, _ string) string { return scheme + "://" + service + ":1" },
	}
	c := command{From: path, Env: service.Env}
	for _, argument := range service.Args {
		var filled strings.Builder
		made, err := template.New("").Funcs(functions).Parse(argument)
		if err == nil {
			err = made.Execute(&filled, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Arguments = append(c.Arguments, filled.String())
	}
	return c
}
