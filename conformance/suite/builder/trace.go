package builder

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// describeTrace adds specs about the message of a submission: does it agree with its payload, and
// with who proposes.
func describeTrace(s *suite.Set) {
	judgeContent(s, "BLD-MSG-01", "names the payload's block hash", func(_ *suite.T, s *scripted.Submission) *finding {
		return compareField("block_hash", s.Block.ExecutionPayload.BlockHash, s.Block.Message.BlockHash)
	})
	judgeContent(s, "BLD-MSG-02", "names the payload's parent", func(_ *suite.T, s *scripted.Submission) *finding {
		return compareField("parent_hash", s.Block.ExecutionPayload.ParentHash, s.Block.Message.ParentHash)
	})
	judgeContent(s, "BLD-MSG-03", "names the payload's gas limit", func(_ *suite.T, s *scripted.Submission) *finding {
		return compareField("gas_limit", s.Block.ExecutionPayload.GasLimit, s.Block.Message.GasLimit)
	})
	judgeContent(s, "BLD-MSG-04", "names the gas that the payload uses", func(_ *suite.T,
		s *scripted.Submission) *finding {
		return compareField("gas_used", s.Block.ExecutionPayload.GasUsed, s.Block.Message.GasUsed)
	})
	judgeContent(s, "BLD-MSG-05", "names the slot's proposer", func(t *suite.T, s *scripted.Submission) *finding {
		_, key, known := t.Auctions.Proposer(s.Slot)
		if !known {
			return nil // which slots may be bid for is another clause
		}
		return compareField("proposer_pubkey", key, s.Block.Message.ProposerPubkey)
	})
	judgeContent(s, "BLD-MSG-06", "names a fee recipient that the proposer has registered", func(t *suite.T,
		s *scripted.Submission) *finding {
		index, _, known := t.Auctions.Proposer(s.Slot)
		if !known || !t.Auctions.Listed(s.Slot) {
			return nil
		}
		list := t.Auctions.Registrations(index)
		for _, one := range list {
			if one.FeeRecipient == s.Block.Message.ProposerFeeRecipient {
				return nil
			}
		}
		return compareField("proposer_fee_recipient", list[len(list)-1].FeeRecipient, s.Block.Message.ProposerFeeRecipient)
	})
	judgeContent(s, "BLD-MSG-07", "names the slot in which the payload is to be proposed", func(t *suite.T,
		s *scripted.Submission) *finding {
		n := t.Auctions.Network
		if begin := uint64(n.Start(s.Slot).Unix()); begin != s.Block.ExecutionPayload.Timestamp {
			for _, one := range t.Auctions.Attributes(s.Slot) {
				if one.PrevRandao == s.Block.ExecutionPayload.PrevRandao {
					return nil // the slot is right, and the timestamp wrong, which is another clause
				}
			}
			return &finding{"the slot that begins at the payload's timestamp", fmt.Sprintf("slot %d, which begins at %d", s.Slot,
				begin)}
		}
		return nil
	})
}

// fromHex reads bytes of the world's facts, which are hexadecimal.
func fromHex(text string) []byte {
	raw, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		panic("a world with facts that are no hexadecimal: " + err.Error()) // Dial has read them
	}
	return raw
}
