package beacon

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
)

// maxIDs is how many ids a GET may name (beacon-APIs, getStateValidators).
const maxIDs = 64

// The balance of every validator, as text and as a number, in Gwei.
const (
	validatorBalance = "32000000000"
	validatorGwei    = 32_000_000_000
)

// credentialsOf returns a validator's withdrawal credentials, those of an account (0x01).
func credentialsOf(index int) []byte {
	address := withdrawalAddress(phase0.ValidatorIndex(index))
	return append(append([]byte{1}, make([]byte, 11)...), address[:]...)
}

// validatorOf returns a row of the validator table. All validators are active, and stay so.
func (b *Beacon) validatorOf(index int) map[string]any {
	pubkey := b.keys[index].PublicKey()
	return map[string]any{
		"index": strconv.Itoa(index), "balance": validatorBalance, "status": "active_ongoing",
		"validator": map[string]any{
			"pubkey": hexOf(pubkey[:]), "withdrawal_credentials": hexOf(credentialsOf(index)),
			"effective_balance": validatorBalance, "slashed": false,
			"activation_eligibility_epoch": "0", "activation_epoch": "0", "exit_epoch": decimal(farFuture),
			"withdrawable_epoch": decimal(farFuture),
		},
	}
}

func (b *Beacon) validators(w http.ResponseWriter, r *http.Request) {
	ids, statuses := queryList(r, "id"), queryList(r, "status")
	if len(ids) > maxIDs {
		serve.Refuse(w, r, problem{http.StatusRequestURITooLong, fmt.Sprintf("%d ids, at most %d: use POST",
			len(ids), maxIDs)})
		return
	}
	b.listValidators(w, r, ids, statuses)
}

func (b *Beacon) validatorsPosted(w http.ResponseWriter, r *http.Request) {
	var body struct {
		IDs      []string `json:"ids"`
		Statuses []string `json:"statuses"`
	}
	if !readJSON(w, r, &body) {
		return
	}
	b.listValidators(w, r, body.IDs, body.Statuses)
}

func (b *Beacon) listValidators(w http.ResponseWriter, r *http.Request, ids, statuses []string) {
	state, err := b.findState(r.PathValue("state_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	list := []any{}
	if active := len(statuses) == 0 || slices.Contains(statuses, "active") ||
		slices.Contains(statuses, "active_ongoing"); active {
		indices, err := b.indices(ids)
		if err != nil {
			serve.Refuse(w, r, err)
			return
		}
		for _, index := range indices {
			list = append(list, b.validatorOf(index))
		}
	}
	data(w, r, list, b.settled(state))
}

// indices returns the validators that ids name, by index or public key, or all without ids. Unknown
// ones are left out.
func (b *Beacon) indices(ids []string) ([]int, error) {
	var list []int
	if len(ids) == 0 {
		for i := range b.keys {
			list = append(list, i)
		}
		return list, nil
	}
	for _, id := range ids {
		var pubkey phase0.BLSPubKey
		if eth.ParseHex(id, pubkey[:]) == nil {
			for i, key := range b.keys {
				if key.PublicKey() == pubkey {
					list = append(list, i)
				}
			}
			continue
		}
		index, err := strconv.ParseUint(id, 10, 63)
		if err != nil {
			return nil, bad("%.120q is no validator: want an index or a public key", id)
		}
		if index < uint64(len(b.keys)) {
			list = append(list, int(index))
		}
	}
	return list, nil
}

// identities answers with the small validator table: index, key and activation epoch, 64 bytes each
// in SSZ.
func (b *Beacon) identities(w http.ResponseWriter, r *http.Request) {
	var ids []string
	if !readJSON(w, r, &ids) {
		return
	}
	media, ok := serve.Negotiate(r, mediaJSON, mediaSSZ)
	if !ok {
		serve.Refuse(w, r, problem{http.StatusNotAcceptable, "only JSON and SSZ are produced"})
		return
	}
	state, err := b.findState(r.PathValue("state_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	indices, err := b.indices(ids)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	list, raw := []any{}, []byte{}
	for _, index := range indices {
		pubkey := b.keys[index].PublicKey()
		list = append(list, map[string]string{"index": strconv.Itoa(index), "pubkey": hexOf(pubkey[:]),
			"activation_epoch": "0"})
		raw = binary.LittleEndian.AppendUint64(raw, uint64(index))
		raw = append(raw, pubkey[:]...)
		raw = binary.LittleEndian.AppendUint64(raw, 0)
	}
	if media == mediaSSZ {
		serve.Bytes(w, http.StatusOK, mediaSSZ, raw)
		return
	}
	data(w, r, list, b.settled(state))
}

// lookahead lists the proposers of the state's epoch and the next one (fulu and later).
func (b *Beacon) lookahead(w http.ResponseWriter, r *http.Request) {
	media, ok := serve.Negotiate(r, mediaJSON, mediaSSZ)
	if !ok {
		serve.Refuse(w, r, problem{http.StatusNotAcceptable, "only JSON and SSZ are produced"})
		return
	}
	block, err := b.findState(r.PathValue("state_id"))
	if err == nil && !b.cfg.Spec.ForkAt(block.Slot).HasLookahead() {
		err = bad("there is no proposer lookahead before fulu")
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	first := b.cfg.Spec.FirstSlot(b.cfg.Spec.EpochOf(block.Slot))
	list, raw := []string{}, []byte{}
	for slot := first; slot < first+phase0.Slot(2*b.cfg.Spec.SlotsPerEpoch); slot++ {
		index := b.schedule.proposer(slot)
		list = append(list, decimal(index))
		raw = binary.LittleEndian.AppendUint64(raw, uint64(index))
	}
	w.Header().Set(versionHeader, block.Fork.String())
	if media == mediaSSZ {
		serve.Bytes(w, http.StatusOK, mediaSSZ, raw)
		return
	}
	extra := b.settled(block)
	extra["version"] = block.Fork.String()
	data(w, r, list, extra)
}

// randao answers with the mix after the state's block. With ?epoch= it is the mix at the end of
// that epoch, which may not be later than the state's own.
func (b *Beacon) randao(w http.ResponseWriter, r *http.Request) {
	block, err := b.findState(r.PathValue("state_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	mixed := block
	if text := r.URL.Query().Get("epoch"); text != "" {
		epoch, err := strconv.ParseUint(text, 10, 63)
		if own := b.cfg.Spec.EpochOf(block.Slot); err != nil || phase0.Epoch(epoch) > own {
			serve.Refuse(w, r, bad("epoch is %.40q: want one up to the state's own, %d", text, own))
			return
		}
		b.mu.RLock()
		mixed = b.choice.ancestor(block, b.cfg.Spec.FirstSlot(phase0.Epoch(epoch)+1)-1)
		b.mu.RUnlock()
	}
	data(w, r, map[string]string{"randao": hexOf(mixed.randao[:])}, b.settled(block))
}

func (b *Beacon) fork(w http.ResponseWriter, r *http.Request) {
	block, err := b.findState(r.PathValue("state_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	spec, previous := b.cfg.Spec, b.cfg.Spec.GenesisForkVersion
	current := spec.ForkPointAt(spec.EpochOf(block.Slot))
	for _, point := range spec.Forks {
		if !point.Fork.Includes(current.Fork) {
			previous = point.Version
		}
	}
	data(w, r, map[string]string{
		"previous_version": hexOf(previous[:]), "current_version": hexOf(current.Version[:]), "epoch": decimal(current.Epoch),
	}, b.settled(block))
}

// finality answers with checkpoints. Finality is two epochs behind without votes: each checkpoint
// is the block with which its epoch begins.
func (b *Beacon) finality(w http.ResponseWriter, r *http.Request) {
	block, err := b.findState(r.PathValue("state_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	epoch := b.cfg.Spec.EpochOf(block.Slot)
	checkpoint := func(before phase0.Epoch) map[string]string {
		b.mu.RLock()
		defer b.mu.RUnlock()
		root := b.choice.checkpoint(block, epoch, before).Root
		return map[string]string{"epoch": decimal(max(epoch, before) - before), "root": hexOf(root[:])}
	}
	finalized := checkpoint(finalAfter)
	finalized["epoch"] = decimal(b.finalEpoch(epoch))
	data(w, r, map[string]any{
		"previous_justified": checkpoint(finalAfter), "current_justified": checkpoint(1), "finalized": finalized,
	}, b.settled(block))
}

// maxRequest bounds JSON request bodies in bytes.
const maxRequest = 8 << 20

// readJSON reads a request's body. If it returns false, it has answered with a refusal.
func readJSON(w http.ResponseWriter, r *http.Request, into any) bool {
	if contentType, ok := serve.ContentType(r); !ok || contentType != mediaJSON {
		serve.Refuse(w, r, problem{http.StatusUnsupportedMediaType, "send application/json"})
		return false
	}
	raw, err := serve.ReadBody(w, r, maxRequest, "gzip")
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		serve.Refuse(w, r, bad("decode request: %v", err))
		return false
	}
	return true
}
