package vectors

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	bitfield "github.com/OffchainLabs/go-bitfield"
	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Reveals is a file of blinded blocks to POST /eth/v1/builder/blinded_blocks, with the bids that
// the relay has served before.
type Reveals struct {
	Schema  string       `json:"$schema"`
	Suite   string       `json:"suite"`
	Network ForkNetwork  `json:"network"`
	Duty    *Duty        `json:"duty"`
	Relay   string       `json:"relayPubkey"`
	Served  []ServedBid  `json:"served"`
	Cases   []RevealCase `json:"cases"`
}

// ServedBid is a bid that the relay has served, and the payload of its header.
type ServedBid struct {
	Name string `json:"name"`
	// BidRoot is the hash tree root of the bid's message, SigningRoot what the relay's signature is
	// of.
	BidRoot     string `json:"bidRoot"`
	SigningRoot string `json:"signingRoot"`
	// HeaderRoot is the hash tree root of the header, which is also the payload's.
	HeaderRoot string `json:"headerRoot"`
	BlockHash  string `json:"blockHash"`
	ValueWei   string `json:"valueWei"`
	// Bids are the answers to GET /eth/v1/builder/header.
	Bids []Body `json:"bids"`
	// Payloads are the answers to a blinded block with this header.
	Payloads []Body `json:"payloads"`
}

// RevealCase is one blinded block.
type RevealCase struct {
	Name string `json:"name"`
	Says string `json:"says"`
	// Revealed is a served bid whose payload was revealed before; empty if there is none.
	Revealed    string `json:"revealed,omitempty"`
	SigningRoot string `json:"signingRoot,omitempty"`
	Bodies      []Body `json:"bodies"`
	Expect      Expect `json:"expect"`
	// Reveals is the served bid whose payload is the answer; empty if it is refused.
	Reveals string `json:"reveals,omitempty"`
}

// offer is a served bid while vectors are made of it.
type offer struct {
	name   string
	built  *chain.Built
	header *deneb.ExecutionPayloadHeader
}

// offers are the two bids that the relay has served: "first" has no blobs, "second" has two where
// the fork has any.
func (r *round) offers() ([2]offer, error) {
	var list [2]offer
	for i, name := range []string{"first", "second"} {
		blobs := 0
		if i == 1 && r.fork.HasBlobs() {
			blobs = 2
		}
		args, err := r.args(blobs)
		if err != nil {
			return list, err
		}
		args.ExtraData = []byte("gavel vectors " + name)
		built, err := r.chain.Build(context.Background(), args)
		if err != nil {
			return list, err
		}
		header, err := payload.HeaderOf(r.fork, built.Payload)
		if err != nil {
			return list, fmt.Errorf("make a header: %w", err)
		}
		list[i] = offer{name, built, header}
	}
	return list, nil
}

// commitments returns what a bid carries of blobs: nil before deneb.
func (o offer) commitments() []deneb.KZGCommitment {
	if o.built.Blobs == nil {
		return nil
	}
	return o.built.Blobs.Commitments
}

// serve writes the bid and the payload.
func (o offer) serve(out *folder, r *round, folder string) (ServedBid, error) {
	message := &builderelectra.BuilderBid{
		Header: o.header, BlobKZGCommitments: o.commitments(), ExecutionRequests: o.built.Requests, Value: o.built.PaidWei,
		Pubkey: r.relay.Public,
	}
	root, err := probe.BidRoot(r.fork, message)
	if err != nil {
		return ServedBid{}, err
	}
	headerRoot, err := probe.HeaderRoot(r.fork, o.header)
	if err != nil {
		return ServedBid{}, err
	}
	signing := probe.SigningRoot(root, builderDomain())
	served := ServedBid{
		Name: o.name, BidRoot: hexOf(root[:]), SigningRoot: hexOf(signing[:]), HeaderRoot: hexOf(headerRoot[:]),
		BlockHash: o.header.BlockHash.String(), ValueWei: o.built.PaidWei.Dec(),
	}
	bid := probe.Bid(r.fork, &builderelectra.SignedBuilderBid{Message: message, Signature: r.relay.Sign(signing)})
	if served.Bids, err = out.writeAnswers(folder+"/bid-"+o.name, r.fork, bid); err != nil {
		return served, err
	}
	served.Payloads, err = out.writeAnswers(folder+"/payload-"+o.name, r.fork, o.payload(r.fork))
	return served, err
}

// payload makes what is revealed: the payload, from deneb on with its blobs (builder-specs,
// ExecutionPayloadAndBlobsBundle).
func (o offer) payload(fork eth.Fork) probe.Document {
	switch b := o.built.Blobs; {
	case fork.HasCellProofs():
		return &builderfulu.ExecutionPayloadAndBlobsBundle{ExecutionPayload: o.built.Payload,
			BlobsBundle: &builderfulu.BlobsBundle{Commitments: b.Commitments, Proofs: b.Proofs, Blobs: b.Blobs}}
	case fork.HasBlobs():
		return &builderdeneb.ExecutionPayloadAndBlobsBundle{ExecutionPayload: o.built.Payload,
			BlobsBundle: &builderdeneb.BlobsBundle{Commitments: b.Commitments, Proofs: b.Proofs, Blobs: b.Blobs}}
	case fork.HasWithdrawals():
		return payload.ToCapella(o.built.Payload)
	default:
		return payload.ToBellatrix(o.built.Payload)
	}
}

// writeAnswers writes an answer of the relay: in JSON within {version, data}.
func (f *folder) writeAnswers(name string, fork eth.Fork, d probe.Document) ([]Body, error) {
	text, ssz, err := encodings(d)
	if err != nil {
		return nil, err
	}
	wrapped, err := json.Marshal(map[string]any{"version": fork.String(), "data": json.RawMessage(text)})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	return f.bodies(name, fork.String(), wrapped, ssz)
}

// block makes the blinded block of an offer, without operations.
func (r *round) block(o offer) *apielectra.BlindedBeaconBlock {
	header := *o.header
	requests := o.built.Requests
	if requests != nil {
		requests = &electra.ExecutionRequests{Deposits: slices.Clone(requests.Deposits),
			Withdrawals: slices.Clone(requests.Withdrawals), Consolidations: slices.Clone(requests.Consolidations)}
	}
	return &apielectra.BlindedBeaconBlock{
		Slot: roundSlot, ProposerIndex: validatorIndex, ParentRoot: parentBeaconRoot, StateRoot: phase0.Root{0x57},
		Body: &apielectra.BlindedBeaconBlockBody{
			ETH1Data:          &phase0.ETH1Data{BlockHash: make([]byte, 32)},
			ProposerSlashings: []*phase0.ProposerSlashing{}, AttesterSlashings: []*electra.AttesterSlashing{},
			Attestations: []*electra.Attestation{}, Deposits: []*phase0.Deposit{},
			VoluntaryExits:         []*phase0.SignedVoluntaryExit{},
			SyncAggregate:          &altair.SyncAggregate{SyncCommitteeBits: bitfield.NewBitvector512()},
			ExecutionPayloadHeader: &header, BLSToExecutionChanges: []*capella.SignedBLSToExecutionChange{},
			BlobKZGCommitments: slices.Clone(o.commitments()), ExecutionRequests: requests,
		},
	}
}

// revealRow is a row of the table of blinded blocks.
type revealRow struct {
	name, says string
	from       eth.Fork
	of         int // the offer whose header is signed
	revealed   string
	spoil      func(*apielectra.BlindedBeaconBlock) // before signing
	after      func(*apielectra.BlindedBeaconBlock) // after signing
	signer     string                               // "proposer" if empty
	domain     func(*round) phase0.Domain           // the proposer domain if nil
	expect     Expect
}

func revealRows() []revealRow {
	wrong := refused(stageCheck, "payload-signature", "REL-PAY-03")
	rows := []revealRow{
		{name: "first", says: "The header that was served first.", expect: accepted("REL-PAY-01", "REL-PAY-11",
			"REL-PAY-17")},
		{name: "second", says: "The header that was served second.", of: 1, expect: accepted("REL-PAY-01", "REL-PAY-08")},
		{name: "again", says: "The same block again.", revealed: "first", expect: accepted("REL-PAY-06")},
		{name: "other-after", says: "The payload of the first header was revealed already.", of: 1, revealed: "first",
			expect: refused(stageCheck, "payload-other-delivered", "REL-PAY-05")},
		{name: "signature-other-key", says: "Another validator signed.", signer: "other proposer", expect: wrong},
		{name: "signature-builder-domain", says: "It was signed in the domain of bids.",
			domain: func(*round) phase0.Domain { return builderDomain() }, expect: wrong},
		{name: "signature-other-fork", says: "It was signed for another fork.",
			domain: func(r *round) phase0.Domain { return proposerDomain(otherFork(r.fork)) }, expect: wrong},
		{name: "signature-other-network", says: "It was signed for a network with another genesis_validators_root.",
			domain: func(r *round) phase0.Domain {
				return probe.Domain(probe.DomainProposer, forkVersion(r.fork), phase0.Root{})
			}, expect: wrong},
		{name: "signature-other-block", says: "state_root was changed after signing.",
			after: func(b *apielectra.BlindedBeaconBlock) { b.StateRoot[0] ^= 1 }, expect: wrong},
		{name: "proposer-other", says: "proposer_index is not that of the slot's duty.",
			spoil:  func(b *apielectra.BlindedBeaconBlock) { b.ProposerIndex++ },
			expect: refused(stageCheck, "payload-unknown-proposer", "REL-PAY-13")},
		{name: "header-unknown", says: "The relay has served no header with this block hash.",
			spoil:  func(b *apielectra.BlindedBeaconBlock) { b.Body.ExecutionPayloadHeader.BlockHash[0] ^= 1 },
			expect: refused(stageCheck, "payload-unknown", "REL-PAY-04")},
	}
	return slices.Concat(rows, headerFieldRows(), commitmentRows())
}

// headerFieldRows have a header that differs from the served one in one field. The block hash is
// the served one's.
func headerFieldRows() (rows []revealRow) {
	for _, field := range []struct {
		name string
		from eth.Fork
		bend func(*deneb.ExecutionPayloadHeader)
	}{
		{"parent_hash", 0, func(h *deneb.ExecutionPayloadHeader) { h.ParentHash[0] ^= 1 }},
		{"fee_recipient", 0, func(h *deneb.ExecutionPayloadHeader) { h.FeeRecipient[0] ^= 1 }},
		{"state_root", 0, func(h *deneb.ExecutionPayloadHeader) { h.StateRoot[0] ^= 1 }},
		{"receipts_root", 0, func(h *deneb.ExecutionPayloadHeader) { h.ReceiptsRoot[0] ^= 1 }},
		{"logs_bloom", 0, func(h *deneb.ExecutionPayloadHeader) { h.LogsBloom[0] ^= 1 }},
		{"prev_randao", 0, func(h *deneb.ExecutionPayloadHeader) { h.PrevRandao[0] ^= 1 }},
		{"block_number", 0, func(h *deneb.ExecutionPayloadHeader) { h.BlockNumber++ }},
		{"gas_limit", 0, func(h *deneb.ExecutionPayloadHeader) { h.GasLimit++ }},
		{"gas_used", 0, func(h *deneb.ExecutionPayloadHeader) { h.GasUsed++ }},
		{"timestamp", 0, func(h *deneb.ExecutionPayloadHeader) { h.Timestamp++ }},
		{"extra_data", 0, func(h *deneb.ExecutionPayloadHeader) { h.ExtraData = append(bytes.Clone(h.ExtraData), 1) }},
		{"base_fee_per_gas", 0, func(h *deneb.ExecutionPayloadHeader) {
			h.BaseFeePerGas = new(uint256.Int).AddUint64(h.BaseFeePerGas, 1)
		}},
		{"transactions_root", 0, func(h *deneb.ExecutionPayloadHeader) { h.TransactionsRoot[0] ^= 1 }},
		{"withdrawals_root", eth.Capella, func(h *deneb.ExecutionPayloadHeader) { h.WithdrawalsRoot[0] ^= 1 }},
		{"blob_gas_used", eth.Deneb, func(h *deneb.ExecutionPayloadHeader) { h.BlobGasUsed++ }},
		{"excess_blob_gas", eth.Deneb, func(h *deneb.ExecutionPayloadHeader) { h.ExcessBlobGas++ }},
	} {
		rows = append(rows, revealRow{
			name: "header-" + string(bytes.ReplaceAll([]byte(field.name), []byte("_"), []byte("-"))), from: field.from,
			says:   field.name + " of the header is not the served one's.",
			spoil:  func(b *apielectra.BlindedBeaconBlock) { field.bend(b.Body.ExecutionPayloadHeader) },
			expect: refused(stageCheck, "payload-header-mismatch", "REL-PAY-14"),
		})
	}
	return rows
}

func commitmentRows() []revealRow {
	other := refused(stageCheck, "payload-header-mismatch", "REL-PAY-15")
	return []revealRow{
		{name: "commitments-swapped", says: "The commitments are in another order than served.", from: eth.Deneb, of: 1,
			spoil: func(b *apielectra.BlindedBeaconBlock) { slices.Reverse(b.Body.BlobKZGCommitments) }, expect: other},
		{name: "commitment-missing", says: "One of two commitments is missing.", from: eth.Deneb, of: 1,
			spoil: func(b *apielectra.BlindedBeaconBlock) {
				b.Body.BlobKZGCommitments = b.Body.BlobKZGCommitments[:1]
			}, expect: other},
		{name: "requests-other", says: "There is an execution request more than served.", from: eth.Electra,
			spoil: func(b *apielectra.BlindedBeaconBlock) {
				b.Body.ExecutionRequests.Withdrawals = append(b.Body.ExecutionRequests.Withdrawals,
					&electra.WithdrawalRequest{Amount: 5})
			}, expect: refused(stageCheck, "payload-header-mismatch", "REL-PAY-14")},
	}
}

// sign makes the signed block of a row, and what its signature has to be of.
func (row revealRow) sign(r *round, o offer) (probe.Document, phase0.Root, error) {
	block, domain, signer := r.block(o), proposerDomain(r.fork), r.proposer
	if row.spoil != nil {
		row.spoil(block)
	}
	if row.domain != nil {
		domain = row.domain(r)
	}
	if row.signer != "" {
		signer = blsKey(r.seed, row.signer)
	}
	root, err := probe.BlindedRoot(r.fork, block)
	if err != nil {
		return nil, root, err
	}
	signature := signer.Sign(probe.SigningRoot(root, domain))
	if row.after != nil {
		row.after(block)
	}
	if root, err = probe.BlindedRoot(r.fork, block); err != nil {
		return nil, root, err
	}
	signed := probe.Blinded(r.fork, &apielectra.SignedBlindedBeaconBlock{Message: block, Signature: signature})
	return signed, probe.SigningRoot(root, proposerDomain(r.fork)), nil
}

func writeReveals(out *folder, r *round) error {
	offers, err := r.offers()
	if err != nil {
		return err
	}
	file := Reveals{
		Schema: schemaOf(4, "reveals"), Suite: "relay/reveals", Network: r.network(), Duty: r.known().Duty,
		Relay: r.relay.Public.String(),
	}
	folder := file.Suite + "/" + r.fork.String()
	for _, o := range offers {
		served, err := o.serve(out, r, folder)
		if err != nil {
			return err
		}
		file.Served = append(file.Served, served)
	}
	for _, row := range revealRows() {
		if !r.fork.Includes(row.from) {
			continue
		}
		signed, root, err := row.sign(r, offers[row.of])
		if err != nil {
			return fmt.Errorf("blinded block %q: %w", row.name, err)
		}
		c := RevealCase{Name: row.name, Says: row.says, Revealed: row.revealed, SigningRoot: hexOf(root[:]),
			Expect: row.expect}
		if row.expect.Verdict == "accepted" {
			c.Reveals = offers[row.of].name
		}
		if c.Bodies, err = out.writeBoth(folder+"/"+row.name, r.fork, signed); err != nil {
			return err
		}
		file.Cases = append(file.Cases, c)
	}
	signed, _, err := revealRow{}.sign(r, offers[0])
	if err != nil {
		return err
	}
	garbled, err := garbledReveals(out, r.fork, folder, signed)
	if err != nil {
		return err
	}
	file.Cases = append(file.Cases, garbled...)
	return out.document(folder+"/cases.json", "reveals", file.Suite, len(file.Cases), file)
}

func garbledReveals(out *folder, fork eth.Fork, folder string, good probe.Document) (cases []RevealCase, err error) {
	text, ssz, err := encodings(good)
	if err != nil {
		return nil, err
	}
	// Before capella the block ends with the header's extra_data, which the signature covers.
	longer := refused(stageCheck, "payload-signature", "REL-PAY-03")
	for _, row := range garbledRows(fork, "REL-PAY-10", "REL-PAY-10", longer) {
		c := RevealCase{Name: row.name, Says: row.says, Expect: row.expect}
		if c.Bodies, err = out.garble(folder, fork, row, text, ssz); err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}
