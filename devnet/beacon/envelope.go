package beacon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/gloas/check"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/serve"
)

// blobsHeader says whether an envelope comes with the blobs of its payload.
const blobsHeader = "Eth-Blob-Data-Included"

// publishEnvelope takes a payload (beacon-APIs, publishExecutionPayloadEnvelope). The status is
// that of publish. An envelope without its blobs is imported; the committee then says that they
// are missing, unless this node has made the payload itself.
func (b *Beacon) publishEnvelope(w http.ResponseWriter, r *http.Request) {
	if fork, err := forkOf(r); err != nil || !isGloas(fork) {
		serve.Refuse(w, r, bad("%s is %.20q: want gloas", versionHeader, r.Header.Get(versionHeader)))
		return
	}
	included, err := strconv.ParseBool(r.Header.Get(blobsHeader))
	if err != nil {
		serve.Refuse(w, r, bad("%s is %.20q: want true or false", blobsHeader, r.Header.Get(blobsHeader)))
		return
	}
	body, json, level, err := readPublished(w, r)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	contents, err := decodeEnvelope(included, json, body)
	if err != nil {
		serve.Refuse(w, r, bad("decode envelope: %v", err))
		return
	}
	if err := b.importEnvelope(withoutCancel(r), contents, included, level == "consensus_and_equivocation"); err != nil {
		b.log.Warn("envelope refused", "slot", contents.SignedExecutionPayloadEnvelope.Message.Payload.SlotNumber,
			"error", err)
		if status := importStatus(err); status == http.StatusAccepted {
			w.WriteHeader(status)
		} else {
			serve.Refuse(w, r, problem{status, err.Error()})
		}
		return
	}
	w.WriteHeader(http.StatusOK)
}

func decodeEnvelope(included, json bool, body []byte) (*gloas.SignedExecutionPayloadEnvelopeContents, error) {
	if included {
		if json {
			return gloas.Mainnet.EnvelopeContents.FromJSON(body)
		}
		return gloas.Mainnet.EnvelopeContents.Decode(body)
	}
	read := gloas.Mainnet.SignedExecutionPayloadEnvelope.Decode
	if json {
		read = gloas.Mainnet.SignedExecutionPayloadEnvelope.FromJSON
	}
	signed, err := read(body)
	return &gloas.SignedExecutionPayloadEnvelopeContents{SignedExecutionPayloadEnvelope: signed}, err
}

// Why an envelope is refused before its rules are looked at.
var (
	errNoSuchBlock     = errors.New("the block of the envelope is not known")
	errBeforeEnvelopes = errors.New("the block of the envelope is of a fork before gloas")
)

// importEnvelope checks a revealed payload, executes it, and adds it to its block. A payload that
// is known is not an error.
func (b *Beacon) importEnvelope(ctx context.Context, c *gloas.SignedExecutionPayloadEnvelopeContents, included,
	refuseEquivocations bool) error {
	b.importing.Lock()
	defer b.importing.Unlock()
	signed := c.SignedExecutionPayloadEnvelope
	root := signed.Message.BeaconBlockRoot
	b.mu.RLock()
	block, known, own := b.choice.blocks[root], b.market.revealed[root], b.market.own[root]
	equivocates := block != nil && b.choice.equivocates(block.Slot, block.ProposerIndex, root)
	b.mu.RUnlock()
	switch {
	case block == nil:
		return errNoSuchBlock
	case block.bid == nil:
		return errBeforeEnvelopes
	case equivocates && refuseEquivocations:
		return errEquivocation
	case known != nil && (known.available || !included):
		return nil
	}
	blobs := &payload.Blobs{Commitments: block.bid.BlobKZGCommitments, Proofs: c.KZGProofs, Blobs: c.Blobs}
	if !included && own != nil {
		blobs, included = own.blobs, true
	}
	included = included || len(blobs.Commitments) == 0
	if err := b.checkEnvelope(block, signed, blobs, included); err != nil {
		return err
	}
	message := signed.Message
	if err := b.cfg.Execution.ImportGloas(ctx, message.Payload, block.bid.BlobKZGCommitments, block.ParentRoot,
		message.ExecutionRequests); errors.Is(err, chain.ErrInvalid) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", errExecution, err)
	}
	b.reveal(block, signed, blobs, included)
	if err := b.followHead(ctx); err != nil {
		return fmt.Errorf("%w: %w", errExecution, err)
	}
	return nil
}

// checkEnvelope applies the rules that need no execution.
func (b *Beacon) checkEnvelope(block *Block, signed *gloas.SignedExecutionPayloadEnvelope, blobs *payload.Blobs,
	included bool) error {
	_, signer := b.Duty(block.Slot)
	if index := block.bid.BuilderIndex; index != gloas.SelfBuild {
		signer = block.builders.Builders[index].Pubkey
	}
	rules := check.EnvelopeCase{
		Spec: b.cfg.Spec, Envelope: signed, Bid: block.bid, BlockRoot: block.Root, ParentRoot: block.ParentRoot,
		Signer: signer, Withdrawals: block.builders.ExpectedWithdrawals,
	}
	if err := rules.Check(); err != nil {
		return err
	}
	if !included {
		return nil
	}
	if err := b.proofs.verify(block.Fork, blobs); err != nil {
		return fmt.Errorf("blobs: %w", err)
	}
	return nil
}

// reveal notes a payload and sends the events about it.
func (b *Beacon) reveal(block *Block, signed *gloas.SignedExecutionPayloadEnvelope, blobs *payload.Blobs,
	available bool) {
	b.mu.Lock()
	at := b.cfg.Clock.Now()
	if before := b.market.revealed[block.Root]; before != nil {
		at = before.at
	}
	b.market.revealed[block.Root] = &revealed{envelope: signed, at: at, available: available}
	b.choice.tree.reveal(block.Root)
	if available && len(blobs.Blobs) > 0 {
		b.blobs[block.Root] = blobs
	}
	b.mu.Unlock()
	payload := signed.Message.Payload
	told := map[string]any{
		"slot": decimal(block.Slot), "builder_index": decimal(signed.Message.BuilderIndex),
		"block_hash": hexOf(payload.BlockHash[:]), "block_root": hexOf(block.Root[:]), "execution_optimistic": false,
	}
	b.events.send("execution_payload_gossip", mustJSON(told))
	b.events.send("execution_payload", mustJSON(told))
	if available {
		b.events.send("execution_payload_available", mustJSON(map[string]any{
			"slot": decimal(block.Slot), "block_root": hexOf(block.Root[:]),
		}))
	}
}

// envelope answers with the revealed payload of a block (beacon-APIs,
// getSignedExecutionPayloadEnvelope).
func (b *Beacon) envelope(w http.ResponseWriter, r *http.Request) {
	block, media, err := b.blockAs(r)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	b.mu.RLock()
	known := b.market.revealed[block.Root]
	b.mu.RUnlock()
	if known == nil {
		serve.Refuse(w, r, problem{http.StatusNotFound, "the payload of this block is not known"})
		return
	}
	w.Header().Set(versionHeader, eth.Gloas.String())
	if media == mediaJSON {
		extra := b.settled(block)
		extra["version"] = eth.Gloas.String()
		data(w, r, inJSON(gloas.Mainnet.SignedExecutionPayloadEnvelope.ToJSON(known.envelope)), extra)
		return
	}
	raw, err := gloas.Mainnet.SignedExecutionPayloadEnvelope.Encode(known.envelope)
	if err != nil {
		serve.Refuse(w, r, fmt.Errorf("encode envelope: %w", err))
		return
	}
	serve.Bytes(w, http.StatusOK, mediaSSZ, raw)
}

// Sale is what the chain has of a slot of gloas.
type Sale struct {
	// Full says that the chain has the payload, Revealed that it came at all.
	Full, Revealed bool
	Builder        gloas.BuilderIndex // gloas.SelfBuild for the proposer's own payload
	// ValueGwei is paid from the builder's stake, PaymentGwei was promised within the payload.
	ValueGwei, PaymentGwei phase0.Gwei
	// Equivocated says that the proposer has signed another block of the slot, which voids ValueGwei
	// as long as the payload is not revealed.
	Equivocated bool
	// Of Members of the payload timeliness committee, Present have seen the payload in time, and
	// Available its blobs.
	Present, Available, Members int
}

// SaleOf returns what the chain that ends with the head has of a block; false before gloas.
func (b *Beacon) SaleOf(block *Block) (Sale, bool) {
	if block.bid == nil {
		return Sale{}, false
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	s := Sale{
		Full: b.choice.status(block) == epbs.Full, Revealed: b.choice.tree.Revealed(block.Root),
		Builder: block.bid.BuilderIndex, ValueGwei: block.bid.Value, PaymentGwei: block.bid.ExecutionPayment,
		Equivocated: b.choice.equivocates(block.Slot, block.ProposerIndex, block.Root), Members: committeeSize,
	}
	s.Present, s.Available = b.choice.tree.Votes(block.Root)
	return s, true
}
