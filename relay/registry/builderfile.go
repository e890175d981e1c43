package registry

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/relay"
)

// builderRecord is a builder in the file that lists them.
type builderRecord struct {
	Name         string   `yaml:"name"`
	Pubkeys      []string `yaml:"pubkeys"`
	APIKeySHA256 string   `yaml:"api_key_sha256"`
	Blocked      bool     `yaml:"blocked"`
	HighPriority bool     `yaml:"high_priority"`
	Optimistic   bool     `yaml:"optimistic"`
	Collateral   string   `yaml:"collateral_wei"`
	HeaderFirst  bool     `yaml:"header_first"`
}

// ParseBuilders reads a YAML list of builders. Unknown keys are errors. The error names the builder
// and the key.
//
//   - name: example
//     pubkeys: ["0x…"]
//     api_key_sha256: "…"         # printf %s "$KEY" | sha256sum
//     high_priority: true
//     optimistic: true
//     collateral_wei: "1000000000000000000"
//     header_first: false
//     blocked: false
func ParseBuilders(text []byte) ([]relay.Builder, error) {
	records, err := run.DecodeList[builderRecord](text)
	if err != nil {
		return nil, fmt.Errorf("read list of builders: %w", err)
	}
	list := make([]relay.Builder, len(records))
	for i, r := range records {
		b, err := r.builder()
		if err != nil {
			return nil, fmt.Errorf("builder %d (%q): %w", i+1, r.Name, err)
		}
		list[i] = b
	}
	return list, nil
}

func (r builderRecord) builder() (relay.Builder, error) {
	b := relay.Builder{
		Name: r.Name, Pubkeys: make([]phase0.BLSPubKey, len(r.Pubkeys)), Blocked: r.Blocked, HighPriority: r.HighPriority,
		Optimistic: r.Optimistic, HeaderFirst: r.HeaderFirst,
	}
	for i, text := range r.Pubkeys {
		if err := eth.ParseHex(text, b.Pubkeys[i][:]); err != nil {
			return b, fmt.Errorf("pubkeys: %w", err)
		}
	}
	if r.APIKeySHA256 != "" {
		raw, err := hex.DecodeString(r.APIKeySHA256)
		if err != nil || len(raw) != len(phase0.Hash32{}) {
			return b, errors.New("api_key_sha256: want 64 hexadecimal digits")
		}
		b.APIKeyHash = (*phase0.Hash32)(raw)
	}
	if r.Collateral != "" {
		wei, err := uint256.FromDecimal(r.Collateral)
		if err != nil {
			return b, fmt.Errorf("collateral_wei is %.90q: want a decimal number of wei", r.Collateral)
		}
		b.CollateralWei = wei
	}
	return b, checkBuilder(b)
}
