package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay/app"
)

// A proposer is given a block at 1,000, which another builder has brought at 500 before. Whether
// the relay is stopped or killed before the proposer signs: the delivery is listed at what was
// signed for, by whom it was promised.
func TestGivenOutlivesTheProcess(t *testing.T) {
	for name, killed := range map[string]bool{"stopped": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir() // before the relay, which is closed before it is removed
			h := newRelay(t, eth.Fulu, relayOptions{configure: func(c *app.Config) {
				trusting(c)
				c.DataDir = folder
			}})
			h.into(0)
			end := func() { must(t, h.stopRelay()) }
			if killed {
				end()
				end = h.startVictim(t, folder)
				poll(t, "the relay learns the slot's attributes", func() bool {
					return h.submit(t, h.worth(t, 1, 1)).status == http.StatusOK
				})
			}
			first, last := h.worth(t, 1, 1000), h.worth(t, 1, 2)
			first.trace.Value = uint256.NewInt(500)
			first.sign()
			dearer, trace := *first, *first.trace
			dearer.trace, dearer.key = &trace, builderKeys[0]
			dearer.trace.Value = uint256.NewInt(1000)
			dearer.sign()
			h.submitted(t, first)
			h.wantTop(t, first)
			h.submitted(t, &dearer)
			served := h.header(t)
			if served.Data.Message.Value != "1000" {
				t.Fatalf("served at %s", served.Data.Message.Value)
			}
			block := h.blind(t, served)
			h.submitted(t, last) // what is listed of it was kept after the header
			poll(t, "the served header is kept", func() bool {
				return len(h.listed(t, fmt.Sprintf("%s?block_hash=%#x", receivedPath, last.payload.BlockHash[:]))) > 0
			})
			end()
			h.startRelay(t)
			h.reveal(t, v2Path, block).wantStatus(t, http.StatusAccepted)
			var list []struct {
				Value         string `json:"value"`
				BuilderPubkey string `json:"builder_pubkey"`
				FeeRecipient  string `json:"proposer_fee_recipient"`
			}
			poll(t, "the delivery is listed", func() bool {
				must(t, json.Unmarshal(h.get(t, deliveredPath, nil).body, &list))
				return len(list) == 1
			})
			if got := list[0]; got.Value != "1000" || got.BuilderPubkey != builderKeys[0].PublicKey().String() ||
				!strings.EqualFold(got.FeeRecipient, trace.ProposerFeeRecipient.String()) {
				t.Errorf("listed as %+v, want alpha's 1000", got)
			}
		})
	}
}

// believing takes every block for valid that pays bluffWei at most: a process of its own has not
// the test's chain.
type believing struct{}

// bluffWei is what no block of a test pays.
const bluffWei = 500_000

func (believing) Validate(_ context.Context, block *exec.Block) exec.Verdict {
	if block.ValueWei.CmpUint64(bluffWei) > 0 {
		return exec.Verdict{Class: exec.Invalid, Rule: exec.RulePayment, Detail: "it pays less"}
	}
	return exec.Verdict{Class: exec.Valid}
}
