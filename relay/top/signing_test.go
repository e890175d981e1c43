package top

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// A bid leads before the relay has signed its header. Who asks for the header in between waits for
// it, and a header that could not be signed is never served, nor told as served.
func TestHeaderWaitsForTheRelaysSignature(t *testing.T) {
	spec := &eth.Spec{GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32}
	key := relay.Key{Slot: 10, ParentHash: phase0.Hash32{1}}
	for name, fails := range map[string]error{"signed": nil, "signing fails": errors.New("no key")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				whole := &relay.SignedBid{Key: key, ValueWei: uint256.NewInt(7), BlockHash: phase0.Hash32{9}}
				facts := new(recorded)
				topBid := &Bids{Served: facts}
				topBid.Show(key, &relay.SignedBid{Key: key, ValueWei: uint256.NewInt(7), Signing: func() (*relay.SignedBid, error) {
					<-release
					if fails != nil {
						return nil, fails
					}
					return whole, nil
				}})
				headers := &Headers{Bids: topBid, Spec: spec, Head: fixedHead(9)}

				answered := make(chan *relay.SignedBid, 1)
				go func() {
					bid, err := headers.Header(t.Context(), spec.SlotStart(10), key, time.Time{})
					if err != nil {
						t.Errorf("error %v", err)
					}
					answered <- bid
				}()
				synctest.Wait()
				select {
				case bid := <-answered:
					t.Fatalf("answered %v before the header was signed", bid)
				default:
				}
				close(release)
				got := <-answered
				if fails != nil {
					if got != nil || len(*facts) != 0 {
						t.Fatalf("served %v, %d facts, though it was not signed", got, len(*facts))
					}
					return
				}
				if got != whole || len(*facts) != 1 || (*facts)[0].BlockHash != whole.BlockHash {
					t.Fatalf("served %v, facts %v; want the signed bid and one fact", got, *facts)
				}
			})
		})
	}
}
