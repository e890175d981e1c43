package gloas

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// testdata/vectors.txt has values and roots of consensus-specs v1.7.0-beta.2 and of builder-specs;
// its comments say where each is from. It also has roots of the tree itself, which the tests of
// package shape check.

// vector is a line of the file: its words.
type vector []string

func vectors(t testing.TB, kinds ...string) (all []vector) {
	t.Helper()
	file, err := os.Open("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		for _, kind := range kinds {
			if strings.HasPrefix(lines.Text(), kind+" ") {
				all = append(all, strings.Fields(lines.Text()))
			}
		}
	}
	if lines.Err() != nil || len(all) == 0 {
		t.Fatalf("%d vectors, %v", len(all), lines.Err())
	}
	return all
}

func unhex(t testing.TB, digits string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Each official value comes back from its bytes and from its JSON, and has its root.
func TestOfficialValues(t *testing.T) {
	all := vectors(t, "minimal", "mainnet", "any")
	if len(all) != 55 {
		t.Errorf("%d values: want 55", len(all))
	}
	for _, v := range all {
		presets := map[string][]*Forms{"minimal": {minimal}, "mainnet": {Mainnet}, "any": {minimal, Mainnet}}[v[0]]
		for _, forms := range presets {
			f := formNamed(t, forms, v[1])
			raw := unhex(t, v[2])
			value, err := f.decode(raw)
			if err != nil {
				t.Errorf("%s %s: %v", v[0], v[1], err)
				continue
			}
			checkValue(t, f, value, raw, phase0.Root(unhex(t, v[3])))
		}
	}
}

// checkValue checks the bytes and the root of a value, and of what its JSON says.
func checkValue(t *testing.T, f form, value any, raw []byte, want phase0.Root) {
	t.Helper()
	text, err := f.toJSON(value)
	if err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	again, err := f.fromJSON(text)
	if err != nil {
		t.Fatalf("%s: %v in %s", f.name, err, text)
	}
	for form, v := range map[string]any{"SSZ": value, "JSON": again} {
		if encoded, err := f.encode(v); err != nil || !bytes.Equal(encoded, raw) {
			t.Errorf("%s of %s is %x, %v: want %x", f.name, form, encoded, err, raw)
		}
		if root, err := f.root(v); err != nil || root != want {
			t.Errorf("%s of %s has root %s, %v: want %s", f.name, form, root, err, want)
		}
	}
}

func TestOfficialSigningRoots(t *testing.T) {
	for _, v := range vectors(t, "signing-root") {
		domain := eth.ComputeDomain(phase0.DomainType(unhex(t, v[2])), phase0.Version(unhex(t, v[3])),
			phase0.Root(unhex(t, v[4])))
		if got, want := eth.SigningRoot(phase0.Root(unhex(t, v[5])), domain), phase0.Root(unhex(t, v[6])); got != want {
			t.Errorf("%s is signed as %s: want %s", v[1], got, want)
		}
	}
}

// The domains by which the values of gloas are signed are those of the official signing roots.
func TestDomainsOfSlots(t *testing.T) {
	spec := &eth.Spec{
		SlotsPerEpoch: 32, GenesisForkVersion: phase0.Version{},
		Forks: []eth.ForkPoint{
			{Fork: eth.Fulu, Version: phase0.Version{0x06}},
			{Fork: eth.Fulu, Epoch: 2, Version: phase0.Version{0x07, 0, 0, 0x01}},
		},
	}
	types := map[string]func() phase0.Domain{
		"ExecutionPayloadEnvelope": func() phase0.Domain { return BuilderDomain(spec, 64) },
		"PayloadAttestationData":   func() phase0.Domain { return CommitteeDomain(spec, 95) },
		"ProposerPreferences":      func() phase0.Domain { return PreferencesDomain(spec, 64) },
		"BuilderRequestAuth":       func() phase0.Domain { return RequestAuthDomain(spec) },
	}
	for _, v := range vectors(t, "signing-root") {
		domain, has := types[v[1]]
		if !has {
			continue
		}
		delete(types, v[1])
		if got, want := eth.SigningRoot(phase0.Root(unhex(t, v[5])), domain()), phase0.Root(unhex(t, v[6])); got != want {
			t.Errorf("%s is signed as %s: want %s", v[1], got, want)
		}
	}
	if len(types) > 0 {
		t.Errorf("no vector for %v", types)
	}
	if BuilderDomain(spec, 63) == BuilderDomain(spec, 64) {
		t.Error("the domain of bids is the same before and after the fork")
	}
	deposit, auth := DepositDomain(spec), RequestAuthDomain(spec)
	if deposit[0] != 0x0E || !bytes.Equal(deposit[4:], auth[4:]) {
		t.Errorf("deposits are signed under %x", deposit)
	}
}

// The example of builder-specs (examples/gloas/signed_builder_request_auth.json).
func TestBuilderSpecsExample(t *testing.T) {
	signature := strings.Repeat("1b66ac1fb663c9bc59509846d6ec05345bd908eda73e670af888da41af171505cc411d61252fb6cb3fa001"+
		"7b679f8bb2"+
		"305b26a285fa2737f175668d0dff91cc", 1) + "1b66ac1fb663c9bc59509846d6ec05345bd908eda73e670af888da41af171505"
	body := `{"message":{"data":"0x1234567890abcdef","slot":"1"},"signature":"0x` + signature + `"}`
	auth, err := Mainnet.SignedBuilderRequestAuth.FromJSON([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if root, _ := Mainnet.BuilderRequestAuth.Root(auth.Message); root.String() !=
		"0x3d6f2e216a08828a2bc2c9644edacd56fef00f2be824abc49f6d1a28569bd880" {
		t.Errorf("root %s", root)
	}
	if again, err := Mainnet.SignedBuilderRequestAuth.ToJSON(auth); err != nil || string(again) != body {
		t.Errorf("%s, %v: want %s", again, err, body)
	}
}

// The empty requests, which a bid without requests commits to.
func TestEmptyRequests(t *testing.T) {
	root, err := Mainnet.ExecutionRequests.Root(new(ExecutionRequests))
	if err != nil || root.String() != "0x87b69a306c8e430d0857f7c4ac5e27cecffa1108d43c2e5df7388056fea7a423" {
		t.Errorf("%s, %v", root, err)
	}
}
