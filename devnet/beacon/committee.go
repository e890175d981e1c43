package beacon

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/serve"
)

// syncCommitteeSize and syncSubcommittees are mainnet's (consensus-specs, SYNC_COMMITTEE_SIZE and
// SYNC_COMMITTEE_SUBNET_COUNT).
const (
	syncCommitteeSize = 512
	syncSubcommittees = 4
)

// committee lists the validators that attest in a slot: each one once an epoch, in one committee a
// slot. If there are fewer validators than slots, some committees are empty.
func (s schedule) committee(slot phase0.Slot, slotsPerEpoch uint64) []phase0.ValidatorIndex {
	epoch, place := uint64(slot)/slotsPerEpoch, uint64(slot)%slotsPerEpoch
	order := rand.New(rand.NewPCG(^s.seed, epoch)).Perm(int(s.validators))
	list := []phase0.ValidatorIndex{}
	for i := place; i < s.validators; i += slotsPerEpoch {
		list = append(list, phase0.ValidatorIndex(order[i]))
	}
	return list
}

// syncMember returns the validator at a place of the sync committee. All validators take places in
// turn, and the committee never changes.
func (s schedule) syncMember(place uint64) phase0.ValidatorIndex {
	return phase0.ValidatorIndex(place % s.validators)
}

// epochOf reads ?epoch=; the default is the state's own epoch. Epochs beyond the next one are
// refused.
func (b *Beacon) epochOf(r *http.Request, block *Block) (phase0.Epoch, error) {
	text := r.URL.Query().Get("epoch")
	if text == "" {
		return b.cfg.Spec.EpochOf(block.Slot), nil
	}
	epoch, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, bad("epoch is %.40q: want a number", text)
	}
	return phase0.Epoch(epoch), b.near(phase0.Epoch(epoch))
}

// near refuses epochs whose duties are not known yet: those after the next one.
func (b *Beacon) near(epoch phase0.Epoch) error {
	if current := b.epoch(); epoch > current+1 {
		return bad("epoch %d is too far ahead: it is epoch %d", epoch, current)
	}
	return nil
}

func (b *Beacon) epoch() phase0.Epoch {
	return b.cfg.Spec.EpochOf(b.cfg.Spec.SlotAt(b.cfg.Clock.Now()))
}

// slotsOf returns the slots of an epoch.
func (b *Beacon) slotsOf(epoch phase0.Epoch) []phase0.Slot {
	list := make([]phase0.Slot, b.cfg.Spec.SlotsPerEpoch)
	for i := range list {
		list[i] = b.cfg.Spec.FirstSlot(epoch) + phase0.Slot(i)
	}
	return list
}

// committees lists the committees of an epoch (beacon-APIs, getEpochCommittees).
func (b *Beacon) committees(w http.ResponseWriter, r *http.Request) {
	block, err := b.findState(r.PathValue("state_id"))
	var epoch phase0.Epoch
	if err == nil {
		epoch, err = b.epochOf(r, block)
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	query := r.URL.Query()
	list := []any{}
	for _, slot := range b.slotsOf(epoch) {
		if asked := query.Get("slot"); asked != "" && asked != decimal(slot) {
			continue
		}
		if asked := query.Get("index"); asked != "" && asked != "0" {
			continue
		}
		members := []string{}
		for _, index := range b.schedule.committee(slot, b.cfg.Spec.SlotsPerEpoch) {
			members = append(members, decimal(index))
		}
		list = append(list, map[string]any{"slot": decimal(slot), "index": "0", "validators": members})
	}
	data(w, r, list, b.settled(block))
}

// syncCommittee lists the sync committee (beacon-APIs, getEpochSyncCommittees).
func (b *Beacon) syncCommittee(w http.ResponseWriter, r *http.Request) {
	block, err := b.findState(r.PathValue("state_id"))
	if err == nil {
		_, err = b.epochOf(r, block)
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	members, groups := make([]string, syncCommitteeSize), make([][]string, syncSubcommittees)
	for place := range uint64(syncCommitteeSize) {
		members[place] = decimal(b.schedule.syncMember(place))
		group := place / (syncCommitteeSize / syncSubcommittees)
		groups[group] = append(groups[group], members[place])
	}
	data(w, r, map[string]any{"validators": members, "validator_aggregates": groups}, b.settled(block))
}

// attesterDuties lists when validators attest in an epoch (beacon-APIs, getAttesterDuties).
func (b *Beacon) attesterDuties(w http.ResponseWriter, r *http.Request) {
	epoch, asked, ok := b.askedDuties(w, r)
	if !ok {
		return
	}
	list := []any{}
	for _, slot := range b.slotsOf(epoch) {
		members := b.schedule.committee(slot, b.cfg.Spec.SlotsPerEpoch)
		for place, index := range members {
			if !asked[index] {
				continue
			}
			key := b.keys[index].PublicKey()
			list = append(list, map[string]string{
				"pubkey": hexOf(key[:]), "validator_index": decimal(index), "slot": decimal(slot),
				"committee_index": "0", "committees_at_slot": "1",
				"committee_length": strconv.Itoa(len(members)), "validator_committee_index": strconv.Itoa(place),
			})
		}
	}
	dependent := b.dependentRoot(b.Head(), max(epoch, 1)-1)
	data(w, r, list, map[string]any{"dependent_root": hexOf(dependent[:]), "execution_optimistic": false})
}

// syncDuties lists the places of validators in the sync committee (beacon-APIs,
// getSyncCommitteeDuties).
func (b *Beacon) syncDuties(w http.ResponseWriter, r *http.Request) {
	_, asked, ok := b.askedDuties(w, r)
	if !ok {
		return
	}
	places := map[phase0.ValidatorIndex][]string{}
	for place := range uint64(syncCommitteeSize) {
		index := b.schedule.syncMember(place)
		places[index] = append(places[index], strconv.FormatUint(place, 10))
	}
	list := []any{}
	for i, secret := range b.keys {
		index, key := phase0.ValidatorIndex(i), secret.PublicKey()
		if asked[index] && len(places[index]) > 0 {
			list = append(list, map[string]any{
				"pubkey": hexOf(key[:]), "validator_index": decimal(index),
				"validator_sync_committee_indices": places[index],
			})
		}
	}
	data(w, r, list, map[string]any{"execution_optimistic": false})
}

// liveness answers that every validator is live, if the epoch has begun (beacon-APIs, getLiveness).
func (b *Beacon) liveness(w http.ResponseWriter, r *http.Request) {
	epoch, asked, ok := b.askedDuties(w, r)
	if !ok {
		return
	}
	list := []any{}
	for i := range b.keys {
		if asked[phase0.ValidatorIndex(i)] {
			list = append(list, map[string]any{"index": strconv.Itoa(i), "is_live": epoch <= b.epoch()})
		}
	}
	data(w, r, list, nil)
}

// askedDuties reads an epoch from the path and validators' indices from the body. If ok is false,
// it has answered with a refusal.
func (b *Beacon) askedDuties(w http.ResponseWriter, r *http.Request) (
	epoch phase0.Epoch, asked map[phase0.ValidatorIndex]bool, ok bool,
) {
	number, err := pathNumber(r, "epoch")
	epoch = phase0.Epoch(number)
	if err == nil {
		err = b.near(epoch)
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return 0, nil, false
	}
	var ids []string
	if !readJSON(w, r, &ids) {
		return 0, nil, false
	}
	asked = map[phase0.ValidatorIndex]bool{}
	for _, id := range ids {
		index, err := strconv.ParseUint(id, 10, 63)
		if err != nil {
			serve.Refuse(w, r, bad("%.40q is no validator's index", id))
			return 0, nil, false
		}
		asked[phase0.ValidatorIndex(index)] = true
	}
	return epoch, asked, true
}

// subscribe accepts what validators announce about their duties and does nothing with it:
// committees vote by themselves here, and the node has no peers.
func (b *Beacon) subscribe(w http.ResponseWriter, r *http.Request) {
	var list []any
	if readJSON(w, r, &list) {
		w.WriteHeader(http.StatusOK)
	}
}

// selections returns the selection proofs unchanged, as a node without distributed validators does
// (beacon-APIs, submitBeaconCommitteeSelections and submitSyncCommitteeSelections).
func (b *Beacon) selections(w http.ResponseWriter, r *http.Request) {
	list := []any{}
	if readJSON(w, r, &list) {
		data(w, r, list, nil)
	}
}

// querySlot reads ?slot=, which may not be later than the present slot.
func (b *Beacon) querySlot(r *http.Request) (phase0.Slot, error) {
	text := r.URL.Query().Get("slot")
	slot, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, bad("slot is %.40q: want a number", text)
	}
	if now := b.cfg.Spec.SlotAt(b.cfg.Clock.Now()); phase0.Slot(slot) > now {
		return 0, problem{http.StatusNotFound, fmt.Sprintf("slot %d has not begun: it is slot %d", slot, now)}
	}
	return phase0.Slot(slot), nil
}
