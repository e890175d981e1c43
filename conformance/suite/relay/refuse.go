package relay

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
)

// describeRuleBreaks adds specs about POST /relay/v1/builder/blocks, for blocks that must be
// refused, or at least not be served. Each spec makes one thing wrong and signs the result, so that
// nothing else is wrong.
func describeRuleBreaks(r *specs) {
	// spoiled adds a spec that makes a valid block wrong, signs it and submits it. The block must
	// be refused with 400 and not be served.
	spoiled := func(id, title string, spoil func(t *suite.T, a *auction, s *submission)) {
		r.It(id, title, func(t *suite.T) {
			a := r.open(t)
			a.prepareBid()
			s := a.block("a", gwei(1000))
			spoil(t, a, s)
			a.checkRefused(s.sign())
		})
	}
	r.It("REL-SUB-04", "refuses the signature of another key", func(t *suite.T) {
		a := r.open(t)
		a.prepareBid()
		s := a.block("a", gwei(1000))
		s.key = probe.DeriveBLSKey("somebody else")
		a.checkRefused(s.sign())
	})
	r.It("REL-SUB-04", "refuses a value that was raised after signing", func(t *suite.T) {
		a := r.open(t)
		a.prepareBid()
		s := a.block("a", gwei(1000))
		s.Message.Value.AddUint64(s.Message.Value, 1)
		a.checkRefused(s)
	})
	spoiled("REL-SUB-05", "refuses another block_hash in the message", func(_ *suite.T, _ *auction, s *submission) {
		s.Message.BlockHash[3] ^= 1
	})
	spoiled("REL-SUB-05", "refuses a block_hash with another last byte in the message",
		func(_ *suite.T, _ *auction, s *submission) { s.Message.BlockHash[31] ^= 1 })
	spoiled("REL-SUB-06", "refuses another parent_hash in the message", func(_ *suite.T, _ *auction, s *submission) {
		s.Message.ParentHash[3] ^= 1
	})
	spoiled("REL-SUB-07", "refuses another gas_limit in the message", func(_ *suite.T, _ *auction, s *submission) {
		s.Message.GasLimit++
	})
	spoiled("REL-SUB-08", "refuses another gas_used in the message", func(_ *suite.T, _ *auction, s *submission) {
		s.Message.GasUsed++
	})
	r.It("REL-SUB-08", "refuses a lower gas_used in the message", func(t *suite.T) {
		a := r.open(t)
		a.prepareBid()
		s := a.block("a", gwei(1000))
		s.Message.GasUsed--
		a.checkRefused(s.sign())
	})
	spoiled("REL-SUB-09", "refuses another fee recipient", func(_ *suite.T, _ *auction, s *submission) {
		s.Message.ProposerFeeRecipient[3] ^= 1
	})
	for _, place := range []int{0, 19} {
		r.It("REL-SUB-09", fmt.Sprintf("refuses a block that pays another fee recipient, who differs in byte %d", place),
			func(t *suite.T) {
				a := r.open(t)
				a.prepareBid()
				a.feeRecipient[place] ^= 1
				a.checkRefused(a.block("a", gwei(1000)))
			})
	}
	spoiled("REL-SUB-10", "refuses another proposer", func(t *suite.T, a *auction, s *submission) {
		for _, key := range r.validators(t) {
			if key.Public != a.proposer.Public {
				s.Message.ProposerPubkey = key.Public
				return
			}
		}
	})
	spoiled("REL-SUB-11", "refuses a slot that is over", func(_ *suite.T, a *auction, s *submission) {
		s.Message.Slot--
		s.ExecutionPayload.Timestamp -= uint64(a.t.World.Facts.SlotMs / 1000)
		s.rehash()
	})
	r.It("REL-SUB-12", "refuses a slot of a proposer that never registered", func(t *suite.T) {
		a := r.openFor(t, world.Wanted{Kind: world.Stranger})
		t.Status(a.submit(a.block("a", gwei(1000))), http.StatusBadRequest)
	})
	spoiled("REL-SUB-13", "refuses another timestamp", func(_ *suite.T, _ *auction, s *submission) {
		s.ExecutionPayload.Timestamp++
		s.rehash()
	})
	// The block executes, so that nothing else is wrong with it.
	r.It("REL-SUB-13", "refuses a valid block that was built for the next slot's time", func(t *suite.T) {
		a := r.open(t)
		a.prepareBid()
		next := *a.slot
		next.Slot++
		a.checkRefused(a.blockInOrder("a", gwei(1000), world.Order{Slot: next, GasLimit: gasLimit}))
	})
	for place, name := range map[int]string{3: "another prev_randao", 31: "a prev_randao with another last byte"} {
		spoiled("REL-SUB-14", "refuses "+name, func(_ *suite.T, _ *auction, s *submission) {
			s.ExecutionPayload.PrevRandao[place] ^= 1
			s.rehash()
		})
	}
	spoiled("REL-SUB-15", "refuses withdrawals that lack one", func(t *suite.T, _ *auction, s *submission) {
		requireFork(t, eth.Capella, "withdrawals")
		if len(s.ExecutionPayload.Withdrawals) == 0 {
			t.Inconclusive("the slot has no withdrawals")
		}
		s.ExecutionPayload.Withdrawals = s.ExecutionPayload.Withdrawals[1:]
		s.rehash()
	})
	spoiled("REL-SUB-15", "refuses a withdrawal of another amount", func(t *suite.T, _ *auction, s *submission) {
		requireFork(t, eth.Capella, "withdrawals")
		if len(s.ExecutionPayload.Withdrawals) == 0 {
			t.Inconclusive("the slot has no withdrawals")
		}
		one := *s.ExecutionPayload.Withdrawals[0]
		one.Amount++
		s.ExecutionPayload.Withdrawals[0] = &one
		s.rehash()
	})
	spoiled("REL-SUB-15", "refuses withdrawals in another order", func(t *suite.T, _ *auction, s *submission) {
		requireFork(t, eth.Capella, "withdrawals")
		if len(s.ExecutionPayload.Withdrawals) < 2 {
			t.NotRun("the slot has fewer than two withdrawals")
		}
		slices.Reverse(s.ExecutionPayload.Withdrawals)
		s.rehash()
	})
	// Neither of the two fields is part of the execution layer's state, so that nothing else is wrong
	// with the block.
	for name, change := range map[string]func(w *capella.Withdrawal){
		"index": func(w *capella.Withdrawal) { w.Index++ }, "validator": func(w *capella.Withdrawal) { w.ValidatorIndex++ },
	} {
		r.It("REL-SUB-15", "refuses a withdrawal with another "+name, func(t *suite.T) {
			requireFork(t, eth.Capella, "withdrawals")
			a := r.open(t)
			a.prepareBid()
			s := a.block("a", gwei(1000))
			if len(s.ExecutionPayload.Withdrawals) == 0 {
				t.Inconclusive("the slot has no withdrawals")
			}
			last := len(s.ExecutionPayload.Withdrawals) - 1
			changed := *s.ExecutionPayload.Withdrawals[last]
			change(&changed)
			s.ExecutionPayload.Withdrawals[last] = &changed
			s.rehash()
			a.checkRefused(s.sign())
		})
	}
	spoiled("REL-SUB-30", "refuses a parent that the chain does not have", func(_ *suite.T, _ *auction, s *submission) {
		s.ExecutionPayload.ParentHash[3] ^= 1
		s.Message.ParentHash = s.ExecutionPayload.ParentHash
		s.rehash()
	})
	spoiled("REL-SUB-18", "refuses a block hash that is not the payload's", func(_ *suite.T, _ *auction, s *submission) {
		s.ExecutionPayload.BlockHash[3] ^= 1
		s.Message.BlockHash = s.ExecutionPayload.BlockHash
	})
	spoiled("REL-SUB-28", "refuses a commitment without a blob", func(t *suite.T, _ *auction, s *submission) {
		requireFork(t, eth.Deneb, "blobs")
		s.BlobsBundle.Commitments = append(s.BlobsBundle.Commitments, deneb.KZGCommitment{0xc0})
	})
	spoiled("REL-SUB-28", "refuses proofs without a blob", func(t *suite.T, _ *auction, s *submission) {
		requireFork(t, eth.Deneb, "blobs")
		s.BlobsBundle.Proofs = append(s.BlobsBundle.Proofs, make([]deneb.KZGProof, 128)...)
	})
	r.It("REL-SUB-28", "refuses a second blob with the proofs of the first", func(t *suite.T) {
		a := r.open(t)
		requireFork(t, eth.Deneb, "blobs")
		a.prepareBid()
		s := a.blockWith("a", gwei(1000), 2, gasLimit)
		half := len(s.BlobsBundle.Proofs) / 2
		copy(s.BlobsBundle.Proofs[half:], s.BlobsBundle.Proofs[:half])
		a.checkRefused(s)
	})
	r.It("REL-SUB-29", "refuses the version of another fork", func(t *suite.T) {
		a := r.open(t)
		a.prepareBid()
		s := a.block("a", gwei(1000))
		request := post(submitPath, sszType, s.ssz())
		if request.Header["Eth-Consensus-Version"] = "deneb"; a.fork().String() == "deneb" {
			request.Header["Eth-Consensus-Version"] = "electra"
		}
		answer := t.Do(builderAPI(t), request)
		allowUnsupported(t, answer, "SSZ")
		t.Status(answer, http.StatusBadRequest)
		a.checkNotServed(s)
	})
	for _, value := range []string{"-1", "0x10", "", "1e3",
		"115792089237316195423570985008687907853269984665640564039457584007913129639936"} {
		r.It("REL-SUB-34", "refuses a value of "+strconvQuote(value), func(t *suite.T) {
			a := r.open(t)
			a.prepareBid()
			var document map[string]any
			t.Ready(json.Unmarshal(a.block("a", gwei(1000)).json(), &document), "read a submission")
			message, _ := document["message"].(map[string]any)
			message["value"] = value
			t.Status(t.Do(builderAPI(t), post(submitPath, jsonType, encode(t, document))), http.StatusBadRequest)
		})
	}
	r.It("REL-SUB-34", "refuses a value that is the right one and 2^256", func(t *suite.T) {
		a := r.open(t)
		a.prepareBid()
		s := a.block("a", gwei(1000))
		var document map[string]any
		t.Ready(json.Unmarshal(s.json(), &document), "read a submission")
		message, _ := document["message"].(map[string]any)
		message["value"] = new(big.Int).Add(s.Message.Value.ToBig(), new(big.Int).Lsh(big.NewInt(1), 256)).String()
		t.Status(t.Do(builderAPI(t), post(submitPath, jsonType, encode(t, document))), http.StatusBadRequest)
		a.checkNotServed(s)
	})
	describeExecutionMistakes(r)
}

func strconvQuote(text string) string { return `"` + text + `"` }

// describeExecutionMistakes adds specs about mistakes that only the execution of the block can
// find.
func describeExecutionMistakes(r *specs) {
	// wrong adds a spec with a block that must never be served, whatever the answer to its
	// submission. A good block of lower value is submitted as well, and must be served.
	wrong := func(id, title string, spoil func(s *submission)) {
		r.It(id, title, func(t *suite.T) {
			a := r.open(t)
			if id == "REL-SUB-35" {
				requireFork(t, eth.Electra, "execution requests")
			}
			good, bad := a.block("a", gwei(1000)), a.block("b", gwei(2000))
			spoil(bad)
			bad.sign()
			a.prepareSubmitted(good)
			answer := a.submit(bad)
			t.Check(answer.Status < 500, "a status below 500", answer)
			if answer.Status == http.StatusOK {
				t.Lenient("the block was taken before it was executed")
			}
			err := t.Eventually(t.Target.Budgets.Settle(), func() error {
				if bid := a.bid(); bid == nil || bid.Message.Header.BlockHash != good.Message.BlockHash {
					return errNotGood
				}
				return nil
			})
			t.Check(err == nil, "the bid of the good block", "another one, or none")
		})
	}
	wrong("REL-SUB-16", "never serves a block that pays less than it says", func(s *submission) {
		s.Message.Value = new(uint256.Int).AddUint64(s.Message.Value, 1)
	})
	wrong("REL-SUB-17", "never serves a block with a wrong state root", func(s *submission) {
		s.ExecutionPayload.StateRoot[3] ^= 1
		s.rehash()
	})
	wrong("REL-SUB-17", "never serves a block with a wrong receipts root", func(s *submission) {
		s.ExecutionPayload.ReceiptsRoot[3] ^= 1
		s.rehash()
	})
	wrong("REL-SUB-17", "never serves a block that used other gas than it says", func(s *submission) {
		s.ExecutionPayload.GasUsed++
		s.Message.GasUsed++
		s.rehash()
	})
	wrong("REL-SUB-35", "never serves a block whose requests are not those of its hash", func(s *submission) {
		s.ExecutionRequests.Withdrawals = append(s.ExecutionRequests.Withdrawals, &electra.WithdrawalRequest{Amount: 1})
	})
	r.It("REL-SUB-19", "never serves a block whose gas limit goes elsewhere than registered", func(t *suite.T) {
		a := r.open(t)
		good, bad := a.block("a", gwei(1000)), a.blockWith("b", gwei(2000), 0, gasLimit/2)
		if good.ExecutionPayload.GasLimit == bad.ExecutionPayload.GasLimit {
			t.Inconclusive("the world builds both blocks with the same limit")
		}
		a.prepareSubmitted(good)
		a.submit(bad)
		a.checkServed(good)
	})
	r.It("REL-SUB-19", "never serves a block whose gas limit stays although another was registered", func(t *suite.T) {
		asked := r.freshRegistration(t)
		asked.Message.GasLimit = 2 * gasLimit
		sign(t, asked, r.validators(t)[t.World.Facts.Restless()])
		t.Prepared(sendRegistrations(t.Preparing(), asked), "register another gas limit", http.StatusOK)
		t.Ready(waitHeld(t, asked), "see the registration in the data API")
		a := r.openPaying(t, asked)
		good, bad := a.blockWith("a", gwei(1000), 0, 2*gasLimit), a.blockWith("b", gwei(2000), 0, gasLimit)
		if bad.ExecutionPayload.GasLimit >= good.ExecutionPayload.GasLimit {
			t.Inconclusive("the world builds both blocks with the same limit")
		}
		a.prepareSubmitted(good)
		a.submit(bad)
		a.checkServed(good)
	})
}

type plainError string

// Error implements error.
func (e plainError) Error() string { return string(e) }

const errNotGood = plainError("another bid than the good block's, or none")

// rehash sets the block hash of payload and message to the hash of the payload, as go-ethereum
// computes it.
func (s *submission) rehash() {
	p := s.ExecutionPayload
	data := engine.ExecutableData{
		ParentHash: common.Hash(p.ParentHash), FeeRecipient: common.Address(p.FeeRecipient),
		StateRoot:    common.Hash(p.StateRoot),
		ReceiptsRoot: common.Hash(p.ReceiptsRoot), LogsBloom: p.LogsBloom[:], Random: p.PrevRandao, Number: p.BlockNumber,
		GasLimit: p.GasLimit,
		GasUsed:  p.GasUsed, Timestamp: p.Timestamp, ExtraData: p.ExtraData, BaseFeePerGas: p.BaseFeePerGas.ToBig(),
	}
	for _, tx := range p.Transactions {
		data.Transactions = append(data.Transactions, tx)
	}
	fork := s.a.fork()
	var root *common.Hash
	var requests [][]byte
	if fork.HasWithdrawals() {
		data.Withdrawals = executionWithdrawals(p.Withdrawals)
	}
	if fork.HasBlobs() {
		root, data.BlobGasUsed, data.ExcessBlobGas = (*common.Hash)(&s.a.slot.ParentRoot), &p.BlobGasUsed, &p.ExcessBlobGas
	}
	if fork.HasRequests() {
		requests = [][]byte{}
	}
	block, err := engine.ExecutableDataToBlockNoHash(data, nil, root, requests)
	s.a.t.Ready(err, "hash a block")
	p.BlockHash = phase0.Hash32(block.Hash())
	s.Message.BlockHash = p.BlockHash
}

// executionWithdrawals converts withdrawals to the execution layer's type.
func executionWithdrawals(list []*capella.Withdrawal) []*types.Withdrawal {
	out := make([]*types.Withdrawal, len(list))
	for i, w := range list {
		out[i] = &types.Withdrawal{
			Index: uint64(w.Index), Validator: uint64(w.ValidatorIndex), Address: common.Address(w.Address),
			Amount: uint64(w.Amount),
		}
	}
	return out
}
