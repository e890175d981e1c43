package app_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math/big"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
	"github.com/klauspost/compress/zstd"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
)

// taken is what a row wants that must pass.
var taken relay.Refusal

// submissionRow spoils a good submission in one way and says what the relay must answer.
type submissionRow struct {
	name  string
	from  eth.Fork // the first fork that has what the row spoils; 0 is all
	spoil func(t *testing.T, h *house) *submission
	want  relay.Refusal
	// detail is what the answer must say besides: for an invalid block the rule that it breaks.
	detail string
}

// spoiled changes a good submission and signs it again: what the builder says is wrong.
func spoiled(change func(s *submission)) func(*testing.T, *house) *submission {
	return func(t *testing.T, h *house) *submission {
		s := h.good(t)
		change(s)
		s.sign()
		return s
	}
}

// rehashed changes a good block, and gives it its right hash and signature again: what the block
// does is wrong.
func rehashed(change func(s *submission)) func(*testing.T, *house) *submission {
	return func(t *testing.T, h *house) *submission {
		s := h.good(t)
		change(s)
		s.rehash(t)
		return s
	}
}

// forged changes a good submission after it was signed.
func forged(change func(s *submission)) func(*testing.T, *house) *submission {
	return func(t *testing.T, h *house) *submission {
		s := h.good(t)
		change(s)
		return s
	}
}

// otherwise builds another block; what it bids is what it pays.
func otherwise(change func(t *testing.T, h *house, args *chain.BuildArgs)) func(*testing.T, *house) *submission {
	return func(t *testing.T, h *house) *submission {
		args := h.args(t)
		change(t, h, &args)
		return h.build(t, args)
	}
}

// submissionRows are in the order of the table of checks. Rows that need more than one spoiled body
// have tests of their own below.
var submissionRows = []submissionRow{
	{name: "REL-SUB-11 the slot of the head", spoil: spoiled(func(s *submission) {
		s.trace.Slot--
	}), want: relay.SubmissionPastSlot},
	{name: "REL-SUB-12 the slot of an unregistered validator", spoil: spoiled(func(s *submission) {
		s.trace.Slot = unregisteredSlot
	}), want: relay.SubmissionNoDuty},
	{name: "REL-SUB-13 a second too late", spoil: rehashed(func(s *submission) {
		s.payload.Timestamp++
	}), want: relay.SubmissionTimestamp},
	{name: "REL-SUB-09 another fee recipient", spoil: spoiled(func(s *submission) {
		s.trace.ProposerFeeRecipient[0] ^= 1
	}), want: relay.SubmissionFeeRecipient},
	{name: "REL-SUB-10 another proposer's key", spoil: spoiled(func(s *submission) {
		s.trace.ProposerPubkey = builderKeys[1].PublicKey()
	}), want: relay.SubmissionWrongProposer},
	{name: "REL-SUB-05 another block hash in the message", spoil: spoiled(func(s *submission) {
		s.trace.BlockHash[31] ^= 1
	}), want: relay.SubmissionBlockHash},
	{name: "REL-SUB-06 another parent hash in the message", spoil: spoiled(func(s *submission) {
		s.trace.ParentHash[0] ^= 1
	}), want: relay.SubmissionParentHash},
	{name: "REL-SUB-07 another gas limit in the message", spoil: spoiled(func(s *submission) {
		s.trace.GasLimit++
	}), want: relay.SubmissionTraceGasLimit},
	{name: "REL-SUB-08 another gas used in the message", spoil: spoiled(func(s *submission) {
		s.trace.GasUsed++
	}), want: relay.SubmissionTraceGasUsed},
	{name: "REL-SUB-30 a parent that nobody announced", spoil: rehashed(func(s *submission) {
		s.payload.ParentHash[0] ^= 1
		s.trace.ParentHash = s.payload.ParentHash
	}), want: relay.SubmissionNoAttributes},
	{name: "REL-SUB-30 a slot after the announced one, with all that its duty asks for",
		spoil: func(t *testing.T, h *house) *submission {
			s := h.good(t)
			later := h.slot + 1
			index, proposer := h.duty(later)
			s.trace.Slot, s.trace.ProposerPubkey, s.trace.ProposerFeeRecipient = uint64(later),
				proposer.PublicKey(), payee(index)
			s.payload.Timestamp += uint64(h.spec.SlotDuration / time.Second)
			s.rehash(t)
			return s
		}, want: relay.SubmissionNoAttributes},
	{name: "another block number", spoil: rehashed(func(s *submission) {
		s.payload.BlockNumber++
	}), want: relay.SubmissionBlockNumber},
	{name: "REL-SUB-14 another prev_randao", spoil: rehashed(func(s *submission) {
		s.payload.PrevRandao[31] ^= 1
	}), want: relay.SubmissionPrevRandao},
	{name: "REL-SUB-15 a withdrawal dropped", from: eth.Capella, spoil: rehashed(func(s *submission) {
		s.payload.Withdrawals = s.payload.Withdrawals[1:]
	}), want: relay.SubmissionWithdrawals},
	{name: "REL-SUB-15 two withdrawals swapped", from: eth.Capella, spoil: rehashed(func(s *submission) {
		w := slices.Clone(s.payload.Withdrawals)
		w[0], w[1] = w[1], w[0]
		s.payload.Withdrawals = w
	}), want: relay.SubmissionWithdrawals},
	{name: "REL-SUB-15 a withdrawal of one Gwei more", from: eth.Capella, spoil: rehashed(func(s *submission) {
		w := *s.payload.Withdrawals[0]
		w.Amount++
		s.payload.Withdrawals = append([]*capella.Withdrawal{&w}, s.payload.Withdrawals[1:]...)
	}), want: relay.SubmissionWithdrawals},
	{name: "REL-SUB-18 hashed with another parent beacon block root", from: eth.Deneb,
		spoil: rehashed(func(s *submission) {
			s.parentRoot[0] ^= 1
		}), want: relay.SubmissionInvalid, detail: string(exec.RuleBlockHash)},
	{name: "REL-SUB-04 signed with another key", spoil: forged(func(s *submission) {
		s.key = builderKeys[1]
		s.sign()
		s.trace.BuilderPubkey = builderKeys[0].PublicKey()
	}), want: relay.SubmissionSignature},
	{name: "REL-SUB-04 signed for another network", spoil: forged(func(s *submission) {
		elsewhere := *s.spec
		elsewhere.GenesisForkVersion[0]++
		s.spec = &elsewhere
		s.sign()
	}), want: relay.SubmissionSignature},
	{name: "REL-SUB-04 a wei more than was signed", spoil: forged(func(s *submission) {
		s.trace.Value = new(uint256.Int).AddUint64(s.trace.Value, 1)
	}), want: relay.SubmissionSignature},
	{name: "REL-SUB-04 the key is the point at infinity", spoil: forged(func(s *submission) {
		s.trace.BuilderPubkey, s.signature = phase0.BLSPubKey{0xc0}, phase0.BLSSignature{0xc0}
	}), want: relay.SubmissionBuilderKey},
	{name: "REL-SUB-04 the signature is the point at infinity", spoil: forged(func(s *submission) {
		s.signature = phase0.BLSSignature{0xc0}
	}), want: relay.SubmissionBuilderKey},
	{name: "REL-SUB-04 the key is no point", spoil: forged(func(s *submission) {
		s.trace.BuilderPubkey = phase0.BLSPubKey(bytes.Repeat([]byte{0xff}, 48))
	}), want: relay.SubmissionBuilderKey},
	{name: "REL-SUB-04 the key without its compression bit", spoil: forged(func(s *submission) {
		s.trace.BuilderPubkey[0] &= 0x7f
	}), want: relay.SubmissionBuilderKey},
	{name: "REL-SUB-04 the signature is no point", spoil: forged(func(s *submission) {
		s.signature = phase0.BLSSignature(bytes.Repeat([]byte{0xff}, 96))
	}), want: relay.SubmissionBuilderKey},
	{name: "REL-SUB-18 only the state root changed", spoil: spoiled(func(s *submission) {
		s.payload.StateRoot[0] ^= 1
	}), want: relay.SubmissionInvalid, detail: string(exec.RuleBlockHash)},
	{name: "REL-SUB-19 another gas limit than one step towards the registered one", spoil: rehashed(func(s *submission) {
		s.payload.GasLimit--
		s.trace.GasLimit--
	}), want: relay.SubmissionInvalid, detail: string(exec.RuleGasLimit)},
	{name: "REL-SUB-17 base fee of one wei more", spoil: rehashed(func(s *submission) {
		s.payload.BaseFeePerGas = new(uint256.Int).AddUint64(s.payload.BaseFeePerGas, 1)
	}), want: relay.SubmissionInvalid, detail: string(exec.RuleHeader)},
	{name: "REL-SUB-17 excess blob gas", from: eth.Deneb, spoil: rehashed(func(s *submission) {
		s.payload.ExcessBlobGas++
	}), want: relay.SubmissionInvalid, detail: string(exec.RuleHeader)},
	{name: "REL-SUB-17 blob gas used", from: eth.Deneb, spoil: rehashed(func(s *submission) {
		s.payload.BlobGasUsed += params.BlobTxBlobGasPerBlob
	}), want: relay.SubmissionInvalid, detail: string(exec.RuleBody)},
	{name: "REL-SUB-17 state root", spoil: rehashed(func(s *submission) {
		s.payload.StateRoot[0] ^= 1
	}), want: relay.SubmissionInvalid, detail: string(exec.RuleState)},
	{name: "REL-SUB-17 receipts root", spoil: rehashed(func(s *submission) {
		s.payload.ReceiptsRoot[0] ^= 1
	}), want: relay.SubmissionInvalid, detail: string(exec.RuleState)},
	{name: "REL-SUB-17 logs bloom", spoil: rehashed(func(s *submission) {
		s.payload.LogsBloom[0] ^= 1
	}), want: relay.SubmissionInvalid, detail: string(exec.RuleState)},
	{name: "REL-SUB-17 gas used", spoil: rehashed(func(s *submission) {
		s.payload.GasUsed++
		s.trace.GasUsed++
	}), want: relay.SubmissionInvalid, detail: string(exec.RuleState)},
	{name: "REL-SUB-16 bids a wei more than it pays", spoil: spoiled(func(s *submission) {
		s.trace.Value = new(uint256.Int).AddUint64(s.trace.Value, 1)
	}), want: relay.SubmissionInvalid, detail: string(exec.RulePayment)},
	{name: "REL-SUB-16 pays by a withdrawal only", from: eth.Capella, spoil: func(t *testing.T, h *house) *submission {
		recipient := h.attributes.withdrawals[0].Address
		h.registerProposer(t, func(m *builderv1.ValidatorRegistration) { m.FeeRecipient = recipient })
		args := h.args(t)
		args.Payment = nil
		s := h.build(t, args)
		s.trace.ProposerFeeRecipient, s.trace.Value = recipient, uint256.NewInt(1)
		s.sign()
		return s
	}, want: relay.SubmissionInvalid, detail: string(exec.RulePayment)},
	{name: "REL-SUB-16 the fee recipient is the coinbase", spoil: func(t *testing.T, h *house) *submission {
		index, _ := h.duty(h.slot)
		args := h.args(t)
		args.Coinbase, args.Payment = common.Address(payee(index)), nil
		built, err := h.node.Build(t.Context(), args)
		must(t, err)
		s := h.build(t, args)
		s.trace.Value = built.CoinbaseGainWei
		s.sign()
		return s
	}, want: taken},
	{name: "REL-SUB-28 a commitment missing", from: eth.Deneb, spoil: spoiled(func(s *submission) {
		s.blobs.Commitments = s.blobs.Commitments[1:]
	}), want: relay.SubmissionBlobCounts},
	{name: "REL-SUB-28 a proof missing", from: eth.Deneb, spoil: spoiled(func(s *submission) {
		s.blobs.Proofs = s.blobs.Proofs[1:]
	}), want: relay.SubmissionBlobCounts},
	{name: "REL-SUB-28 a blob missing", from: eth.Deneb, spoil: spoiled(func(s *submission) {
		s.blobs.Blobs = s.blobs.Blobs[1:]
	}), want: relay.SubmissionBlobCounts},
	{name: "a blob more than the epoch allows", from: eth.Deneb, spoil: spoiled(func(s *submission) {
		proofs := slices.Clone(s.blobs.Proofs)
		for len(s.blobs.Blobs) <= map[eth.Fork]int{eth.Deneb: 6, eth.Electra: 9, eth.Fulu: 9}[s.fork] {
			s.blobs.Blobs = append(s.blobs.Blobs, s.blobs.Blobs[0])
			s.blobs.Commitments = append(s.blobs.Commitments, s.blobs.Commitments[0])
			s.blobs.Proofs = append(s.blobs.Proofs, proofs...)
		}
	}), want: relay.SubmissionBlobLimit},
	{name: "two commitments swapped", from: eth.Deneb, spoil: func(t *testing.T, h *house) *submission {
		s := otherwise(withTwoBlobs)(t, h)
		c := s.blobs.Commitments
		c[0], c[1] = c[1], c[0]
		return s
	}, want: relay.SubmissionInvalid, detail: string(exec.RuleBlockHash)},
	{name: "two blobs in order", from: eth.Deneb, spoil: otherwise(withTwoBlobs), want: taken},
	{name: "two blobs swapped below their commitments", from: eth.Deneb,
		spoil: func(t *testing.T, h *house) *submission {
			s := otherwise(withTwoBlobs)(t, h)
			b := s.blobs.Blobs
			b[0], b[1] = b[1], b[0]
			return s
		}, want: relay.SubmissionInvalid, detail: string(exec.RuleBlobs)},
	{name: "blobs and proofs of another block below the commitments", from: eth.Deneb,
		spoil: func(t *testing.T, h *house) *submission {
			s, args := h.good(t), h.args(t)
			args.Transactions[2] = h.blobTransaction(t, 2, 1)
			other := h.build(t, args)
			s.blobs.Blobs, s.blobs.Proofs = other.blobs.Blobs, other.blobs.Proofs
			return s
		}, want: relay.SubmissionInvalid, detail: string(exec.RuleBlobs)},
	{name: "the proofs of two blobs swapped", from: eth.Deneb, spoil: func(t *testing.T, h *house) *submission {
		s := otherwise(withTwoBlobs)(t, h)
		each := len(s.blobs.Proofs) / 2
		s.blobs.Proofs = slices.Concat(s.blobs.Proofs[each:], s.blobs.Proofs[:each])
		return s
	}, want: relay.SubmissionInvalid, detail: string(exec.RuleBlobs)},
	{name: "another proof", from: eth.Deneb, spoil: spoiled(func(s *submission) {
		s.blobs.Proofs[0] = deneb.KZGProof{0xc0} // the point at infinity
	}), want: relay.SubmissionInvalid, detail: string(exec.RuleBlobs)},
	{name: "a proof that is no point", from: eth.Deneb, spoil: spoiled(func(s *submission) {
		s.blobs.Proofs[0] = deneb.KZGProof(bytes.Repeat([]byte{0xff}, 48))
	}), want: relay.SubmissionInvalid, detail: string(exec.RuleBlobs)},
	{name: "REL-SUB-35 with an execution request", from: eth.Electra, spoil: otherwise(withRequest), want: taken},
	{name: "REL-SUB-35 an execution request dropped", from: eth.Electra, spoil: func(t *testing.T, h *house) *submission {
		s := otherwise(withRequest)(t, h)
		if len(s.requests.Withdrawals) != 1 {
			t.Fatalf("%d requests in the block, want 1", len(s.requests.Withdrawals))
		}
		s.requests.Withdrawals = []*electra.WithdrawalRequest{}
		return s
	}, want: relay.SubmissionInvalid, detail: string(exec.RuleBlockHash)},
	{name: "REL-SUB-35 an execution request that no transaction made", from: eth.Electra,
		spoil: rehashed(func(s *submission) {
			s.requests.Consolidations = append(s.requests.Consolidations, &electra.ConsolidationRequest{})
		}), want: relay.SubmissionInvalid, detail: string(exec.RuleState)},
	{name: "a block of more than 8 MiB", from: eth.Fulu, spoil: func(t *testing.T, h *house) *submission {
		return withTransaction(t, h, &types.LegacyTx{Nonce: 3, To: &common.Address{1},
			Data: make([]byte, params.MaxBlockSize)})
	}, want: relay.SubmissionInvalid, detail: string(exec.RuleBody)},
	{name: "a transaction of more than 2^24 gas", from: eth.Fulu, spoil: func(t *testing.T, h *house) *submission {
		return withTransaction(t, h, &types.DynamicFeeTx{
			ChainID: big.NewInt(houseChainID), Nonce: 3, GasTipCap: new(big.Int), GasFeeCap: big.NewInt(100 * params.GWei),
			Gas: params.MaxTxGas + 1, To: &common.Address{1},
		})
	}, want: relay.SubmissionInvalid, detail: string(exec.RuleExecution)},
}

func withTwoBlobs(t *testing.T, h *house, args *chain.BuildArgs) {
	args.Transactions[2] = h.blobTransaction(t, 2, 0, 1)
}

// withRequest asks the withdrawal contract for an exit (EIP-7002).
func withRequest(t *testing.T, h *house, args *chain.BuildArgs) {
	args.Transactions = append(args.Transactions, h.signTx(t, user(h.slot), &types.DynamicFeeTx{
		ChainID: big.NewInt(houseChainID), Nonce: 3, GasTipCap: big.NewInt(params.GWei),
		GasFeeCap: big.NewInt(100 * params.GWei),
		Gas:       300_000, To: &params.WithdrawalQueueAddress, Value: big.NewInt(1000), Data: bytes.Repeat([]byte{0xbb}, 56),
	}))
}

// withTransaction appends a transaction to a finished block, which nobody would build in.
func withTransaction(t *testing.T, h *house, data types.TxData) *submission {
	s := h.good(t)
	raw, err := h.signTx(t, user(h.slot), data).MarshalBinary()
	must(t, err)
	s.payload.Transactions = append(s.payload.Transactions, raw)
	s.rehash(t)
	return s
}

// Every fork goes through the table over one house; electra speaks JSON and the others SSZ, so that
// both codecs carry it.
func TestSubmissionRows(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			t.Parallel()
			h := open(t, fork, houseOptions{})
			send := h.submit
			if fork == eth.Electra {
				send = func(t testing.TB, s *submission) answer {
					return h.post(t, submitPath+"?cancellations=1", jsonHeader(), s.json(t))
				}
			}
			for _, row := range submissionRows {
				if fork < row.from {
					continue
				}
				t.Run(row.name, func(t *testing.T) {
					got := send(t, row.spoil(t, h))
					if row.want.ID == "" {
						got.wantStatus(t, http.StatusOK)
						return
					}
					got.wantRefusal(t, row.want, row.detail)
				})
			}
			t.Run("REL-SUB-01 a good block in JSON and in SSZ", func(t *testing.T) {
				s := h.good(t)
				for _, got := range []answer{h.submit(t, s), h.post(t, submitPath+"?cancellations=1", jsonHeader(), s.json(t))} {
					got.wantStatus(t, http.StatusOK)
				}
				h.wantTop(t, s)
			})
			h.testForkRows(t)
			h.testEffectRows(t)
			h.testBodyRows(t)
			h.testLastPayment(t)
		})
	}
}

// testForkRows are about which fork a body is in.
func (h *house) testForkRows(t *testing.T) {
	other := map[eth.Fork]eth.Fork{
		eth.Bellatrix: eth.Capella, eth.Capella: eth.Bellatrix, eth.Deneb: eth.Capella, eth.Electra: eth.Deneb,
		eth.Fulu: eth.Deneb,
	}[h.fork]
	in := func(t *testing.T, fork eth.Fork) (raw []byte, json []byte) {
		s := h.good(t)
		if s.blobs == nil && fork >= eth.Deneb {
			t.Fatal("no such body")
		}
		raw, err := s.in(fork).MarshalSSZ()
		must(t, err)
		json, err = s.in(fork).MarshalJSON()
		must(t, err)
		return raw, json
	}
	t.Run("REL-SUB-25 the body of another fork", func(t *testing.T) {
		raw, json := in(t, other)
		h.post(t, submitPath, sszHeader(h.fork), raw).wantRefusal(t, relay.Malformed, "")
		if h.fork > other { // in JSON an older fork is a newer one with fields that are ignored
			h.post(t, submitPath, jsonHeader(), json).wantRefusal(t, relay.Malformed, "")
		}
	})
	t.Run("REL-SUB-25 no body, or none of a submission", func(t *testing.T) {
		for _, body := range []string{"", "{", "{}", "null", "[]", `{"message":null}`, `{"message":{"slot":"1"}}`, "\xff\xfe",
			strings.Repeat("\x00", 400)} {
			h.post(t, submitPath, jsonHeader(), []byte(body)).wantRefusal(t, relay.Malformed, "")
			if len(body) < 300 {
				h.post(t, submitPath, sszHeader(h.fork), []byte(body)).wantRefusal(t, relay.Malformed, "")
			}
		}
	})
	t.Run("REL-SUB-29 another fork in the header", func(t *testing.T) {
		raw, json := in(t, h.fork)
		for _, fork := range eth.Forks() {
			if fork == h.fork {
				continue
			}
			h.post(t, submitPath, sszHeader(fork), raw).wantRefusal(t, relay.WrongFork, fork.String())
			header := jsonHeader()
			header.Set("Eth-Consensus-Version", fork.String())
			h.post(t, submitPath, header, json).wantRefusal(t, relay.WrongFork, fork.String())
		}
	})
	t.Run("REL-SUB-29 an unknown fork in the header", func(t *testing.T) {
		raw, _ := in(t, h.fork)
		header := sszHeader(h.fork)
		header.Set("Eth-Consensus-Version", "gloas")
		h.post(t, submitPath, header, raw).wantRefusal(t, relay.UnknownFork, "gloas")
	})
	t.Run("REL-SUB-29 the fork in capitals, or not named", func(t *testing.T) {
		raw, _ := in(t, h.fork)
		header := sszHeader(h.fork)
		header.Set("Eth-Consensus-Version", strings.ToUpper(h.fork.String()))
		h.post(t, submitPath+"?cancellations=1", header, raw).wantStatus(t, http.StatusOK)
		header.Del("Eth-Consensus-Version")
		h.post(t, submitPath+"?cancellations=1", header, raw).wantStatus(t, http.StatusOK)
	})
}

// testEffectRows are about submissions that are taken and do nothing.
func (h *house) testEffectRows(t *testing.T) {
	none := func(change func(*submission)) func(*testing.T) {
		return func(t *testing.T) {
			leader := h.good(t)
			h.submitted(t, leader)
			s := h.good(t)
			s.key = builderKeys[1]
			change(s)
			s.rehash(t)
			h.submitted(t, s)
			h.wantTop(t, leader)
		}
	}
	t.Run("REL-SUB-20 no value", none(func(s *submission) { s.trace.Value = new(uint256.Int) }))
	t.Run("REL-SUB-20 no transactions", none(func(s *submission) {
		s.payload.Transactions = []bellatrix.Transaction{}
		if s.blobs != nil {
			s.blobs = &payload.Blobs{}
		}
		s.trace.Value = uint256.NewInt(1e18)
	}))
	t.Run("REL-SUB-09 the fee recipient in capitals", func(t *testing.T) {
		s := h.good(t)
		lower := fmt.Sprintf("%#x", s.trace.ProposerFeeRecipient[:])
		body := s.json(t)
		// the library writes letters by EIP-55
		for _, written := range []string{lower, s.trace.ProposerFeeRecipient.String()} {
			body = bytes.ReplaceAll(body, []byte(written), []byte("0x"+strings.ToUpper(lower[2:])))
		}
		if !bytes.Contains(body, []byte("0xFEAB")) {
			t.Fatal("no address was replaced")
		}
		h.post(t, submitPath+"?cancellations=1", jsonHeader(), body).wantStatus(t, http.StatusOK)
	})
}

// testBodyRows are about the encoding of a body.
func (h *house) testBodyRows(t *testing.T) {
	t.Run("REL-SUB-34 values that are no amount of wei", func(t *testing.T) {
		s := h.good(t)
		s.trace.Value = uint256.NewInt(1_234_567_890_123)
		body := s.json(t)
		good := []byte(`"value":"1234567890123"`)
		for _, value := range []string{
			`"-1"`, `"0x1"`, `""`, `1`, `null`, `"1e3"`, `" 1"`, `"01"`, `true`, `["1"]`, `"` + strings.Repeat("9", 78) + `"`,
			`"115792089237316195423570985008687907853269984665640564039457584007913129639936"`, // 2^256
		} {
			spoiled := bytes.Replace(body, good, []byte(`"value":`+value), 1)
			if bytes.Equal(spoiled, body) {
				t.Fatalf("no value in %.300s", body)
			}
			h.post(t, submitPath, jsonHeader(), spoiled).wantRefusal(t, relay.Malformed, "")
		}
	})
	t.Run("REL-SUB-36 SSZ that is no canonical encoding", func(t *testing.T) {
		good := h.good(t).ssz(t)
		first := map[eth.Fork]int{eth.Bellatrix: 336, eth.Capella: 336, eth.Deneb: 340, eth.Electra: 344,
			eth.Fulu: 344}[h.fork]
		for name, body := range map[string][]byte{
			"a byte more": append(slices.Clone(good), 0), "a byte less": good[:len(good)-1], "the fixed part": good[:first],
			"half of the fixed part": good[:first/2], "first offset + 1": patch(good, 236, byte(first)+1),
			"first offset - 1":         patch(good, 236, byte(first)-1),
			"an offset beyond the end": patch(good, 239, 0xff), "an offset of zero": patch(good, 236, 0, 0, 0, 0),
		} {
			want := relay.Malformed
			if h.fork == eth.Bellatrix && strings.HasPrefix(name, "a byte") {
				want = relay.SubmissionInvalid // the body ends with a transaction, which may have any length
			}
			if h.post(t, submitPath, sszHeader(h.fork), body).wantRefusal(t, want, ""); t.Failed() {
				t.Fatal(name)
			}
		}
		if h.fork >= eth.Deneb {
			h.post(t, submitPath, sszHeader(h.fork), patch(good, 240, byte(first), byte(first>>8), 0, 0)).wantRefusal(t,
				relay.Malformed, "")
		}
	})
	t.Run("REL-SUB-03 gzip and zstd", func(t *testing.T) {
		s := h.good(t)
		for _, body := range [][]byte{s.ssz(t), s.json(t)} {
			for encoding, packed := range map[string][]byte{"gzip": zip(t, body), "GZIP": zip(t, body),
				"zstd": zstandard(t, body)} {
				header := sszHeader(h.fork)
				if body[0] == '{' {
					header = jsonHeader()
				}
				header.Set("Content-Encoding", encoding)
				h.post(t, submitPath+"?cancellations=1", header, packed).wantStatus(t, http.StatusOK)
			}
		}
		header := sszHeader(h.fork)
		header.Set("Content-Encoding", "gzip")
		h.post(t, submitPath, header, s.ssz(t)).wantRefusal(t, relay.BodyUnreadable, "")
		h.post(t, submitPath, header, zip(t, s.ssz(t))[:1000]).wantRefusal(t, relay.BodyUnreadable, "")
		header.Set("Content-Encoding", "br")
		h.post(t, submitPath, header, s.ssz(t)).wantRefusal(t, relay.UnsupportedMediaType, "")
	})
	t.Run("unknown fields are ignored", func(t *testing.T) {
		body := h.good(t).json(t)
		for _, more := range []string{`{"tomorrow":{"a":[1,null]},`, `{"zz":null,`} {
			h.post(t, submitPath+"?cancellations=1", jsonHeader(), append([]byte(more), body[1:]...)).wantStatus(t,
				http.StatusOK)
		}
		inside := bytes.Replace(body, []byte(`"message":{`), []byte(`"message":{"tomorrow":1.5,`), 1)
		h.post(t, submitPath+"?cancellations=1", jsonHeader(), inside).wantStatus(t, http.StatusOK)
	})
	t.Run("a field twice", func(t *testing.T) {
		body := h.good(t).json(t)
		// In other letters, or with the long s that encoding/json takes for one, a reader might take it
		// for the same: such a name is refused.
		for name, why := range map[string]string{"slot": "twice", "SLOT": "other letters", "\u017flot": "other letters"} {
			twice := bytes.Replace(body, []byte(`"message":{`), []byte(`"message":{"`+name+`":"1",`), 1)
			h.post(t, submitPath, jsonHeader(), twice).wantRefusal(t, relay.Malformed, why)
		}
		h.post(t, submitPath, jsonHeader(), append(slices.Clone(body), "{}"...)).wantRefusal(t, relay.Malformed, "")
	})
}

func patch(raw []byte, at int, with ...byte) []byte {
	raw = slices.Clone(raw)
	copy(raw[at:], with)
	return raw
}

func zip(t testing.TB, raw []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(raw)
	must(t, err)
	must(t, w.Close())
	return packed.Bytes()
}

func zstandard(t testing.TB, raw []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	must(t, err)
	return w.EncodeAll(raw, nil)
}

// testLastPayment: a fee recipient that spends more than it is paid is satisfied by an exact last
// payment, and by nothing else.
func (h *house) testLastPayment(t *testing.T) {
	for _, row := range []struct {
		name       string
		tip, value int64
		data       []byte
		behind     bool // another transaction follows
		want       relay.Refusal
	}{
		{name: "REL-SUB-16 an exact last payment", value: 1000, want: taken},
		{name: "REL-SUB-16 a tip of 1 wei", value: 1000, tip: 1, want: relay.SubmissionInvalid},
		{name: "REL-SUB-16 a byte of data", value: 1000, data: []byte{0}, want: relay.SubmissionInvalid},
		{name: "REL-SUB-16 a wei too much", value: 1001, want: relay.SubmissionInvalid},
		{name: "REL-SUB-16 half of the value", value: 500, want: relay.SubmissionInvalid},
		{name: "REL-SUB-16 the last but one", value: 1000, behind: true, want: relay.SubmissionInvalid},
	} {
		t.Run(row.name, func(t *testing.T) {
			spender := addressOf(user(h.slot)) // who sends the block's transactions
			h.registerProposer(t, func(m *builderv1.ValidatorRegistration) {
				m.FeeRecipient = bellatrix.ExecutionAddress(spender)
			})
			args := h.args(t)
			baseFee := h.good(t).payload.BaseFeePerGas.ToBig()
			args.Payment, args.Transactions = nil, []*types.Transaction{h.transfer(t, 0),
				h.signTx(t, builderPays, &types.DynamicFeeTx{
					ChainID: big.NewInt(houseChainID), GasTipCap: big.NewInt(row.tip), GasFeeCap: baseFee.Add(baseFee,
						big.NewInt(row.tip)),
					Gas: 30_000, To: &spender, Value: big.NewInt(row.value), Data: row.data,
				})}
			if row.behind {
				args.Transactions = append(args.Transactions, h.transfer(t, 1))
			}
			s := h.build(t, args)
			if len(s.payload.Transactions) != len(args.Transactions) {
				t.Fatalf("the block has %d transactions, want %d", len(s.payload.Transactions), len(args.Transactions))
			}
			s.trace.ProposerFeeRecipient, s.trace.Value = bellatrix.ExecutionAddress(spender), uint256.NewInt(1000)
			s.sign()
			got := h.submit(t, s)
			if row.want.ID == "" {
				got.wantStatus(t, http.StatusOK)
				return
			}
			got.wantRefusal(t, row.want, string(exec.RulePayment))
		})
	}
}

// The gas limit moves towards the registered one by as much as one step allows, and by nothing
// else.
func TestGasLimitRows(t *testing.T) {
	for _, row := range []struct {
		name                       string
		parent, registered, passes uint64
	}{
		{"REL-SUB-19 up from 30 million", 30_000_000, 60_000_000, 30_029_295},
		{"REL-SUB-19 down from 60 million", 60_000_000, 30_000_000, 59_941_408},
		{"REL-SUB-19 up from 45 million", 45_000_000, 60_000_000, 45_000_000 + 43_944},
		{"REL-SUB-19 there already", 36_000_000, 36_000_000, 36_000_000},
		{"REL-SUB-19 a registered 0 means 30 million", 30_000_000, 0, 30_000_000},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := open(t, eth.Fulu, houseOptions{gasLimit: row.parent})
			h.registerProposer(t, func(m *builderv1.ValidatorRegistration) { m.GasLimit = row.registered })
			args := h.args(t)
			args.GasLimitTarget = row.passes
			exact := h.build(t, args)
			if exact.payload.GasLimit != row.passes {
				t.Fatalf("the block's limit is %d, want %d", exact.payload.GasLimit, row.passes)
			}
			h.submitted(t, exact)
			for _, limit := range []uint64{row.passes - 1, row.passes + 1} {
				s := h.good(t)
				s.payload.GasLimit, s.trace.GasLimit = limit, limit
				s.rehash(t)
				h.submit(t, s).wantRefusal(t, relay.SubmissionInvalid, "limit") // beyond one step, the header itself is invalid
			}
		})
	}
}

// Lists longer than the preset allows are no SSZ of their type. The libraries do not write them, so
// the bytes are put together here; at the limit the same bytes are read, and refused for another
// reason.
func TestListLimitRows(t *testing.T) {
	h := open(t, eth.Fulu, houseOptions{})
	plain := h.good(t)
	payloadSSZ, err := plain.payload.MarshalSSZ()
	must(t, err)
	const deposit, withdrawal, consolidation = 192, 76, 116
	for _, row := range []struct {
		name  string
		limit int
		body  func(n int) []byte
	}{
		{"REL-SUB-36 withdrawals", 16, func(n int) []byte {
			return plain.assembled(t, append(slices.Clone(payloadSSZ), make([]byte, 44*(n-len(plain.payload.Withdrawals)))...),
				nil, nil)
		}},
		{"REL-SUB-36 bytes of extra data", 32, func(n int) []byte {
			const fixed = 528
			more := n - len(plain.payload.ExtraData)
			long := slices.Insert(slices.Clone(payloadSSZ), fixed, make([]byte, more)...)
			for _, offset := range []int{504, 508} { // of transactions and withdrawals
				binary.LittleEndian.PutUint32(long[offset:], binary.LittleEndian.Uint32(long[offset:])+uint32(more))
			}
			return plain.assembled(t, long, nil, nil)
		}},
		{"REL-SUB-36 commitments", 4096, func(n int) []byte {
			return plain.assembled(t, payloadSSZ, threeLists(48*n, 0, 0), nil)
		}},
		{"REL-SUB-36 deposits", 8192, func(n int) []byte {
			return plain.assembled(t, payloadSSZ, nil, threeLists(deposit*n, 0, 0))
		}},
		{"REL-SUB-36 withdrawal requests", 16, func(n int) []byte {
			return plain.assembled(t, payloadSSZ, nil, threeLists(0, withdrawal*n, 0))
		}},
		{"REL-SUB-36 consolidations", 2, func(n int) []byte {
			return plain.assembled(t, payloadSSZ, nil, threeLists(0, 0, consolidation*n))
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			h.post(t, submitPath, sszHeader(h.fork), row.body(row.limit+1)).wantRefusal(t, relay.Malformed, "")
			if got := h.post(t, submitPath, sszHeader(h.fork), row.body(row.limit)); strings.Contains(string(got.body),
				relay.Malformed.Short) {
				t.Errorf("at the limit: %s", got)
			}
		})
	}
}

// threeLists is the SSZ of a container of three lists with elements of fixed size, all zero:
// execution requests, or a blobs bundle.
func threeLists(first, second, third int) []byte {
	raw := make([]byte, 12+first+second+third)
	for i, offset := range []int{12, 12 + first, 12 + first + second} {
		binary.LittleEndian.PutUint32(raw[4*i:], uint32(offset))
	}
	return raw
}

// assembled is the SSZ of an electra or fulu submission with these parts; nil is the submission's
// own.
func (s *submission) assembled(t testing.TB, block, bundle, requests []byte) []byte {
	t.Helper()
	if bundle == nil {
		var err error
		bundle, err = s.oneProofPerBlob().MarshalSSZ()
		must(t, err)
	}
	if requests == nil {
		var err error
		requests, err = s.requests.MarshalSSZ()
		must(t, err)
	}
	raw, err := s.trace.MarshalSSZ()
	must(t, err)
	const fixed = 344
	for _, offset := range []int{fixed, fixed + len(block), fixed + len(block) + len(bundle)} {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(offset))
	}
	return slices.Concat(raw, s.signature[:], block, bundle, requests)
}

// A bomb of 1 GiB of zeros costs no more than the limit of a body.
func TestDecompressionBombRows(t *testing.T) {
	h := open(t, eth.Capella, houseOptions{})
	member := zip(t, make([]byte, 1<<20))
	for name, header := range map[string]http.Header{"REL-SUB-27 a bomb in SSZ": sszHeader(h.fork),
		"REL-SUB-27 a bomb in JSON": jsonHeader()} {
		t.Run(name, func(t *testing.T) {
			header.Set("Content-Encoding", "gzip")
			body := bytes.Repeat(member, 1024) // one gzip stream may have many members
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := h.post(t, submitPath, header, body)
			runtime.ReadMemStats(&after)
			got.wantRefusal(t, relay.BodyTooLarge, "")
			const bound = 256 << 20 // the limit of JSON is 32 MiB, and a growing buffer takes a few times as much
			if grown := after.TotalAlloc - before.TotalAlloc; grown > bound {
				t.Errorf("%d MiB were allocated", grown>>20)
			}
		})
	}
}

// Rows about several submissions of one slot, and about a slot that is over. Each goes to its own
// slot.
func TestAuctionRows(t *testing.T) {
	h := open(t, eth.Electra, houseOptions{})
	t.Run("REL-SUB-21 a cancellable bid is replaced by a lower one", func(t *testing.T) {
		high, low := h.worth(t, 0, 2000), h.worth(t, 0, 1000)
		h.submitted(t, high)
		h.wantTop(t, high)
		h.submitted(t, low)
		h.wantTop(t, low)
	})
	t.Run("REL-SUB-22 a final bid holds the floor", func(t *testing.T) {
		high, low := h.worth(t, 0, 2000), h.worth(t, 0, 1000)
		h.submitFinal(t, high).wantStatus(t, http.StatusOK)
		h.submitFinal(t, low).wantStatus(t, http.StatusAccepted)
		h.wantTop(t, high)
	})
	h.skip(t)
	t.Run("the builder's later submission wins", func(t *testing.T) {
		slow, quick := h.worth(t, 0, 2000), h.worth(t, 0, 1000)
		gate := h.gate.hold(slow.trace.BlockHash)
		late := h.goSubmit(t, slow)
		<-gate.arrived
		h.clock.Set(h.clock.Now().Add(time.Millisecond))
		h.submitted(t, quick)
		close(gate.open)
		(<-late).wantRefusal(t, relay.SubmissionStale, "")
		h.wantTop(t, quick)
	})
	t.Run("a parent that is known but old", func(t *testing.T) {
		h.deliver(t, h.worth(t, 1, 3000))
		h.next(t)
		s := h.good(t)
		s.payload.ParentHash = phase0.Hash32(h.node.Genesis().Hash())
		s.trace.ParentHash = s.payload.ParentHash
		s.rehash(t)
		h.submit(t, s).wantRefusal(t, relay.SubmissionNoAttributes, "")
	})
	t.Run("REL-PAY-16 a submission after the delivery", func(t *testing.T) {
		more := h.good(t)
		for _, front := range h.fronts { // the block is taken, but the head stays
			front.answers(status(http.StatusOK))
			defer front.answers(nil)
		}
		h.deliver(t, h.good(t))
		h.submit(t, more).wantRefusal(t, relay.SubmissionDelivered, "")
	})
}
