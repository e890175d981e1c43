package target

import "fmt"

// Literal has the addresses of literal instances. A literal instance does what the interface
// description says where deployed services do something else. An interface that is left out is not
// judged. Literal instances follow the same world as the first ones: the stream sends events of the
// first RPC's orders, the RPC sends to the same builders, and the relay trusts the same builders,
// as far as it may.
type Literal struct {
	Relay  string `yaml:"relay,omitempty" json:"relay,omitempty"`
	Stream string `yaml:"stream,omitempty" json:"stream,omitempty"`
	RPC    string `yaml:"rpc,omitempty" json:"rpc,omitempty"`
}

// Addresses returns the addresses that are given, by interface. The caller may change them.
func (l *Literal) Addresses() map[string]*string {
	all := map[string]*string{}
	for iface, address := range map[string]*string{"relay": &l.Relay, "stream": &l.Stream, "rpc": &l.RPC} {
		if *address != "" {
			all[iface] = address
		}
	}
	return all
}

func (l *Literal) complete(t *Target) error {
	for iface := range l.Addresses() {
		if !t.Has(iface) {
			return fmt.Errorf("literal.%s is of an interface that the target does not have", iface)
		}
	}
	return nil
}

// AsLiteral returns the target with the literal instance of an interface in place of the first one.
func (t *Target) AsLiteral(iface string) *Target {
	l := *t
	switch iface {
	case "relay":
		l.Relay = &Relay{ProposerURL: t.Literal.Relay, BuilderURL: t.Literal.Relay, DataURL: t.Literal.Relay,
			TrustedBuilders: t.Relay.TrustedBuilders}
	case "stream":
		l.Stream = &Stream{URL: t.Literal.Stream}
	case "rpc":
		l.RPC = &RPC{URL: t.Literal.RPC, SendsToWorld: t.RPC.SendsToWorld}
	}
	return &l
}
