// Package target describes the servers to test. A person writes target.yaml about them, or the run
// starts them itself.
package target

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// Target is the content of target.yaml. Interfaces that are left out are not tested.
type Target struct {
	Implementation Implementation `yaml:"implementation" json:"implementation"`
	Relay          *Relay         `yaml:"relay,omitempty" json:"relay,omitempty"`
	Stream         *Stream        `yaml:"stream,omitempty" json:"stream,omitempty"`
	RPC            *RPC           `yaml:"rpc,omitempty" json:"rpc,omitempty"`
	Sidecar        *Sidecar       `yaml:"sidecar,omitempty" json:"sidecar,omitempty"`
	Builder        *Builder       `yaml:"builder,omitempty" json:"builder,omitempty"`
	Consensus      *Consensus     `yaml:"consensus,omitempty" json:"consensus,omitempty"`
	Chain          Chain          `yaml:"chain,omitempty" json:"chain"`
	// Features declares which of clauses.Features the target has. With AutoFeatures, or if they are
	// left out, the suite finds out by requests.
	Features Features `yaml:"features,omitempty" json:"features"`
	// Literal has instances that do what the description says where deployed services do something
	// else. Clauses about that are judged there.
	Literal Literal `yaml:"literal,omitempty" json:"literal,omitzero"`
	Limits  Limits  `yaml:"limits,omitempty" json:"limits,omitzero"`
	Budgets Budgets `yaml:"budgets,omitempty" json:"budgets"`
	// Containers are the servers to start for the run, in this order.
	Containers []Container `yaml:"containers,omitempty" json:"-"`
}

var secretForm = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

// Implementation names the software that is tested; reports show it at their top.
type Implementation struct {
	Organization string   `yaml:"organization" json:"organization"`
	Project      string   `yaml:"project" json:"project"`
	Version      string   `yaml:"version" json:"version"`
	URL          string   `yaml:"url,omitempty" json:"url,omitempty"`
	Contact      []string `yaml:"contact,omitempty" json:"contact,omitempty"`
}

// Relay has the three addresses of a relay, which are often one. An address that is left out is
// ProposerURL.
type Relay struct {
	// Command starts the relay and whatever it needs, by a shell, in a world that is started for it;
	// then there are no addresses. See app.Open for the words in braces.
	Command     string `yaml:"command,omitempty" json:"command,omitempty"`
	ProposerURL string `yaml:"proposerUrl,omitempty" json:"proposerUrl"`
	BuilderURL  string `yaml:"builderUrl,omitempty" json:"builderUrl"`
	DataURL     string `yaml:"dataUrl,omitempty" json:"dataUrl"`
	// PublicKey is the key that signs the relay's bids, as 0x and 96 digits. If it is empty, any
	// key is right, as long as it is always the same.
	PublicKey string `yaml:"publicKey,omitempty" json:"publicKey,omitempty"`
	// TrustedBuilders are secret keys of optimistic builders: their bids count before their blocks
	// are executed. Each is 0x and 64 digits. The suite uses one up with each block that pays less
	// than its bid says, because the relay demotes the builder for it.
	TrustedBuilders []string `yaml:"trustedBuilders,omitempty" json:"-"`
	// AuthData is what proposers sign for this relay in requests for bids, from gloas on; by default
	// the host of ProposerURL.
	AuthData string `yaml:"authData,omitempty" json:"authData,omitempty"`
}

// Stream has the address of an event stream; its history is at paths below it.
type Stream struct {
	URL string `yaml:"url" json:"url"`
}

// RPC has the address to which JSON-RPC requests are posted.
type RPC struct {
	URL string `yaml:"url" json:"url"`
	// SendsToWorld says that the RPC sends orders to the world's builders, and knows them by the
	// names that they have there. Without it, clauses about what becomes of orders are
	// inconclusive.
	SendsToWorld bool `yaml:"sendsToWorld,omitempty" json:"sendsToWorld,omitempty"`
}

// Sidecar has the address of a sidecar, which stands between a beacon node and several relays. The
// suite plays both.
type Sidecar struct {
	// URL is where the sidecar serves the Proposer API. It is empty if the run starts the sidecar.
	URL string `yaml:"url,omitempty" json:"url,omitempty"`
	// Command starts the sidecar, by a shell; see app.OpenSidecar for the words in braces.
	Command string `yaml:"command,omitempty" json:"command,omitempty"`
	// Own has the run start gavel's own sidecar in this process.
	Own bool `yaml:"own,omitempty" json:"own,omitempty"`
	// MinBidWei is the lowest value of a bid that the sidecar hands on, if one is configured.
	MinBidWei string `yaml:"minBidWei,omitempty" json:"minBidWei,omitempty"`
}

// Builder says where a block builder comes from. It is a client of relays, which the suite plays.
type Builder struct {
	// Running says that the builder runs already, and knows the relays and the world by their
	// addresses.
	Running bool `yaml:"running,omitempty" json:"running,omitempty"`
	// Command starts the builder, by a shell; see app.OpenBuilder for the words in braces.
	Command string `yaml:"command,omitempty" json:"command,omitempty"`
	// Own has the run start gavel's own builder in this process.
	Own bool `yaml:"own,omitempty" json:"own,omitempty"`
}

// Consensus says where a consensus client with validators comes from. It is a client of relays,
// which the suite plays, in a network of its own.
type Consensus struct {
	// BeaconURL is the Beacon API of a client that runs already, and knows the relays by their
	// addresses.
	BeaconURL string `yaml:"beaconUrl,omitempty" json:"beaconUrl,omitempty"`
	// Own has the run start the devnet's own proposers, in a network for them.
	Own bool `yaml:"own,omitempty" json:"own,omitempty"`
}

// Chain says which world the target follows.
type Chain struct {
	// WorldURL is the address at which the suite controls the world, as `gavel-lab conformance
	// world` prints it. Without it the mode is black.
	WorldURL string `yaml:"worldUrl,omitempty" json:"worldUrl,omitempty"`
}

// Budgets bounds how long the suite waits for a target, in milliseconds.
type Budgets struct {
	// AnswerMs is how long any answer may take; by default 5,000.
	AnswerMs int `yaml:"answerMs,omitempty" json:"answerMs"`
	// HintMs is how long the event of an order may take; by default 3,000.
	HintMs int `yaml:"hintMs,omitempty" json:"hintMs"`
	// SettleMs is how long it may take until lists show what has happened; by default 3,000.
	SettleMs int `yaml:"settleMs,omitempty" json:"settleMs"`
}

// Answer returns how long any answer may take.
func (b Budgets) Answer() time.Duration { return time.Duration(b.AnswerMs) * time.Millisecond }

// Hint returns how long the event of an order may take.
func (b Budgets) Hint() time.Duration { return time.Duration(b.HintMs) * time.Millisecond }

// Settle returns how long it may take until lists show what has happened.
func (b Budgets) Settle() time.Duration { return time.Duration(b.SettleMs) * time.Millisecond }

// Load reads and checks target.yaml.
func Load(name string) (*Target, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the target: %w", err)
	}
	return Parse(data)
}

// Parse reads and checks a target.
func Parse(data []byte) (*Target, error) {
	t := new(Target)
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(t); err != nil {
		return nil, fmt.Errorf("read the target: %w", err)
	}
	return t, t.Complete()
}

// Complete fills in defaults and returns an error if the target is wrong.
func (t *Target) Complete() error {
	if t.Relay == nil && t.Stream == nil && t.RPC == nil && t.Sidecar == nil &&
		t.Builder == nil && t.Consensus == nil {
		return errors.New("the target has no relay, no stream, no rpc, no sidecar, no builder and no consensus client: " +
			"give one")
	}
	if err := t.checkCommand(); err != nil {
		return err
	}
	if r := t.Relay; r != nil {
		r.BuilderURL = cmp.Or(r.BuilderURL, r.ProposerURL)
		r.DataURL = cmp.Or(r.DataURL, r.ProposerURL)
		if digits, found := strings.CutPrefix(r.PublicKey, "0x"); r.PublicKey != "" && (!found || len(digits) != 96) {
			return errors.New("relay.publicKey is 0x and 96 hexadecimal digits")
		}
	}
	if t.Relay != nil {
		for _, secret := range t.Relay.TrustedBuilders {
			if digits, found := strings.CutPrefix(secret, "0x"); !found || !secretForm.MatchString(digits) {
				return errors.New("relay.trustedBuilders are secret keys, each as 0x and 64 hexadecimal digits")
			}
		}
	}
	if err := t.Sidecar.check(); err != nil {
		return err
	}
	if b := t.Builder; b != nil && count(b.Running, b.Command != "", b.Own) != 1 {
		return errors.New("builder: give one of running, command and own")
	}
	if c := t.Consensus; c != nil && count(c.BeaconURL != "", c.Own) != 1 {
		return errors.New("consensus: give one of beaconUrl and own")
	}
	t.Features = cmp.Or(t.Features, AutoFeatures)
	if err := CheckFeatures(t.Declared()); err != nil {
		return err
	}
	t.Budgets.AnswerMs = cmp.Or(t.Budgets.AnswerMs, 5000)
	t.Budgets.HintMs = cmp.Or(t.Budgets.HintMs, 3000)
	t.Budgets.SettleMs = cmp.Or(t.Budgets.SettleMs, 3000)
	if err := errors.Join(t.Limits.complete(t), t.Literal.complete(t), t.checkContainers()); err != nil {
		return err
	}
	for name, address := range t.Addresses() {
		if t.Commanded() && strings.HasPrefix(name, "relay.") {
			continue // Started gives them later
		}
		if len(t.Containers) > 0 {
			address = Placeholder.ReplaceAllString(address, "localhost:$2") // the engine gives the real address later
		}
		if parsed, err := url.Parse(address); err != nil || parsed.Host == "" ||
			!slices.Contains([]string{"http", "https"}, parsed.Scheme) {
			return fmt.Errorf("%s is %q: give an address such as http://127.0.0.1:9062", name, address)
		}
	}
	return nil
}

// Commanded says whether the run starts the relay by a command.
func (t *Target) Commanded() bool {
	return t.Relay != nil && t.Relay.Command != "" && t.Relay.ProposerURL == ""
}

// checkCommand returns an error if the relay is said to be started and to be there already.
func (t *Target) checkCommand() error {
	r := t.Relay
	switch {
	case r == nil || r.Command == "":
		return nil
	case r.ProposerURL != "" || r.BuilderURL != "" || r.DataURL != "":
		return errors.New("relay: give its command or its addresses, not both")
	case t.Chain.WorldURL != "" || len(t.Containers) > 0:
		return errors.New("relay.command starts the relay in a world of its own: leave out chain.worldUrl and containers")
	case t.Stream != nil || t.RPC != nil || t.Sidecar != nil || len(t.Literal.Addresses()) > 0 || t.Limits.Relay != nil:
		return errors.New("relay.command starts a relay alone: other interfaces and instances need chain.worldUrl")
	}
	return nil
}

// Started returns the target with the relay at an address, in the world at another one.
func (t *Target) Started(relayURL, worldURL string) *Target {
	started, relay := *t, *t.Relay
	relay.ProposerURL, relay.BuilderURL, relay.DataURL = relayURL, relayURL, relayURL
	started.Relay, started.Chain.WorldURL = &relay, worldURL
	return &started
}

// check returns an error unless it is said in one way where the sidecar comes from.
func (s *Sidecar) check() error {
	if s == nil {
		return nil
	}
	if count(s.URL != "", s.Command != "", s.Own) != 1 {
		return errors.New("sidecar: give one of url, command and own")
	}
	if s.MinBidWei != "" {
		if _, err := uint256.FromDecimal(s.MinBidWei); err != nil {
			return fmt.Errorf("sidecar.minBidWei: %w", err)
		}
	}
	return nil
}

// count returns how many are true.
func count(list ...bool) (n int) {
	for _, is := range list {
		if is {
			n++
		}
	}
	return n
}

// Addresses returns all addresses of the target by their keys in the file.
func (t *Target) Addresses() map[string]string {
	all := map[string]string{}
	if r := t.Relay; r != nil {
		all["relay.proposerUrl"], all["relay.builderUrl"], all["relay.dataUrl"] = r.ProposerURL, r.BuilderURL, r.DataURL
	}
	if t.Stream != nil {
		all["stream.url"] = t.Stream.URL
	}
	if t.RPC != nil {
		all["rpc.url"] = t.RPC.URL
	}
	if t.Sidecar != nil && t.Sidecar.URL != "" {
		all["sidecar.url"] = t.Sidecar.URL
	}
	if t.Consensus != nil && t.Consensus.BeaconURL != "" {
		all["consensus.beaconUrl"] = t.Consensus.BeaconURL
	}
	if t.Chain.WorldURL != "" {
		all["chain.worldUrl"] = t.Chain.WorldURL
	}
	for iface, address := range t.Limits.Addresses() {
		all["limits."+iface+".url"] = *address
	}
	for iface, address := range t.Literal.Addresses() {
		all["literal."+iface] = *address
	}
	return all
}

// Has says whether an interface is tested.
func (t *Target) Has(iface string) bool {
	switch iface {
	case "relay":
		return t.Relay != nil
	case "stream":
		return t.Stream != nil
	case "sidecar":
		return t.Sidecar != nil
	case "builder":
		return t.Builder != nil
	case "consensus":
		return t.Consensus != nil
	default:
		return t.RPC != nil
	}
}

// Address returns the first address of an interface; empty if it is not tested.
func (t *Target) Address(iface string) string {
	switch {
	case !t.Has(iface):
		return ""
	case iface == "relay":
		return t.Relay.ProposerURL
	case iface == "stream":
		return t.Stream.URL
	case iface == "sidecar":
		return t.Sidecar.URL
	case iface == "builder", iface == "consensus":
		return ""
	default:
		return t.RPC.URL
	}
}

// Mode returns how much of the world the suite controls with this target. It is never grey: a world
// that the suite controls can also be made to fail.
func (t *Target) Mode() clauses.Mode {
	if t.Chain.WorldURL != "" {
		return clauses.White
	}
	return clauses.Black
}

// Redacted returns the target for a report, without users and passwords in addresses.
func (t *Target) Redacted() Target {
	r := *t
	hide := func(address string) string {
		parsed, err := url.Parse(address)
		if err != nil || parsed.User == nil {
			return address
		}
		parsed.User = url.User("redacted")
		return parsed.String()
	}
	if t.Relay != nil {
		relay := *t.Relay
		relay.ProposerURL, relay.BuilderURL, relay.DataURL = hide(relay.ProposerURL), hide(relay.BuilderURL),
			hide(relay.DataURL)
		r.Relay = &relay
	}
	if t.Stream != nil {
		r.Stream = &Stream{URL: hide(t.Stream.URL)}
	}
	if t.RPC != nil {
		rpc := *t.RPC
		rpc.URL = hide(rpc.URL)
		r.RPC = &rpc
	}
	if t.Sidecar != nil {
		sidecar := *t.Sidecar
		sidecar.URL = hide(sidecar.URL)
		r.Sidecar = &sidecar
	}
	r.Limits = t.Limits.Clone()
	for _, address := range r.Limits.Addresses() {
		*address = hide(*address)
	}
	for _, address := range r.Literal.Addresses() {
		*address = hide(*address)
	}
	return r
}
