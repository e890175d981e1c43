package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

func builderKey(i uint64) phase0.BLSPubKey { return bls.Derive("builder", i).PublicKey() }

func apiKeyHash(apiKey string) *phase0.Hash32 {
	h := phase0.Hash32(sha256.Sum256([]byte(apiKey)))
	return &h
}

// told keeps facts as the journal would: through JSON.
type builderFacts struct {
	t     *testing.T
	facts []relay.Fact
}

func (f *builderFacts) Record(fact relay.Fact) {
	raw, err := json.Marshal(fact)
	if err != nil {
		f.t.Fatal(err)
	}
	switch fact.(type) {
	case relay.BuilderChanged:
		f.facts = append(f.facts, decodeFact[relay.BuilderChanged](f.t, raw))
	case relay.BuilderDemoted:
		f.facts = append(f.facts, decodeFact[relay.BuilderDemoted](f.t, raw))
	}
}

func decodeFact[T any](t *testing.T, raw []byte) (fact T) {
	t.Helper()
	if err := json.Unmarshal(raw, &fact); err != nil {
		t.Fatal(err)
	}
	return fact
}

func trustedBuilder() relay.Builder {
	return relay.Builder{
		Name: "alpha", Pubkeys: []phase0.BLSPubKey{builderKey(1), builderKey(2)}, APIKeyHash: apiKeyHash("secret"),
		Optimistic: true, CollateralWei: uint256.NewInt(100), HeaderFirst: true,
	}
}

func openBuilders(t *testing.T, configured ...relay.Builder) (*Builders, *builderFacts) {
	t.Helper()
	facts := &builderFacts{t: t}
	l, err := NewBuilders(configured, facts)
	if err != nil {
		t.Fatal(err)
	}
	return l, facts
}

func TestBuildersAreFoundByAnyKey(t *testing.T) {
	l, _ := openBuilders(t, trustedBuilder())
	if l.Of(builderKey(1)).Name != "alpha" || l.Of(builderKey(2)).Name != "alpha" {
		t.Error("not found by its public keys")
	}
	if b, ok := l.ByKey("secret"); !ok || b.Name != "alpha" {
		t.Error("not found by its API key")
	}
	if _, ok := l.ByKey("Secret"); ok {
		t.Error("found by another API key")
	}
	if !reflect.DeepEqual(l.Of(builderKey(9)), relay.Builder{}) {
		t.Error("an unknown builder is treated specially")
	}
}

// The optimistic mode ends at the collateral.
func TestTrust(t *testing.T) {
	blocked := trustedBuilder()
	blocked.Blocked = true
	for name, row := range map[string]struct {
		builder relay.Builder
		wei     uint64
		want    bool
	}{
		"at the collateral":    {trustedBuilder(), 100, true},
		"above the collateral": {trustedBuilder(), 101, false},
		"unknown builder":      {relay.Builder{}, 1, false},
		"blocked":              {blocked, 1, false},
	} {
		if got := row.builder.Trusts(uint256.NewInt(row.wei)); got != row.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A demotion takes effect at once, for all keys of the builder, and outlives the process; so does a
// promotion.
func TestDemotionOutlivesARestart(t *testing.T) {
	l, facts := openBuilders(t, trustedBuilder())
	reason := relay.Demotion{Trace: relay.Trace{Slot: 5, BlockHash: phase0.Hash32{1}, ValueWei: uint256.NewInt(7)},
		Rule: "state", Detail: "root differs"}
	if err := l.Demote(now, "alpha", reason); err != nil {
		t.Fatal(err)
	}
	if l.Of(builderKey(2)).Optimistic {
		t.Error("its other key is still trusted")
	}
	again, _ := openBuilders(t, trustedBuilder())
	for _, fact := range facts.facts {
		if err := again.Restore(fact); err != nil {
			t.Fatal(err)
		}
	}
	if again.Of(builderKey(1)).Optimistic || again.Of(builderKey(1)).CollateralWei.Uint64() != 100 {
		t.Errorf("after a restart: %+v", again.Of(builderKey(1)))
	}
	if list := again.Demotions(); len(list) != 1 || list[0].Detail != "root differs" || list[0].Name != "alpha" ||
		!list[0].At.Equal(now) {
		t.Errorf("demotions after a restart: %+v", list)
	}
	if got := again.Overridden(); len(got) != 1 || got[0] != "alpha" {
		t.Errorf("overridden: %q", got)
	}
	if err := l.Promote(now, "alpha", "paid"); err != nil || !l.Of(builderKey(1)).Optimistic {
		t.Errorf("promote: %v", err)
	}
	third, _ := openBuilders(t, trustedBuilder())
	for _, fact := range facts.facts {
		if err := third.Restore(fact); err != nil {
			t.Fatal(err)
		}
	}
	if !third.Of(builderKey(1)).Optimistic {
		t.Error("a promotion is forgotten")
	}
}

// Every bad block is evidence, but the mode ends once.
func TestSecondDemotion(t *testing.T) {
	l, facts := openBuilders(t, trustedBuilder())
	for range 2 {
		err := l.Demote(now, "alpha", relay.Demotion{Trace: relay.Trace{ValueWei: new(uint256.Int)}, Rule: "state"})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(l.Demotions()) != 2 || len(facts.facts) != 3 {
		t.Errorf("%d demotions, %d facts", len(l.Demotions()), len(facts.facts))
	}
}

func TestChangesAtRunTime(t *testing.T) {
	l, facts := openBuilders(t, trustedBuilder())
	changed := trustedBuilder()
	changed.Blocked, changed.Pubkeys = true, []phase0.BLSPubKey{builderKey(3)}
	if err := l.Set(now, changed, "cheats"); err != nil {
		t.Fatal(err)
	}
	if !l.Of(builderKey(3)).Blocked || l.Of(builderKey(1)).Name != "" {
		t.Error("the old record is still in force")
	}
	if err := l.Set(now, relay.Builder{Name: "beta", Pubkeys: []phase0.BLSPubKey{builderKey(3)}}, ""); err == nil {
		t.Error("two builders with one key")
	}
	if err := l.Set(now, relay.Builder{Name: "beta", Pubkeys: []phase0.BLSPubKey{builderKey(4)}, HighPriority: true},
		"fast"); err != nil {
		t.Fatal(err)
	}
	if all := l.All(); len(all) != 2 || all[0].Name != "alpha" || all[1].Name != "beta" {
		t.Errorf("all: %+v", all)
	}
	if err := l.Remove(now, "alpha", "sorted out"); err != nil || l.Of(builderKey(1)).Blocked ||
		l.Of(builderKey(1)).Name != "alpha" {
		t.Errorf("after the removal (%v): %+v", err, l.Of(builderKey(1)))
	}
	if err := l.Suspend(now, "alpha", "maintenance"); err != nil || l.Of(builderKey(1)).Optimistic ||
		len(l.Demotions()) != 0 {
		t.Errorf("suspend: %v", err)
	}
	for name, err := range map[string]error{
		"remove": l.Remove(now, "gamma", ""), "promote": l.Promote(now, "gamma", ""), "demote": l.Demote(now, "gamma",
			relay.Demotion{}),
	} {
		if !errors.Is(err, ErrUnknownBuilder) {
			t.Errorf("%s an unknown builder: %v", name, err)
		}
	}
	if len(facts.facts) != 4 {
		t.Errorf("%d facts, want one for each change", len(facts.facts))
	}
}

func TestPromotionNeedsACollateral(t *testing.T) {
	l, _ := openBuilders(t, relay.Builder{Name: "poor", Pubkeys: []phase0.BLSPubKey{builderKey(1)}})
	if err := l.Promote(now, "poor", ""); err == nil || !strings.Contains(err.Error(), "collateral_wei") {
		t.Errorf("%v", err)
	}
}

func TestDemotionsListedAreBounded(t *testing.T) {
	l, _ := openBuilders(t, trustedBuilder())
	for i := range rememberedDemotions + 10 {
		err := l.Demote(now, "alpha", relay.Demotion{Trace: relay.Trace{Slot: phase0.Slot(i), ValueWei: new(uint256.Int)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	list := l.Demotions()
	if len(list) != rememberedDemotions || list[0].Slot != rememberedDemotions+9 {
		t.Errorf("%d listed, the first of slot %d", len(list), list[0].Slot)
	}
}

func TestParse(t *testing.T) {
	key, keyHash := builderKey(1), apiKeyHash("secret")
	text := fmt.Sprintf("- name: alpha\n  pubkeys: [\"%#x\"]\n  api_key_sha256: %q\n  optimistic: true\n  "+
		"collateral_wei: \"100\"\n"+
		"  header_first: true\n  high_priority: true\n- name: bad\n  blocked: true\n", key[:], hex.EncodeToString(keyHash[:]))
	got, err := ParseBuilders([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	alpha := trustedBuilder()
	alpha.Pubkeys, alpha.HighPriority = alpha.Pubkeys[:1], true
	want := []relay.Builder{alpha, {Name: "bad", Pubkeys: []phase0.BLSPubKey{}, Blocked: true}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, row := range []struct{ text, want string }{
		{"- name: a b", `builder name "a b"`},
		{"- name: a\n  collateral: 1", "collateral"},
		{"- name: a\n  collateral_wei: -1", "want a decimal number of wei"},
		{"- name: a\n  optimistic: true", "needs a collateral_wei"},
		{"- name: a\n  api_key_sha256: abc", "64 hexadecimal digits"},
		{"- name: a\n  pubkeys: [\"0xc0" + strings.Repeat("00", 47) + "\"]", "not a public key"},
		{"- name: a\n  pubkeys: [\"0x12\"]", "pubkeys"},
		{"name: a", "read list of builders"},
	} {
		if _, err := ParseBuilders([]byte(row.text)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: %v, want …%s…", row.text, err, row.want)
		}
	}
	if list, err := ParseBuilders(nil); err != nil || len(list) != 0 {
		t.Errorf("an empty file: %v, %v", list, err)
	}
}

func always() bool { return true }

// A record of another instance takes effect without a fact, unless a change here is behind it. If
// it does not fit the configuration, it still ends the optimistic mode.
func TestRecordsOfOtherInstances(t *testing.T) {
	l, facts := openBuilders(t, trustedBuilder(), relay.Builder{Name: "beta", Pubkeys: []phase0.BLSPubKey{builderKey(3)}})
	ended := trustedBuilder()
	ended.Optimistic = false
	if _, applied, err := l.Adopt(relay.BuilderChanged{Builder: ended}, func() bool {
		return false
	}); applied || err != nil ||
		!l.Of(builderKey(1)).Optimistic {
		t.Errorf("%v, %v: applied a change that is not the last", applied, err)
	}
	before, applied, err := l.Adopt(relay.BuilderChanged{Builder: ended}, always)
	if err != nil || !applied || !before.Optimistic || l.Of(builderKey(1)).Optimistic {
		t.Errorf("%+v, %v, %v: want the optimistic mode to end", before, applied, err)
	}
	if _, _, err := l.Adopt(relay.BuilderChanged{Builder: ended, Removed: true}, always); err != nil ||
		!l.Of(builderKey(1)).Optimistic {
		t.Errorf("%v: want alpha as it is configured", err)
	}
	unfit := ended
	unfit.Pubkeys = []phase0.BLSPubKey{builderKey(1), builderKey(3)}
	if _, _, err := l.Adopt(relay.BuilderChanged{Builder: unfit}, always); err == nil || l.Of(builderKey(1)).Optimistic ||
		l.Of(builderKey(3)).Name != "beta" {
		t.Errorf("%v, %+v: want an error, no trust, and beta's key with beta", err, l.Of(builderKey(1)))
	}
	if len(facts.facts) != 0 {
		t.Errorf("recorded %+v", facts.facts)
	}
}

// A demotion that is heard twice is listed once.
func TestDemotionsOfOtherInstances(t *testing.T) {
	l, facts := openBuilders(t, trustedBuilder())
	demoted := relay.BuilderDemoted{At: now, Name: "alpha", Demotion: relay.Demotion{Rule: "state"}}
	if !l.AdoptDemotion(demoted) || l.AdoptDemotion(demoted) || len(l.Demotions()) != 1 || len(facts.facts) != 0 {
		t.Errorf("listed %+v, recorded %d", l.Demotions(), len(facts.facts))
	}
}
