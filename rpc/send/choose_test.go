package send

import (
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/rpc"
)

func TestChoose(t *testing.T) {
	registry := Registry{{Name: "Alice"}, {Name: "vendor"}, {Name: "bob"}, {Name: "second", Own: true}}
	for name, c := range map[string]struct {
		order   rpc.Order
		want    string
		unknown int
	}{
		"nobody is named":      {rpc.Order{}, "vendor second", 0},
		"one is named":         {rpc.Order{Builders: []string{"bob"}}, "vendor bob second", 0},
		"in another case":      {rpc.Order{Builders: []string{"aLICE", "BOB"}}, "Alice vendor bob second", 0},
		"our own, by any name": {rpc.Order{Builders: []string{"default", "Flashbots", "vendor"}}, "vendor second", 0},
		"nobody knows them":    {rpc.Order{Builders: []string{"carol", "bob", "dave"}}, "vendor bob second", 2},
		"all":                  {rpc.Order{AllBuilders: true}, "Alice vendor bob second", 0},
		"all, and a stranger":  {rpc.Order{AllBuilders: true, Builders: []string{"carol"}}, "Alice vendor bob second", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, b := range registry.Choose(&c.order) {
				names = append(names, b.Name)
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("chose %q, want %q", got, c.want)
			}
			if got := registry.countUnknown(&c.order); got != c.unknown {
				t.Errorf("%d unknown, want %d", got, c.unknown)
			}
		})
	}
}
