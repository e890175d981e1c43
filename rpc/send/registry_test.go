package send

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/rpc"
)

func registryOf(t *testing.T) *Registry {
	t.Helper()
	registry, err := NewRegistry([]Builder{
		{Name: "House", URL: "http://house:1", APIs: []API{SendBundle, CancelEndpoint}, Own: true},
		{Name: "Titan", URL: "https://titan", APIs: []API{SendBundle}},
		{Name: "beaverbuild.org", URL: "https://beaver", APIs: []API{ShareBundle}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

// TestChoose: the operator's own builder gets everything, the others what names them or what is for all.
func TestChoose(t *testing.T) {
	for _, row := range []struct {
		name    string
		order   rpc.Order
		want    []string
		unknown []string
	}{
		{"nobody named", rpc.Order{}, []string{"house"}, nil},
		{"the names of the operator's own", rpc.Order{Builders: []string{"default", "vendor", "FLASHBOTS"}}, []string{"house"}, nil},
		{"whatever the case", rpc.Order{Builders: []string{"TITAN"}}, []string{"house", "titan"}, nil},
		{"unknown ones, each told once", rpc.Order{Builders: []string{"rsync", "titan", "Rsync"}}, []string{"house", "titan"}, []string{"rsync"}},
		{"twice is once", rpc.Order{Builders: []string{"titan", "Titan", "house"}}, []string{"house", "titan"}, nil},
		{"all", rpc.Order{AllBuilders: true}, []string{"house", "titan", "beaverbuild.org"}, nil},
		{"all, and names", rpc.Order{AllBuilders: true, Builders: []string{"titan"}}, []string{"house", "titan", "beaverbuild.org"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			chosen, unknown := registryOf(t).Choose(&row.order)
			if got := namesOf(chosen); !slices.Equal(got, row.want) || !slices.Equal(unknown, row.unknown) {
				t.Errorf("chose %v, unknown %v", got, unknown)
			}
		})
	}
}

func namesOf(builders []Builder) (names []string) {
	for _, b := range builders {
		names = append(names, b.Name)
	}
	return names
}

// TestNamed: a cancel goes to those that had the order and are still there.
func TestNamed(t *testing.T) {
	if got := namesOf(registryOf(t).Named([]string{"titan", "gone", "house"})); !slices.Equal(got, []string{"house", "titan"}) {
		t.Errorf("named %v", got)
	}
}

// TestRegistryRefuses: a list with a mistake makes no registry, and all mistakes are told.
func TestRegistryRefuses(t *testing.T) {
	good := []API{SendBundle}
	for _, row := range []struct {
		builders []Builder
		want     string
	}{
		{[]Builder{{URL: "http://a", APIs: good}}, "no name"},
		{[]Builder{{Name: "a", URL: "http://a", APIs: good}, {Name: "A", URL: "http://b", APIs: good}}, "a is there twice"},
		{[]Builder{{Name: "flashbots", URL: "http://a", APIs: good}}, "means the operator's own"},
		{[]Builder{{Name: "a", URL: "a:80", APIs: good}}, "not an http or https address"},
		{[]Builder{{Name: "a", URL: "http://a"}}, "apis is empty"},
		{[]Builder{{Name: "a", URL: "http://a", APIs: []API{"v9"}}, {Name: "b"}}, `unknown api "v9"`},
		{[]Builder{{Name: "a", URL: "http://a", APIs: []API{"v9"}}, {Name: "b"}}, "builder b: url"},
	} {
		if _, err := NewRegistry(row.builders); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v: %v, not %q", row.builders, err, row.want)
		}
	}
}
