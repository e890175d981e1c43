package client

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/OffchainLabs/go-bitfield"
	builderapi "github.com/attestantio/go-builder-client/api"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
)

// source fills the libraries' types with values that differ from field to field, so that a mixed-up
// encoding shows.
type source struct{ *rand.Rand }

func newSource(fork eth.Fork) source { return source{rand.New(rand.NewPCG(uint64(fork), 7))} }

func (s source) bid(fork eth.Fork) *builderspec.VersionedSignedBuilderBid {
	return member[builderspec.VersionedSignedBuilderBid](s, fork)
}

func (s source) submission(fork eth.Fork) *builderspec.VersionedSubmitBlockRequest {
	return member[builderspec.VersionedSubmitBlockRequest](s, fork)
}

func (s source) blinded(fork eth.Fork) *api.VersionedSignedBlindedBeaconBlock {
	return member[api.VersionedSignedBlindedBeaconBlock](s, fork)
}

func (s source) payload(fork eth.Fork) *builderapi.VersionedSubmitBlindedBlockResponse {
	return member[builderapi.VersionedSubmitBlindedBlockResponse](s, fork)
}

func (s source) registration() *builderv1.SignedValidatorRegistration {
	out := new(builderv1.SignedValidatorRegistration)
	s.fill(reflect.ValueOf(out).Elem())
	return out
}

// member is a versioned value of which the fork's member is filled.
func member[T any](s source, fork eth.Fork) *T {
	out := new(T)
	v := reflect.ValueOf(out).Elem()
	v.FieldByName("Version").Set(reflect.ValueOf(fork.DataVersion()))
	s.fill(memberOf(v, fork))
	return out
}

// memberOf is the field of a versioned struct that a fork uses.
func memberOf(v reflect.Value, fork eth.Fork) reflect.Value {
	return v.FieldByName(map[eth.Fork]string{
		eth.Bellatrix: "Bellatrix", eth.Capella: "Capella", eth.Deneb: "Deneb", eth.Electra: "Electra", eth.Fulu: "Fulu",
	}[fork])
}

func (s source) fill(v reflect.Value) {
	switch v.Interface().(type) {
	case *uint256.Int:
		v.Set(reflect.ValueOf(uint256.NewInt(s.Uint64())))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1_700_000_000+s.Int64N(1000), 0)))
		return
	case bitfield.Bitvector512:
		v.Set(reflect.ValueOf(bitfield.NewBitvector512()))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		s.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			s.fill(v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			s.fill(v.Index(i))
		}
		if v.Len() == 131072 { // a blob is canonical field elements
			v.SetZero()
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), s.length(v.Type()), 32))
		for i := range v.Len() {
			s.fill(v.Index(i))
		}
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(s.Uint64() & (1<<v.Type().Bits() - 1))
	default:
		panic("no values for " + v.Type().String())
	}
}

// length of a list: byte strings have 32 bytes, blocks no operations, other lists one or two
// elements.
func (s source) length(list reflect.Type) int {
	if list.Elem().Kind() == reflect.Uint8 {
		return 32
	}
	if list.Elem().Kind() != reflect.Pointer {
		return 1 + s.IntN(2)
	}
	switch reflect.Zero(list.Elem()).Interface().(type) {
	case *capella.Withdrawal, *electra.DepositRequest, *electra.WithdrawalRequest, *electra.ConsolidationRequest:
		return 1 + s.IntN(2)
	}
	return 0
}

// wantSame compares the fork's members of two versioned values.
func wantSame(t *testing.T, fork eth.Fork, got, want any) {
	t.Helper()
	a, b := memberOf(reflect.ValueOf(got).Elem(), fork), memberOf(reflect.ValueOf(want).Elem(), fork)
	if a.IsNil() {
		t.Fatalf("nothing of %s in %+v", fork, got)
	}
	if !reflect.DeepEqual(a.Interface(), b.Interface()) {
		t.Errorf("%s:\n got %v\nwant %v", fork, a.Interface(), b.Interface())
	}
}
