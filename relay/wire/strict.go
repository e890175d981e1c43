package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gavel-relay/gavel/internal/jsonscan"
)

// kind is the form that the JSON value of a known name must have.
type kind uint8

const (
	unknown  kind = iota // names of later versions: any value is accepted and ignored
	decimal              // a quoted number without sign or leading zeros
	hexBytes             // a quoted 0x string with whole bytes
	object
	decimals // lists
	hexList
	objects
)

// itemKinds are the kinds of the items of lists.
var itemKinds = map[kind]kind{decimals: decimal, hexList: hexBytes, objects: object}

// kinds has the names in all bodies that the relay reads (field names of builder-specs, relay-specs
// and consensus-specs).
var kinds = func() map[string]kind {
	table := map[string]kind{}
	for k, names := range map[kind]string{
		decimal: `slot gas_limit gas_used value block_number timestamp base_fee_per_gas index validator_index amount blob_gas_used
			excess_blob_gas proposer_index deposit_count epoch from_validator_index`,
		hexBytes: `parent_hash block_hash builder_pubkey proposer_pubkey proposer_fee_recipient fee_recipient state_root receipts_root
			logs_bloom prev_randao extra_data address pubkey signature withdrawal_credentials source_address validator_pubkey
			source_pubkey target_pubkey parent_root randao_reveal deposit_root graffiti body_root beacon_block_root root
			aggregation_bits committee_bits sync_committee_bits sync_committee_signature transactions_root withdrawals_root
			from_bls_pubkey to_execution_address`,
		object: `message execution_payload blobs_bundle execution_requests body eth1_data sync_aggregate execution_payload_header
			signed_header_1 signed_header_2 attestation_1 attestation_2 data source target`,
		decimals: `attesting_indices`,
		hexList:  `transactions commitments proofs blobs blob_kzg_commitments proof`,
		objects: `withdrawals deposits consolidations proposer_slashings attester_slashings attestations voluntary_exits
			bls_to_execution_changes`,
	} {
		for name := range strings.FieldsSeq(names) {
			table[name] = k
		}
	}
	return table
}()

// nullable are the lists that Go's libraries write as null if they are nil.
var nullable = map[string]bool{
	"transactions": true, "withdrawals": true, "commitments": true, "proofs": true, "blobs": true, "deposits": true,
	"consolidations": true,
}

// walk checks that a value is of a kind, and skips it. name is for the error.
func (c *cursor) walk(name string, want kind) error {
	switch c.Peek() {
	case '{':
		if want != object && want != unknown {
			return fmt.Errorf("%s is an object: want %s", name, want)
		}
		var seen jsonscan.Names
		return c.Members(func(name []byte) error {
			folded := jsonscan.Fold(string(name))
			if err := seen.Add(folded); err != nil {
				return err
			}
			return c.walk(folded, kinds[folded])
		})
	case '[':
		if want < decimals && want != unknown {
			return fmt.Errorf("%s is a list: want %s", name, want)
		}
		return c.Items(func() error { return c.walk(name, itemKinds[want]) })
	case '"':
		if want == unknown {
			_, err := c.Value()
			return err
		}
		text, err := c.Text()
		if err != nil {
			return err
		}
		if err := checkText(want, text); err != nil {
			return fmt.Errorf("%s is %w", name, err)
		}
		return nil
	default:
		if literal := c.Literal(); want >= decimals && nullable[name] && string(literal) == "null" {
			return nil
		} else if want != unknown || !json.Valid(literal) {
			return fmt.Errorf("%s is %.20q: numbers are quoted, and nothing known may be null or boolean", name, literal)
		}
		return nil
	}
}

// checkText checks the form of a string. It leaves the digits of bytes to their decoder.
func checkText(want kind, s []byte) error {
	switch want {
	case unknown:
		return nil
	case decimal:
		if len(s) == 0 || len(s) > 78 || (s[0] == '0' && len(s) > 1) {
			return fmt.Errorf("%.90q: want %s", s, want)
		}
		for _, digit := range s {
			if digit < '0' || digit > '9' {
				return fmt.Errorf("%.90q: want %s", s, want)
			}
		}
		return nil
	case hexBytes:
		if len(s) < 2 || s[0] != '0' || s[1] != 'x' || len(s)%2 != 0 {
			return fmt.Errorf("%.90q: want %s", s, want)
		}
		return nil
	default:
		return fmt.Errorf("text: want %s", want)
	}
}

func (k kind) String() string {
	return [...]string{
		"anything", "a decimal number", "0x and whole bytes", "an object", "a list of numbers", "a list of texts",
		"a list of objects",
	}[k]
}
