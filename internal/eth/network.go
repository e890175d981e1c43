package eth

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Network identifies a public network by its genesis fork version. Everything else about it is read
// from a beacon node.
type Network struct {
	Name               string
	GenesisForkVersion phase0.Version
}

// Custom names any network that is not public: CheckNetwork accepts every spec for it.
const Custom = "custom"

// Networks are the public networks (GENESIS_FORK_VERSION of their configurations).
var Networks = []Network{
	{"mainnet", phase0.Version{0x00, 0x00, 0x00, 0x00}},
	{"sepolia", phase0.Version{0x90, 0x00, 0x00, 0x69}},
	{"hoodi", phase0.Version{0x10, 0x00, 0x09, 0x10}},
}

// NetworkNames returns all names that CheckNetwork accepts.
func NetworkNames() []string {
	names := make([]string, 0, len(Networks)+1)
	for _, n := range Networks {
		names = append(names, n.Name)
	}
	return append(names, Custom)
}

// CheckNetwork returns an error unless the spec is that of the named network. A relay that signed
// for the wrong network would make headers that nobody can use.
func CheckNetwork(name string, spec *Spec) error {
	if name == Custom {
		return nil
	}
	i := slices.IndexFunc(Networks, func(n Network) bool { return n.Name == name })
	if i < 0 {
		return fmt.Errorf("network %q is unknown: give one of %s", name, strings.Join(NetworkNames(), ", "))
	}
	if want := Networks[i].GenesisForkVersion; spec.GenesisForkVersion != want {
		return fmt.Errorf("the beacon node is not on %s: its genesis fork version is %#x, not %#x", name,
			spec.GenesisForkVersion[:], want[:])
	}
	return nil
}
