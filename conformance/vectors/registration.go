package vectors

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
)

// Registrations is a file of requests to POST /eth/v1/builder/validators.
type Registrations struct {
	Schema  string  `json:"$schema"`
	Suite   string  `json:"suite"`
	Network Network `json:"network"`
	// Now is the relay's clock, in seconds.
	Now uint64 `json:"now,string"`
	// Validators are the public keys of the chain's validators.
	Validators []string           `json:"validators"`
	Cases      []RegistrationCase `json:"cases"`
}

// RegistrationCase is one request.
type RegistrationCase struct {
	Name string `json:"name"`
	Says string `json:"says"`
	// Held are registrations that the relay has already.
	Held   []*builderv1.SignedValidatorRegistration `json:"held,omitempty"`
	Bodies []Body                                   `json:"bodies"`
	Expect Expect                                   `json:"expect"`
	// Entries are the verdicts on the request's registrations, in their order.
	Entries []EntryVerdict `json:"entries,omitempty"`
	// After are the registrations that the relay has afterwards, by validator.
	After []*builderv1.ValidatorRegistration `json:"after"`
}

// EntryVerdict is what must come of one registration.
type EntryVerdict struct {
	// SigningRoot is what the signature has to be of.
	SigningRoot string `json:"signingRoot"`
	// Verdict is "stored", "ignored" (it is not newer than what is held, and no mistake) or "refused".
	Verdict string `json:"verdict"`
	Refusal string `json:"refusal,omitempty"`
}

const (
	stored  = "stored"
	ignored = "ignored"
	nowAt   = genesisSeconds + 1000
)

// entry is a registration of a case, and its verdict.
type entry struct {
	validator    string
	feeRecipient byte
	gasLimit     uint64
	at           int64 // seconds
	// signer is the validator, unless somebody else signs.
	signer string
	// domain is the builder domain, unless it is signed for another purpose.
	domain *phase0.Domain
	// after changes the signed registration.
	after   func(*builderv1.SignedValidatorRegistration)
	verdict string // stored, ignored, or the refusal
}

type registrationRow struct {
	name, says string
	held       []entry
	entries    []entry
	clauses    []string
}

func usualEntry(verdict string) entry {
	return entry{validator: "validator 0", feeRecipient: 1, gasLimit: gasLimit, at: nowAt, verdict: verdict}
}

// changeUsual returns the usual registration with a change.
func changeUsual(verdict string, change func(*entry)) entry {
	e := usualEntry(verdict)
	change(&e)
	return e
}

func registrationRows() []registrationRow {
	const badSignature = "registration-signature"
	blocks, noGenesis := proposerDomain(Forks()[0]), probe.Domain(probe.DomainBuilder, phase0.Version{}, phase0.Root{})
	first := usualEntry(stored)
	second := changeUsual(stored, func(e *entry) { e.validator, e.feeRecipient = "validator 1", 2 })
	older := changeUsual(ignored, func(e *entry) { e.at, e.feeRecipient = nowAt-1, 9 })
	forged := changeUsual(badSignature, func(e *entry) { e.signer = "stranger" })
	return []registrationRow{
		{"one", "A registration of a validator that has none.", nil, []entry{first}, []string{"REL-REG-01", "REL-REG-06"}},
		{"two", "Two validators.", nil, []entry{first, second}, []string{"REL-REG-15"}},
		{"none", "An empty list.", nil, []entry{}, []string{"REL-REG-08"}},
		{"again", "The registration is held already.", []entry{first},
			[]entry{changeUsual(ignored, func(*entry) {})}, []string{"REL-REG-14"}},
		{"newer", "A later timestamp, and another fee recipient.", []entry{changeUsual(stored, func(e *entry) { e.at-- })},
			[]entry{changeUsual(stored, func(e *entry) { e.feeRecipient = 3 })}, []string{"REL-REG-13"}},
		{"newer-same", "A later timestamp, and otherwise the same.", []entry{changeUsual(stored, func(e *entry) { e.at-- })},
			[]entry{first}, nil},
		{"older", "An earlier timestamp than the held one: it replaces nothing, and is no mistake.", []entry{first},
			[]entry{older}, []string{"REL-REG-03"}},
		{"at-genesis", "The timestamp of genesis.", nil,
			[]entry{changeUsual(stored, func(e *entry) { e.at = genesisSeconds })}, nil},
		{"before-genesis", "A second before genesis.", nil,
			[]entry{changeUsual("registration-too-early", func(e *entry) { e.at = genesisSeconds - 1 })}, nil},
		{"ten-seconds-ahead", "The latest timestamp that is allowed.", nil,
			[]entry{changeUsual(stored, func(e *entry) { e.at = nowAt + 10 })}, []string{"REL-REG-01"}},
		{"eleven-seconds-ahead", "A second later than allowed.", nil,
			[]entry{changeUsual("registration-in-future", func(e *entry) { e.at = nowAt + 11 })}, []string{"REL-REG-04"}},
		{"stranger", "The key is no validator of the chain.", nil,
			[]entry{changeUsual("registration-unknown-validator", func(e *entry) { e.validator = "stranger" })},
			[]string{"REL-REG-05"}},
		{"signature-other-key", "Another key signed.", nil, []entry{forged}, []string{"REL-REG-02"}},
		{"signature-other-network", "It was signed for a network with another genesis version.", nil,
			[]entry{changeUsual(badSignature, func(e *entry) { e.domain = &noGenesis })}, []string{"REL-REG-02"}},
		{"signature-other-purpose", "It was signed in the domain of blocks.", nil,
			[]entry{changeUsual(badSignature, func(e *entry) { e.domain = &blocks })}, []string{"REL-REG-02"}},
		{"signature-other-fee-recipient", "The fee recipient was changed after signing.", nil,
			[]entry{changeUsual(badSignature, func(e *entry) {
				e.after = func(r *builderv1.SignedValidatorRegistration) { r.Message.FeeRecipient[0] ^= 1 }
			})}, []string{"REL-REG-02"}},
		{"signature-other-gas-limit", "The gas limit was changed after signing.", nil,
			[]entry{changeUsual(badSignature, func(e *entry) {
				e.after = func(r *builderv1.SignedValidatorRegistration) { r.Message.GasLimit++ }
			})}, []string{"REL-REG-02"}},
		{"signature-no-point", "The signature is no point of the curve.", nil,
			[]entry{changeUsual(badSignature, func(e *entry) {
				e.after = func(r *builderv1.SignedValidatorRegistration) { r.Signature = phase0.BLSSignature{0xff} }
			})}, []string{"REL-REG-17"}},
		{"signature-no-point-again", "What is held, with a signature that is no point of the curve.", []entry{first},
			[]entry{changeUsual(badSignature, func(e *entry) {
				e.after = func(r *builderv1.SignedValidatorRegistration) { r.Signature = phase0.BLSSignature{0xff} }
			})}, []string{"REL-REG-17"}},
		{"good-beside-bad", "A registration with a wrong signature between two good ones.", nil, []entry{first,
			changeUsual(badSignature, func(e *entry) { e.validator, e.signer = "validator 2", "stranger" }), second},
			[]string{"REL-REG-07"}},
	}
}

// sign makes the registration of an entry, and its signing root.
func (e entry) sign(seed uint64) (*builderv1.SignedValidatorRegistration, phase0.Root, error) {
	key, signer, domain := blsKey(seed, e.validator), blsKey(seed, e.validator), builderDomain()
	if e.signer != "" {
		signer = blsKey(seed, e.signer)
	}
	signedFor := domain
	if e.domain != nil {
		signedFor = *e.domain
	}
	r := &builderv1.SignedValidatorRegistration{Message: &builderv1.ValidatorRegistration{
		FeeRecipient: bellatrix.ExecutionAddress{0xfe, e.feeRecipient}, GasLimit: e.gasLimit, Timestamp: time.Unix(e.at, 0),
		Pubkey: key.Public,
	}}
	root, err := r.Message.HashTreeRoot()
	if err != nil {
		return nil, phase0.Root{}, fmt.Errorf("hash a registration: %w", err)
	}
	r.Signature = signer.Sign(probe.SigningRoot(root, signedFor))
	if e.after != nil {
		e.after(r)
	}
	if root, err = r.Message.HashTreeRoot(); err != nil {
		return nil, phase0.Root{}, fmt.Errorf("hash a registration: %w", err)
	}
	return r, probe.SigningRoot(root, domain), nil
}

func writeRegistrations(out *folder, seed uint64) error {
	file := Registrations{Schema: schemaOf(3, "registrations"), Suite: "relay/registrations", Network: network0(),
		Now: nowAt}
	for i := range 4 {
		file.Validators = append(file.Validators, blsKey(seed, fmt.Sprintf("validator %d", i)).Public.String())
	}
	for _, row := range registrationRows() {
		c, err := row.write(out, seed, file.Suite)
		if err != nil {
			return fmt.Errorf("registration %q: %w", row.name, err)
		}
		file.Cases = append(file.Cases, c)
	}
	garbled, err := garbledRegistrations(out, seed, file.Suite)
	if err != nil {
		return err
	}
	file.Cases = append(file.Cases, garbled...)
	return out.document(file.Suite+"/cases.json", "registrations", file.Suite, len(file.Cases), file)
}

func (row registrationRow) write(out *folder, seed uint64, suite string) (c RegistrationCase, err error) {
	c = RegistrationCase{Name: row.name, Says: row.says, Expect: accepted(row.clauses...),
		After: []*builderv1.ValidatorRegistration{}}
	for _, e := range row.held {
		r, _, err := e.sign(seed)
		if err != nil {
			return c, err
		}
		c.Held, c.After = append(c.Held, r), append(c.After, r.Message)
	}
	list := []*builderv1.SignedValidatorRegistration{}
	for _, e := range row.entries {
		r, root, err := e.sign(seed)
		if err != nil {
			return c, err
		}
		list = append(list, r)
		verdict := EntryVerdict{SigningRoot: hexOf(root[:]), Verdict: e.verdict}
		switch e.verdict {
		case ignored:
		case stored:
			c.After = slices.DeleteFunc(c.After, func(m *builderv1.ValidatorRegistration) bool {
				return m.Pubkey == r.Message.Pubkey
			})
			c.After = append(c.After, r.Message)
		default:
			verdict.Verdict, verdict.Refusal = "refused", e.verdict
			c.Expect = refused(stageCheck, "registrations-invalid", row.clauses...)
		}
		c.Entries = append(c.Entries, verdict)
	}
	text, ssz, err := encodeRegistrations(list)
	if err != nil {
		return c, err
	}
	c.Bodies, err = out.bodies(suite+"/"+row.name, "", text, ssz)
	return c, err
}

// encodeRegistrations encodes a list: in SSZ 180 bytes each, one after another.
func encodeRegistrations(list []*builderv1.SignedValidatorRegistration) (text, ssz []byte, err error) {
	if text, err = json.Marshal(list); err != nil {
		return nil, nil, fmt.Errorf("encode registrations: %w", err)
	}
	ssz = []byte{}
	for _, r := range list {
		one, err := r.MarshalSSZ()
		if err != nil {
			return nil, nil, fmt.Errorf("encode a registration: %w", err)
		}
		ssz = append(ssz, one...)
	}
	return text, ssz, nil
}

// garbledRegistrations are bodies that are no list of registrations.
func garbledRegistrations(out *folder, seed uint64, suite string) (cases []RegistrationCase, err error) {
	r, _, err := usualEntry(stored).sign(seed)
	if err != nil {
		return nil, err
	}
	text, ssz, err := encodeRegistrations([]*builderv1.SignedValidatorRegistration{r})
	if err != nil {
		return nil, err
	}
	form, length := refused(stageDecode, "malformed", "REL-REG-09"), refused(stageDecode, "malformed", "REL-REG-12")
	field := refused(stageDecode, "registrations-invalid", "REL-REG-10")
	replace := func(old, by string) func([]byte) []byte {
		return func(good []byte) []byte { return []byte(strings.Replace(string(good), old, by, 1)) }
	}
	for _, row := range []garbledRow{
		{"empty", "The body has no byte, which in SSZ is an empty list.", func([]byte) []byte { return []byte{} }, nil, form},
		{"cut", "The last byte is missing.", func(good []byte) []byte { return good[:len(good)-1] }, nil, form},
		{"object", "The registration stands in no list.", func(good []byte) []byte {
			return good[1 : len(good)-1]
		}, nil, form},
		{"ssz-cut", "179 bytes.", nil, func(good []byte) []byte { return good[:len(good)-1] }, length},
		{"ssz-byte-more", "181 bytes.", nil, func(good []byte) []byte { return append(slices.Clone(good), 0) }, length},
		{"gas-limit-missing", "gas_limit is missing.", replace(fmt.Sprintf(`"gas_limit":"%d",`, gasLimit), ""), nil, field},
		{"pubkey-short", "pubkey has 47 bytes.", func(good []byte) []byte {
			key := r.Message.Pubkey.String()
			return []byte(strings.Replace(string(good), key, key[:len(key)-2], 1))
		}, nil, field},
	} {
		c := RegistrationCase{Name: row.name, Says: row.says, Expect: row.expect, After: []*builderv1.ValidatorRegistration{}}
		if c.Bodies, err = out.bodies(suite+"/"+row.name, "", apply(row.json, text), apply(row.ssz, ssz)); err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}
