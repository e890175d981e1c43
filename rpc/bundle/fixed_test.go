package bundle

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"
)

func TestHashAndAddress(t *testing.T) {
	const digits = "c8bbd0e6f3a1"
	var hash HashParam
	text := "0x" + strings.Repeat("Ab", 32)
	if err := hash.Read([]byte(`"` + text + `"`)); err != nil || common.Hash(hash) != common.HexToHash(text) {
		t.Errorf("%v, %v", hash, err)
	}
	var address Address
	for _, text := range []string{"0xc8BBD0E6F3A1C8BBD0E6F3A1C8BBD0E6F3A1C8bb",
		"0XC8BBD0E6F3A1C8BBD0E6F3A1C8BBD0E6F3A1C8BB"} {
		if err := address.Read([]byte(`"` + text + `"`)); err != nil ||
			common.Address(address) != common.HexToAddress(digits+digits+digits+"c8bb") {
			t.Errorf("%s: %v, %v", text, address, err)
		}
	}
	for _, text := range []string{`null`, `""`, `"0x"`, `1`, `"` + strings.Repeat("ab", 32) + `"`, `"0x` +
		strings.Repeat("ab", 31) + `"`, `"0xzz"`} {
		if err := hash.Read([]byte(text)); err == nil || err.Error() != "want 0x and 64 hexadecimal digits" {
			t.Errorf("hash %s: %v", text, err)
		}
		if err := address.Read([]byte(text)); err == nil || err.Error() != "want 0x and 40 hexadecimal digits" {
			t.Errorf("address %s: %v", text, err)
		}
	}
}

func TestHexBytes(t *testing.T) {
	for text, want := range map[string][]byte{
		`"0x02f8"`: {2, 0xf8}, `"02F8"`: {2, 0xf8}, `"0X02f8"`: {2, 0xf8}, `"0x"`: {}, `""`: {}, `null`: {},
		`"\u0030x02f8"`: {2, 0xf8},
	} {
		var got HexBytes
		if err := got.Read([]byte(text)); err != nil || got.Len() != len(want) {
			t.Errorf("%s: %v, %d bytes", text, err, got.Len())
		}
		if decoded, err := got.Bytes(); err != nil || !bytes.Equal(decoded, want) {
			t.Errorf("%s is %x, %v; want %x", text, decoded, err, want)
		}
	}
	for _, text := range []string{`"0x0"`, `"0xgg"`, `"0x 00"`} { // a text: only Bytes looks into it
		var got HexBytes
		if err := got.Read([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if decoded, err := got.Bytes(); err == nil {
			t.Errorf("%s is %x; want a refusal", text, decoded)
		}
	}
	for _, text := range []string{`1`, `{}`, `[]`, `true`} {
		var got HexBytes
		if err := got.Read([]byte(text)); err == nil {
			t.Errorf("%s: want a refusal", text)
		}
	}
}

func TestUUID(t *testing.T) {
	id := uuid.MustParse("d9a3ae52-47a2-4b3e-9d29-6d3bd2d1b7f0")
	for text, want := range map[string]uuid.UUID{
		`"d9a3ae52-47a2-4b3e-9d29-6d3bd2d1b7f0"`: id,
		`"D9A3AE52-47A2-4B3E-9D29-6D3BD2D1B7F0"`: id,
		`"d9a3ae52-47a2-1b3e-9d29-6d3bd2d1b7f0"`: uuid.MustParse("d9a3ae52-47a2-1b3e-9d29-6d3bd2d1b7f0"), // any version
		// mev-share-client-ts
		`null`:                                   {},
		`""`:                                     {}, // flashbotsrpc
		`"00000000-0000-0000-0000-000000000000"`: {}, // lmittmann
	} {
		var got UUID
		if err := got.Read([]byte(text)); err != nil || uuid.UUID(got) != want {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		`"d9a3ae5247a24b3e9d296d3bd2d1b7f0"`, `"{d9a3ae52-47a2-4b3e-9d29-6d3bd2d1b7f0}"`,
		`"urn:uuid:d9a3ae52-47a2-4b3e-9d29-6d3bd2d1b7f0"`, `"my-order"`,
		`1`, `{}`,
	} {
		var got UUID
		if err := got.Read([]byte(text)); err == nil {
			t.Errorf("%s is %v; want a refusal", text, got)
		}
	}
}
