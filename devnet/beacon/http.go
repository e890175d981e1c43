package beacon

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
)

// Handler serves the part of the Beacon API (beacon-APIs) that relays, sidecars and validators use.
func (b *Beacon) Handler() http.Handler {
	mux := &serve.Mux{
		NotFound:   problem{http.StatusNotFound, "this beacon node has no such endpoint"},
		NotAllowed: problem{http.StatusMethodNotAllowed, "wrong method for this endpoint"},
	}
	for _, routes := range [][]route{b.nodeRoutes(), b.blockRoutes(), b.stateRoutes(), b.validatorRoutes(),
		b.gloasRoutes()} {
		for _, r := range routes {
			mux.Handle(r.method, r.path, r.operation)
		}
	}
	return mux
}

type route struct {
	method, path string
	operation    http.HandlerFunc
}

// nodeRoutes are about the node itself and its network.
func (b *Beacon) nodeRoutes() []route {
	return []route{
		{"GET", "/eth/v1/node/health", b.health},
		{"GET", "/eth/v1/node/syncing", b.syncing},
		{"GET", "/eth/v1/node/version", b.version},
		{"GET", "/eth/v1/node/peers", b.peers},
		{"GET", "/eth/v1/node/peer_count", b.peerCount},
		{"GET", "/eth/v1/node/identity", b.identity},
		{"GET", "/eth/v1/beacon/genesis", b.genesis},
		{"GET", "/eth/v1/config/spec", b.spec},
		{"GET", "/eth/v1/config/fork_schedule", b.forkSchedule},
		{"GET", "/eth/v1/config/deposit_contract", b.depositContract},
	}
}

// blockRoutes are about blocks, their blobs and rewards, and the pools of operations.
func (b *Beacon) blockRoutes() []route {
	return []route{
		{"GET", "/eth/v1/beacon/headers", b.headers},
		{"GET", "/eth/v1/beacon/headers/{block_id}", b.header},
		{"GET", "/eth/v1/beacon/blocks/{block_id}/root", b.blockRoot},
		{"GET", "/eth/v2/beacon/blocks/{block_id}", b.block},
		{"POST", "/eth/v1/beacon/blocks", b.publishV1},
		{"POST", "/eth/v2/beacon/blocks", b.publish},
		{"POST", "/eth/v1/beacon/blinded_blocks", b.publishBlinded},
		{"POST", "/eth/v2/beacon/blinded_blocks", b.publishBlinded},
		{"GET", "/eth/v1/beacon/blobs/{block_id}", b.listBlobs},
		{"GET", "/eth/v1/beacon/blob_sidecars/{block_id}", b.blobSidecars},
		{"GET", "/eth/v1/beacon/rewards/blocks/{block_id}", b.blockRewards},
		{"POST", "/eth/v1/beacon/rewards/sync_committee/{block_id}", b.syncRewards},
		{"POST", "/eth/v1/beacon/rewards/attestations/{epoch}", b.attestationRewards},
		{"GET", "/eth/v1/beacon/pool/{pool}", knownPool(b.showPool)},
		{"POST", "/eth/v1/beacon/pool/{pool}", knownPool(b.addToPool)},
		{"GET", "/eth/v2/beacon/pool/{pool}", knownPool(b.showPool)},
		{"POST", "/eth/v2/beacon/pool/{pool}", knownPool(b.addToPool)},
	}
}

// stateRoutes are about states and the fork choice.
func (b *Beacon) stateRoutes() []route {
	return []route{
		{"GET", "/eth/v1/beacon/states/{state_id}/root", b.stateRootOf},
		{"GET", "/eth/v1/beacon/states/{state_id}/committees", b.committees},
		{"GET", "/eth/v1/beacon/states/{state_id}/sync_committees", b.syncCommittee},
		{"GET", "/eth/v1/beacon/states/{state_id}/validators/{validator_id}", b.validator},
		{"GET", "/eth/v1/beacon/states/{state_id}/validator_balances", b.balances},
		{"POST", "/eth/v1/beacon/states/{state_id}/validator_balances", b.balancesPosted},
		{"GET", "/eth/v1/beacon/states/{state_id}/pending_deposits", b.pendingNothing},
		{"GET", "/eth/v1/beacon/states/{state_id}/pending_consolidations", b.pendingNothing},
		{"GET", "/eth/v1/beacon/states/{state_id}/pending_partial_withdrawals", b.pendingNothing},
		{"GET", "/eth/v2/debug/beacon/states/{state_id}", b.debugState},
		{"GET", "/eth/v2/debug/beacon/heads", b.debugHeads},
		{"GET", "/eth/v1/debug/fork_choice", b.dumpForkChoice},
		{"GET", "/eth/v1/beacon/states/{state_id}/validators", b.validators},
		{"POST", "/eth/v1/beacon/states/{state_id}/validators", b.validatorsPosted},
		{"POST", "/eth/v1/beacon/states/{state_id}/validator_identities", b.identities},
		{"GET", "/eth/v1/beacon/states/{state_id}/proposer_lookahead", b.lookahead},
		{"GET", "/eth/v1/beacon/states/{state_id}/randao", b.randao},
		{"GET", "/eth/v1/beacon/states/{state_id}/fork", b.fork},
		{"GET", "/eth/v1/beacon/states/{state_id}/finality_checkpoints", b.finality},
	}
}

// validatorRoutes are what validators need: duties, blocks to sign, and events.
func (b *Beacon) validatorRoutes() []route {
	return []route{
		{"GET", "/eth/v1/validator/duties/proposer/{epoch}", b.dutiesV1},
		{"GET", "/eth/v2/validator/duties/proposer/{epoch}", b.dutiesV2},
		{"POST", "/eth/v1/validator/duties/attester/{epoch}", b.attesterDuties},
		{"POST", "/eth/v1/validator/duties/sync/{epoch}", b.syncDuties},
		{"POST", "/eth/v1/validator/liveness/{epoch}", b.liveness},
		{"GET", "/eth/v1/validator/attestation_data", b.attestationData},
		{"GET", "/eth/v2/validator/aggregate_attestation", b.aggregate},
		{"POST", "/eth/v2/validator/aggregate_and_proofs", b.subscribe},
		{"GET", "/eth/v1/validator/sync_committee_contribution", b.contribution},
		{"POST", "/eth/v1/validator/contribution_and_proofs", b.subscribe},
		{"POST", "/eth/v1/validator/beacon_committee_subscriptions", b.subscribe},
		{"POST", "/eth/v1/validator/sync_committee_subscriptions", b.subscribe},
		{"POST", "/eth/v1/validator/beacon_committee_selections", b.selections},
		{"POST", "/eth/v1/validator/sync_committee_selections", b.selections},
		{"POST", "/eth/v1/validator/register_validator", b.subscribe},
		{"POST", "/eth/v1/validator/prepare_beacon_proposer", b.prepare},
		{"GET", "/eth/v3/validator/blocks/{slot}", b.localBlock},
		{"GET", "/eth/v1/validator/blinded_blocks/{slot}", b.blindedBlock},
		{"GET", "/eth/v1/events", b.streamEvents},
	}
}

// gloasRoutes are those that gloas has brought.
func (b *Beacon) gloasRoutes() []route {
	return []route{
		{"POST", "/eth/v4/validator/blocks/{slot}", b.blockWithBid},
		{"GET", "/eth/v1/validator/execution_payload_envelopes/{slot}/{block_root}", b.ownEnvelope},
		{"POST", "/eth/v1/beacon/execution_payload_envelopes", b.publishEnvelope},
		{"GET", "/eth/v1/beacon/execution_payload_envelopes/{block_id}", b.envelope},
		{"POST", "/eth/v1/beacon/execution_payload_bids", b.publishBid},
		{"POST", "/eth/v1/validator/proposer_preferences", b.takePreferences},
		{"POST", "/eth/v1/validator/builder_preferences", b.forwardPreferences},
		{"POST", "/eth/v1/beacon/states/{state_id}/builders", b.listBuilders},
		{"GET", "/eth/v1/validator/payload_attestation_data", b.payloadAttestationData},
		{"POST", "/eth/v1/validator/duties/ptc/{epoch}", b.committeeDuties},
		{"GET", "/eth/v1/beacon/pool/payload_attestations", b.showPayloadAttestations},
		{"POST", "/eth/v1/beacon/pool/payload_attestations", b.takePayloadAttestations},
	}
}

// versionHeader names the fork of a body.
const versionHeader = "Eth-Consensus-Version"

const (
	mediaJSON = "application/json"
	mediaSSZ  = "application/octet-stream"
)

// data answers {"data":…} with extra members.
func data(w http.ResponseWriter, r *http.Request, value any, extra map[string]any) {
	document := map[string]any{"data": value}
	for name, member := range extra {
		document[name] = member
	}
	serve.JSON(w, r, http.StatusOK, document)
}

// settled returns the extra members of answers about a block, or about the state after it.
func (b *Beacon) settled(block *Block) map[string]any {
	return map[string]any{"execution_optimistic": false, "finalized": b.isFinal(block)}
}

// isFinal says whether a block is final, so that it can no longer leave the chain.
func (b *Beacon) isFinal(block *Block) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return block.Slot <= b.choice.final.Slot && b.choice.ancestor(b.choice.final, block.Slot) == block
}

func bad(format string, args ...any) problem {
	return problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func decimal[T ~uint64](n T) string { return strconv.FormatUint(uint64(n), 10) }

func hexOf(b []byte) string { return fmt.Sprintf("%#x", b) }

// pathNumber reads a number from the path.
func pathNumber(r *http.Request, name string) (uint64, error) {
	n, err := strconv.ParseUint(r.PathValue(name), 10, 63)
	if err != nil {
		return 0, bad("%s is %.40q: want a number", name, r.PathValue(name))
	}
	return n, nil
}

// find returns the block that an id names: head, genesis, finalized, a slot, or a root.
func (b *Beacon) find(id string) (*Block, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if block := b.named(id); block != nil {
		return block, nil
	}
	var root phase0.Root
	if eth.ParseHex(id, root[:]) == nil {
		if block, ok := b.choice.blocks[root]; ok {
			return block, nil
		}
		return nil, problem{http.StatusNotFound, "no block with this root"}
	}
	slot, err := strconv.ParseUint(id, 10, 63)
	if err != nil {
		return nil, bad("%.40q is no block: want head, genesis, finalized, a slot or a root", id)
	}
	if block, ok := b.choice.canonical(phase0.Slot(slot)); ok {
		return block, nil
	}
	return nil, problem{http.StatusNotFound, fmt.Sprintf("slot %d has no block", slot)}
}

// findState returns the block that belongs to a state's id: head, genesis, finalized, justified, a
// slot up to the present one, or a state's root. In contrast to a block, a state exists for a
// missed slot too: it belongs to the last block before.
func (b *Beacon) findState(id string) (*Block, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if block := b.named(id); block != nil {
		return block, nil
	}
	if id == "justified" {
		head := b.choice.head()
		return b.choice.checkpoint(head, b.cfg.Spec.EpochOf(head.Slot), 1), nil
	}
	var root phase0.Root
	if eth.ParseHex(id, root[:]) == nil {
		for _, block := range b.choice.blocks {
			if block.header.Message.StateRoot == root {
				return block, nil
			}
		}
		return nil, problem{http.StatusNotFound, "no state with this root"}
	}
	slot, err := strconv.ParseUint(id, 10, 63)
	if err != nil {
		return nil, bad("%.40q is no state: want head, genesis, finalized, justified, a slot or a root", id)
	}
	if now := b.cfg.Spec.SlotAt(b.cfg.Clock.Now()); phase0.Slot(slot) > now {
		return nil, problem{http.StatusNotFound, fmt.Sprintf("slot %d has not begun: it is slot %d", slot, now)}
	}
	return b.choice.ancestor(b.choice.head(), phase0.Slot(slot)), nil
}

// named returns the block for a name that is allowed for blocks and states, or nil. The caller
// holds mu.
func (b *Beacon) named(id string) *Block {
	switch id {
	case "head":
		return b.choice.head()
	case "genesis":
		return b.choice.genesis
	case "finalized":
		return b.choice.final
	}
	return nil
}

// forkOf reads the version header.
func forkOf(r *http.Request) (eth.Fork, error) {
	fork, err := eth.ParseFork(r.Header.Get(versionHeader))
	if err != nil {
		return 0, bad("%s: %v", versionHeader, err)
	}
	if _, err := forms.Of(fork, "blocks"); err != nil {
		return 0, bad("%s: this node has no blocks of %s", versionHeader, fork)
	}
	return fork, nil
}
