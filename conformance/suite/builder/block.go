package builder

import (
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/internal/eth"
)

// describeBlocks adds specs about the payload of a submission: is it what the beacon node
// announced, executes, and pays.
func describeBlocks(s *suite.Set) {
	judgeContent(s, "BLD-BLK-01", "builds on a parent that the beacon node has announced", func(t *suite.T,
		s *scripted.Submission) *finding {
		list := t.Auctions.Attributes(s.Slot)
		if len(list) == 0 {
			return nil
		}
		if _, known := t.Auctions.AttributesOn(s.Slot, s.Block.ExecutionPayload.ParentHash); known {
			return nil
		}
		return compareField("parent_hash", list[len(list)-1].ParentHash, s.Block.ExecutionPayload.ParentHash)
	})
	judgeOnAnnounced(s, "BLD-BLK-02", "has the number after its parent's", func(_ *suite.T,
		at eth.PayloadAttributes, s *scripted.Submission) *finding {
		return compareField("block_number", at.ParentNumber+1, s.Block.ExecutionPayload.BlockNumber)
	})
	judgeOnAnnounced(s, "BLD-BLK-03", "has the slot's timestamp", func(_ *suite.T,
		at eth.PayloadAttributes, s *scripted.Submission) *finding {
		return compareField("timestamp", at.Timestamp, s.Block.ExecutionPayload.Timestamp)
	})
	judgeOnAnnounced(s, "BLD-BLK-04", "has the announced prev_randao", func(_ *suite.T,
		at eth.PayloadAttributes, s *scripted.Submission) *finding {
		return compareField("prev_randao", common.Hash(at.PrevRandao), common.Hash(s.Block.ExecutionPayload.PrevRandao))
	})
	judgeOnAnnounced(s, "BLD-BLK-05", "has the announced withdrawals", func(_ *suite.T,
		at eth.PayloadAttributes, s *scripted.Submission) *finding {
		if !s.Fork.HasWithdrawals() {
			return nil
		}
		return compareField("withdrawals", fmt.Sprint(at.Withdrawals), fmt.Sprint(s.Block.ExecutionPayload.Withdrawals))
	})
	judgeOnAnnounced(s, "BLD-BLK-06", "has the hash that follows from its content", func(_ *suite.T,
		at eth.PayloadAttributes, s *scripted.Submission) *finding {
		hash, err := probe.BlockHash(s.Fork, s.Block, at.ParentRoot)
		if err != nil {
			return &finding{"a payload of which a block can be made", err.Error()}
		}
		return compareField("block_hash", hash, s.Block.ExecutionPayload.BlockHash)
	})
	judgeOnAnnounced(s, "BLD-BLK-07", "executes", func(t *suite.T, _ eth.PayloadAttributes,
		s *scripted.Submission) *finding {
		if verdict := simulateBlock(t, s); verdict.Refused != "" && !concernsBlobs(verdict) {
			return &finding{"a block that the world's node executes", verdict.Refused}
		}
		return nil
	})
	judgeOnAnnounced(s, "BLD-BLK-08", "pays the fee recipient what the message says", func(t *suite.T,
		_ eth.PayloadAttributes, s *scripted.Submission) *finding {
		verdict := simulateBlock(t, s)
		if verdict.Refused != "" {
			return nil
		}
		paid, err := uint256.FromDecimal(verdict.PaidWei)
		t.Ready(err, "read what a block pays")
		if paid.Lt(s.Block.Message.Value) {
			return &finding{fmt.Sprintf("%s wei for %s", s.Block.Message.Value.Dec(), s.Block.Message.ProposerFeeRecipient),
				paid.Dec()}
		}
		return nil
	})
	judgeOnAnnounced(s, "BLD-BLK-09", "moves the gas limit towards the registered one", func(t *suite.T,
		_ eth.PayloadAttributes, s *scripted.Submission) *finding {
		index, _, known := t.Auctions.Proposer(s.Slot)
		if !known || !t.Auctions.Listed(s.Slot) {
			return nil
		}
		parent, err := t.Auctions.ParentGasLimit(t, s.Block.ExecutionPayload.ParentHash)
		t.Ready(err, "ask for the parent's gas limit")
		var f *finding
		for _, one := range t.Auctions.Registrations(index) {
			if f = compareField("gas_limit", eth.ExpectedGasLimit(parent, one.GasLimit),
				s.Block.ExecutionPayload.GasLimit); f == nil {
				return nil
			}
		}
		return f
	})
	judgeContent(s, "BLD-BLK-10", "bids more than nothing", func(_ *suite.T, s *scripted.Submission) *finding {
		if s.Block.Message.Value.IsZero() {
			return &finding{"a value above 0", "0"}
		}
		return nil
	})
}

// simulateBlock returns what the world's node says of a submission's block, which is on an
// announced parent.
func simulateBlock(t *suite.T, s *scripted.Submission) scripted.Verdict {
	verdict := t.Auctions.Validate(t, s)
	t.Ready(verdict.Err, "ask the world's validation node")
	return verdict
}

func concernsBlobs(v scripted.Verdict) bool { return strings.HasPrefix(v.Refused, "blobs:") }
