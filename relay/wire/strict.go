package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// kind is what the JSON value of a known name must be.
type kind uint8

const (
	unknown  kind = iota // names of later versions: anything goes, and it is ignored
	decimal              // a quoted number without sign or leading zeros
	hexBytes             // a quoted 0x text with whole bytes
	object
	decimals // lists
	hexList
	objects
)

// kinds are the names of all bodies that the relay reads (builder-specs, relay-specs and consensus-specs field names).
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

// maxDepth is deeper than any body of ours and shallow enough for any stack.
const maxDepth = 24

// strict walks a document and refuses what the libraries would let pass or break on: a name twice in one object, known names with a value
// of another kind (also null), bare numbers, text that is not 0x hex, and anything after the document.
func strict(body []byte) error {
	w := walker{decoder: json.NewDecoder(bytes.NewReader(body))}
	w.decoder.UseNumber()
	if err := w.value("", object, 0); err != nil {
		return err
	}
	if _, err := w.decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the document")
	}
	return nil
}

type walker struct{ decoder *json.Decoder }

// value reads one value that must be of a kind; name is for the error.
func (w *walker) value(name string, want kind, depth int) error {
	if depth > maxDepth {
		return errors.New("nested too deeply")
	}
	token, err := w.decoder.Token()
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			if want != object && want != unknown {
				return fmt.Errorf("%s is an object", name)
			}
			return w.object(depth)
		}
		if want < decimals && want != unknown {
			return fmt.Errorf("%s is a list", name)
		}
		return w.list(name, want, depth)
	case string:
		return text(name, want, t)
	default:
		if want != unknown {
			return fmt.Errorf("%s is %v: numbers are quoted, and nothing known may be null or boolean", name, token)
		}
		return nil
	}
}

func (w *walker) object(depth int) error {
	var seen [8]string // objects of ours are small; the slice grows for greater ones
	names := seen[:0]
	for w.decoder.More() {
		token, err := w.decoder.Token()
		if err != nil {
			return fmt.Errorf("not JSON: %w", err)
		}
		name := fold(token.(string)) // between braces the decoder answers with names only
		for _, other := range names {
			if other == name {
				return fmt.Errorf("%s comes twice", name)
			}
		}
		names = append(names, name)
		if err := w.value(name, kinds[name], depth+1); err != nil {
			return err
		}
	}
	return w.end()
}

func (w *walker) list(name string, want kind, depth int) error {
	item := map[kind]kind{decimals: decimal, hexList: hexBytes, objects: object}[want]
	for w.decoder.More() {
		if err := w.value(name, item, depth+1); err != nil {
			return err
		}
	}
	return w.end()
}

func (w *walker) end() error {
	if _, err := w.decoder.Token(); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	return nil
}

// oddLetters are the two letters outside ASCII that encoding/json takes for letters inside it: the long s and the Kelvin sign.
var oddLetters = strings.NewReplacer("\u017f", "s", "\u212a", "k")

// fold writes a name as encoding/json compares it.
func fold(name string) string { return strings.ToLower(oddLetters.Replace(name)) }

func text(name string, want kind, s string) error {
	switch want {
	case unknown:
		return nil
	case decimal:
		if s == "" || len(s) > 78 || (s[0] == '0' && len(s) > 1) || strings.Trim(s, "0123456789") != "" {
			return fmt.Errorf("%s is %.90q: want a decimal number", name, s)
		}
		return nil
	case hexBytes:
		if len(s) < 2 || s[0] != '0' || s[1] != 'x' || len(s)%2 != 0 {
			return fmt.Errorf("%s is %.90q: want 0x and whole bytes", name, s)
		}
		return nil // digits are looked at by whoever decodes them
	default:
		return fmt.Errorf("%s is text: want an object or a list", name)
	}
}
