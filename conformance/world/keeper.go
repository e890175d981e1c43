package world

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
)

// keep proposes a local block in each slot that no spec has reserved, so that the chain grows.
func (w *World) keep(ctx context.Context) error {
	for slot := phase0.Slot(1); ; slot++ {
		if w.cfg.Clock.Until(ctx, w.network.Spec.SlotStart(slot)) != nil {
			return nil
		}
		w.mu.Lock()
		reserved := w.reserved[slot]
		delete(w.reserved, slot)
		w.mu.Unlock()
		if reserved || w.cfg.Clock.Now().Sub(w.network.Spec.SlotStart(slot)) > w.cfg.Slot/2 {
			continue
		}
		propose := w.propose
		if w.isGloas(slot) {
			propose = w.proposeGloas
		}
		if err := propose(ctx, slot); err != nil && ctx.Err() == nil {
			w.cfg.Log.Warn("the world missed a slot", "slot", slot, "error", err)
		}
	}
}

// propose makes, signs and publishes the local block of a slot. It uses the Beacon API, as a
// validator client does.
func (w *World) propose(ctx context.Context, slot phase0.Slot) error {
	index, _ := w.network.Beacon.Duty(slot)
	key := w.keys[index]
	made, err := w.client.Do(ctx, probe.Request{
		Method: http.MethodGet, Path: fmt.Sprintf("/eth/v3/validator/blocks/%d?randao_reveal=%#x", slot, w.reveal(key, slot)),
		Header: map[string]string{"Accept": "application/octet-stream"},
	})
	if err != nil {
		return fmt.Errorf("make a local block: %w", err)
	}
	if made.Status != http.StatusOK {
		return fmt.Errorf("make a local block: %v", made)
	}
	raw, err := w.sign(key, slot, made.Body)
	if err != nil {
		return err
	}
	published, err := w.client.Do(ctx, probe.Request{
		Method: http.MethodPost, Path: "/eth/v2/beacon/blocks", Body: raw,
		Header: map[string]string{"Content-Type": "application/octet-stream",
			"Eth-Consensus-Version": w.Spec().ForkAt(slot).String()},
	})
	if err != nil {
		return fmt.Errorf("publish a local block: %w", err)
	}
	if published.Status != http.StatusOK {
		return fmt.Errorf("publish a local block: %v", published)
	}
	return nil
}

// sign signs block contents with the proposer's key.
func (w *World) sign(key *probe.BLSKey, slot phase0.Slot, contents []byte) ([]byte, error) {
	local, err := probe.ReadLocal(w.Spec().ForkAt(slot), contents)
	if err != nil {
		return nil, err
	}
	root, err := local.Root()
	if err != nil {
		return nil, err
	}
	return local.Signed(key.Sign(probe.SigningRoot(root, w.domain(probe.DomainProposer, slot))))
}

func (w *World) domain(purpose phase0.DomainType, slot phase0.Slot) phase0.Domain {
	return probe.Domain(purpose, w.network.Spec.ForkPointAt(w.network.Spec.EpochOf(slot)).Version,
		w.network.Spec.GenesisValidatorsRoot)
}

// reveal returns the proposer's RANDAO reveal for the epoch of its slot.
func (w *World) reveal(key *probe.BLSKey, slot phase0.Slot) []byte {
	var epoch phase0.Root
	binary.LittleEndian.PutUint64(epoch[:], uint64(w.network.Spec.EpochOf(slot)))
	signature := key.Sign(probe.SigningRoot(epoch, w.domain(probe.DomainRandao, slot)))
	return signature[:]
}
