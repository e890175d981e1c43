package mutant

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Builder is what a mutant needs that stands between a builder and one of its relays, to change
// submissions so that they are in the right form again.
type Builder struct {
	// Key is the builder's, Domain that under which it signs.
	Key    *probe.BLSKey
	Domain phase0.Domain
	Fork   eth.Fork
	// Root returns the root of the beacon block of a slot's parent.
	Root func(slot phase0.Slot, parent phase0.Hash32) phase0.Root
	// Last says that the relay is the last of the builder's.
	Last bool
}

// Before returns the proxy before a relay at the address base, for a mutant of builders.
func (m Mutant) Before(base string, of Builder) http.Handler { return m.handler(base, &of) }

// submission is a fault that changes the content of submissions. What it returns is signed for the
// builder. Change may be nil; sign may be nil for the right signature.
type submission struct {
	change func(b *Builder, s *builderfulu.SubmitBlockRequest)
	// rehash makes the payload's hash fit its changed content, and the message name it.
	rehash bool
	sign   func(b *Builder, root phase0.Root) phase0.BLSSignature
	// fork is the fork in whose form it is sent; 0 is the right one.
	fork func(right eth.Fork) eth.Fork
}

// fault makes the fault.
func (c submission) fault() func() Fault {
	return asks(submitPath, func(e *Exchange) bool {
		if err := c.apply(e); err != nil {
			return e.say(http.StatusBadGateway, jsonType, fmt.Sprintf(`{"code":502,"message":%q}`, err))
		}
		return false
	})
}

// apply changes the submission of an exchange.
func (c submission) apply(e *Exchange) error {
	b, media := e.builder, e.Request.Header.Get("Content-Type")
	s, err := probe.ReadSubmissionAs(b.Fork, media, e.Asked)
	if err != nil {
		return err
	}
	root := b.Root(phase0.Slot(s.Message.Slot), s.ExecutionPayload.ParentHash)
	if c.change != nil {
		c.change(b, s)
	}
	if c.rehash {
		if s.ExecutionPayload.BlockHash, err = probe.BlockHash(b.Fork, s, root); err != nil {
			return err
		}
		s.Message.BlockHash = s.ExecutionPayload.BlockHash
	}
	message, err := s.Message.HashTreeRoot()
	if err != nil {
		return fmt.Errorf("hash a message: %w", err)
	}
	if c.sign == nil {
		s.Signature = b.Key.Sign(probe.SigningRoot(message, b.Domain))
	} else {
		s.Signature = c.sign(b, message)
	}
	fork := b.Fork
	if c.fork != nil {
		fork = c.fork(fork)
	}
	document := probe.Submission(fork, s)
	if strings.HasPrefix(media, jsonType) {
		e.Asked, err = document.MarshalJSON()
	} else {
		e.Asked, err = document.MarshalSSZ()
	}
	if err != nil {
		return fmt.Errorf("encode a submission: %w", err)
	}
	return nil
}

// message is a fault in the message alone.
func message(change func(b *Builder, s *builderfulu.SubmitBlockRequest)) func() Fault {
	return submission{change: change}.fault()
}

// content is a fault in the payload, whose hash fits.
func content(change func(b *Builder, s *builderfulu.SubmitBlockRequest)) func() Fault {
	return submission{change: change, rehash: true}.fault()
}

// request is a fault in what stands around a submission.
func request(change func(e *Exchange)) func() Fault {
	return asks(submitPath, func(e *Exchange) bool {
		change(e)
		return false
	})
}

// drops is a fault by which some submissions do not reach their relay.
func drops(which func(e *Exchange) bool) func() Fault {
	return asks(submitPath, func(e *Exchange) bool { return which(e) && e.say(http.StatusOK, "", "") })
}

// builderMutants returns the mutants that are put between a builder and its relays.
func builderMutants() []Mutant {
	return slices.Concat(builderForms(), builderMessages(), builderPayloads(), builderHabits())
}

func builderForms() []Mutant {
	return []Mutant{
		{"builder-bids-in-every-other-slot", "builder", "bids in every other slot", []string{"BLD-SUB-01"},
			drops(func(e *Exchange) bool {
				s, err := probe.ReadSubmissionAs(e.builder.Fork, e.Request.Header.Get("Content-Type"), e.Asked)
				return err == nil && s.Message.Slot%2 == 0
			})},
		{"builder-names-another-content-type", "builder", "names another content type", []string{"BLD-SUB-02"},
			request(func(e *Exchange) {
				e.Request.Header.Set("Content-Type", "text/plain")
			})},
		{"builder-leaves-out-last-byte-of-body", "builder", "leaves out the last byte of a body", []string{"BLD-SUB-03"},
			request(func(e *Exchange) {
				e.Asked = e.Asked[:len(e.Asked)-1]
			})},
		{"builder-says-gzip-of-what-not-packed", "builder", "says gzip of what is not packed", []string{"BLD-SUB-04"},
			request(func(e *Exchange) {
				e.Request.Header.Set("Content-Encoding", "gzip")
			})},
		{"builder-names-another-fork", "builder", "names another fork", []string{"BLD-SUB-05"}, request(func(e *Exchange) {
			e.Request.Header.Set("Eth-Consensus-Version", "phase0")
		})},
		{"builder-submits-in-form-of-older-fork", "builder", "submits in the form of an older fork", []string{"BLD-SUB-06"},
			submission{fork: func(right eth.Fork) eth.Fork {
				older := right
				for _, one := range eth.Forks() { // the newest that has no execution requests or no blobs, as the right one has
					if one.HasRequests() != right.HasRequests() || one.HasBlobs() != right.HasBlobs() {
						older = one
					}
				}
				return older
			}}.fault()},
		{"builder-signs-with-key-that-it-does-not-name", "builder", "signs with a key that it does not name",
			[]string{"BLD-SUB-07"},
			submission{sign: func(b *Builder, root phase0.Root) phase0.BLSSignature {
				return probe.DeriveBLSKey("somebody else").Sign(probe.SigningRoot(root, b.Domain))
			}}.fault()},
		{"builder-signs-for-mainnet", "builder", "signs for mainnet", []string{"BLD-SUB-08"},
			submission{sign: func(b *Builder, root phase0.Root) phase0.BLSSignature {
				return b.Key.Sign(probe.SigningRoot(root, probe.Domain(probe.DomainBuilder, phase0.Version{}, phase0.Root{})))
			}}.fault()},
	}
}

func builderMessages() []Mutant {
	return []Mutant{
		{"builder-names-another-block-hash", "builder", "names another block hash", []string{"BLD-MSG-01"},
			message(func(_ *Builder, s *builderfulu.SubmitBlockRequest) { s.Message.BlockHash[31] ^= 1 })},
		{"builder-names-another-parent", "builder", "names another parent", []string{"BLD-MSG-02"},
			message(func(_ *Builder, s *builderfulu.SubmitBlockRequest) { s.Message.ParentHash[31] ^= 1 })},
		{"builder-names-another-gas-limit", "builder", "names another gas limit", []string{"BLD-MSG-03"},
			message(func(_ *Builder, s *builderfulu.SubmitBlockRequest) { s.Message.GasLimit++ })},
		{"builder-names-more-gas-than-payload-uses", "builder", "names more gas than the payload uses",
			[]string{"BLD-MSG-04"},
			message(func(_ *Builder, s *builderfulu.SubmitBlockRequest) { s.Message.GasUsed++ })},
		{"builder-names-itself-as-proposer", "builder", "names itself as proposer", []string{"BLD-MSG-05"},
			message(func(_ *Builder, s *builderfulu.SubmitBlockRequest) {
				s.Message.ProposerPubkey = s.Message.BuilderPubkey
			})},
		{"builder-names-fee-recipient-that-nobody-has-registered", "builder",
			"names a fee recipient that nobody has registered", []string{"BLD-MSG-06"},
			message(func(_ *Builder, s *builderfulu.SubmitBlockRequest) { s.Message.ProposerFeeRecipient[0] ^= 1 })},
		{"builder-names-next-slot", "builder", "names the next slot", []string{"BLD-MSG-07"},
			message(func(_ *Builder, s *builderfulu.SubmitBlockRequest) { s.Message.Slot++ })},
		{"builder-promises-ether-more-than-block-pays", "builder", "promises an ether more than the block pays",
			[]string{"BLD-BLK-08"},
			message(func(_ *Builder, s *builderfulu.SubmitBlockRequest) {
				s.Message.Value = new(uint256.Int).Add(s.Message.Value, uint256.NewInt(1e18))
			})},
		{"builder-promises-wei-more-than-block-pays", "builder", "promises a wei more than the block pays",
			[]string{"BLD-BLK-08"},
			message(func(_ *Builder, s *builderfulu.SubmitBlockRequest) {
				s.Message.Value = new(uint256.Int).AddUint64(s.Message.Value, 1)
			})},
		{"builder-bids-nothing", "builder", "bids nothing", []string{"BLD-BLK-10"},
			message(func(_ *Builder, s *builderfulu.SubmitBlockRequest) { s.Message.Value = new(uint256.Int) })},
	}
}

func builderPayloads() []Mutant {
	return []Mutant{
		{"builder-builds-on-unknown-parent", "builder", "builds on a parent that there is not", []string{"BLD-BLK-01"},
			content(func(_ *Builder, s *builderfulu.SubmitBlockRequest) {
				s.ExecutionPayload.ParentHash[31] ^= 1
				s.Message.ParentHash = s.ExecutionPayload.ParentHash
			})},
		{"builder-leaves-out-block-number", "builder", "leaves out a block number", []string{"BLD-BLK-02"},
			content(func(_ *Builder, s *builderfulu.SubmitBlockRequest) { s.ExecutionPayload.BlockNumber++ })},
		{"builder-is-second-late-in-its-timestamp", "builder", "is a second late in its timestamp", []string{"BLD-BLK-03"},
			content(func(_ *Builder, s *builderfulu.SubmitBlockRequest) { s.ExecutionPayload.Timestamp++ })},
		{"builder-prev-randao-of-its-own", "builder", "has a prev_randao of its own", []string{"BLD-BLK-04"},
			content(func(_ *Builder, s *builderfulu.SubmitBlockRequest) { s.ExecutionPayload.PrevRandao[0] ^= 1 })},
		{"builder-adds-withdrawal", "builder", "adds a withdrawal", []string{"BLD-BLK-05"},
			content(func(_ *Builder, s *builderfulu.SubmitBlockRequest) {
				s.ExecutionPayload.Withdrawals = append(s.ExecutionPayload.Withdrawals, &capella.Withdrawal{Amount: 1})
			})},
		{"builder-block-hash-that-does-not-follow-from-payload", "builder",
			"has a block hash that does not follow from the payload", []string{"BLD-BLK-06"},
			message(func(_ *Builder, s *builderfulu.SubmitBlockRequest) {
				s.ExecutionPayload.BlockHash[31] ^= 1
				s.Message.BlockHash = s.ExecutionPayload.BlockHash
			})},
		{"builder-another-state-root", "builder", "has another state root", []string{"BLD-BLK-07"},
			content(func(_ *Builder, s *builderfulu.SubmitBlockRequest) { s.ExecutionPayload.StateRoot[0] ^= 1 })},
		{"builder-another-receipts-root", "builder", "has another receipts root", []string{"BLD-BLK-07"},
			content(func(_ *Builder, s *builderfulu.SubmitBlockRequest) { s.ExecutionPayload.ReceiptsRoot[0] ^= 1 })},
		{"builder-raises-gas-limit-by-one", "builder", "raises the gas limit by one", []string{"BLD-BLK-09"},
			content(func(_ *Builder, s *builderfulu.SubmitBlockRequest) {
				s.ExecutionPayload.GasLimit++
				s.Message.GasLimit = s.ExecutionPayload.GasLimit
			})},
		{"builder-another-logs-bloom", "builder", "has another logs bloom", []string{"BLD-BLK-07"},
			content(func(_ *Builder, s *builderfulu.SubmitBlockRequest) { s.ExecutionPayload.LogsBloom[0] ^= 1 })},
	}
}

func builderHabits() []Mutant {
	return []Mutant{
		{"builder-bids-in-slots-whose-proposer-not-listed", "builder", "bids in slots whose proposer is not listed",
			[]string{"BLD-SLT-01"},
			document(dutiesPath, fillDuties)},
		{"builder-keeps-first-registration-of-validator", "builder", "keeps the first registration of a validator",
			[]string{"BLD-SLT-02"}, keepsFirst},
		{"builder-lowers-bids-without-cancellations", "builder", "lowers bids without cancellations=1",
			[]string{"BLD-CAN-01"}, request(func(e *Exchange) {
				e.Request.URL.RawQuery = ""
			})},
		{"builder-says-true-in-place-of-1", "builder", "says true in place of 1", []string{"BLD-CAN-02"},
			request(func(e *Exchange) {
				e.Request.URL.RawQuery = url.Values{"cancellations": {"true"}}.Encode()
			})},
		{"builder-another-api-key-each-time", "builder", "has another API key each time", []string{"BLD-IDN-01"},
			func() Fault {
				n := 0
				return request(func(e *Exchange) {
					n++
					e.Request.Header.Set("X-Api-Key", strconv.Itoa(n))
				})()
			}},
		{"builder-tells-last-relay-keys-of-others", "builder", "tells the last relay the keys of the others",
			[]string{"BLD-IDN-02"}, request(func(e *Exchange) {
				if e.builder.Last {
					e.Request.Header.Set("X-Other", "gavel-conformance-key-a, gavel-conformance-key-b")
				}
			})},
		{"builder-numbers-all-submissions-alike", "builder", "numbers all submissions alike", []string{"BLD-IDN-03"},
			request(func(e *Exchange) {
				e.Request.Header.Set("X-Sequence", "7")
			})},
		{"builder-another-key-in-every-other-slot", "builder", "has another key in every other slot",
			[]string{"BLD-IDN-04"}, func() Fault {
				key := probe.DeriveBLSKey("another key")
				odd := false
				return submission{
					change: func(_ *Builder, s *builderfulu.SubmitBlockRequest) {
						if odd = s.Message.Slot%2 == 1; odd {
							s.Message.BuilderPubkey = key.Public
						}
					},
					sign: func(b *Builder, root phase0.Root) phase0.BLSSignature {
						by := b.Key
						if odd {
							by = key
						}
						return by.Sign(probe.SigningRoot(root, b.Domain))
					},
				}.fault()()
			}},
		{"builder-bids-at-all-relays-but-last", "builder", "bids at all relays but the last", []string{"BLD-REL-01",
			"BLD-REL-02", "BLD-REL-03",
			"BLD-REL-05"},
			drops(func(e *Exchange) bool { return e.builder.Last })},
		{"builder-does-not-see-retry-after", "builder", "does not see Retry-After", []string{"BLD-RFS-02", "BLD-RFS-03"},
			answers(submitPath,
				func(e *Exchange) { e.Header.Del("Retry-After") })},
		{"builder-does-not-read-that-payload-delivered", "builder", "does not read that a payload is delivered",
			[]string{"BLD-RFS-04"}, repeatOnStatus(9, 400)},
		{"builder-sends-what-was-taken-once-more", "builder", "sends what was taken once more", []string{"BLD-RFS-05"},
			repeatOnStatus(1, 200)},
		{"builder-repeats-what-refused", "builder", "repeats what is refused", []string{"BLD-RFS-01"}, repeatOnStatus(9,
			400)},
		{"builder-does-not-bid-again-where-it-was-refused", "builder", "does not bid again where it was refused",
			[]string{"BLD-REL-04"}, func() Fault {
				failed := false
				return Fault{
					Ask:    func(e *Exchange) bool { return failed && e.on(submitPath) && e.say(http.StatusOK, "", "") },
					Answer: func(e *Exchange) { failed = failed || e.on(submitPath) && e.Status >= 400 },
				}
			}},
	}
}

// repeatOnStatus is a fault by which a request is sent so many times more if it is answered with a
// status.
func repeatOnStatus(times, status int) func() Fault {
	return answers(submitPath, func(e *Exchange) {
		for range times {
			if e.Status != status || e.forward(e.base) != nil {
				return
			}
		}
	})
}

// fillDuties lists a proposer for slots that have none: that of another slot.
func fillDuties(d any) any {
	list, _ := d.([]any)
	known := map[uint64]bool{}
	var first, last uint64
	for _, entry := range list {
		slot, err := strconv.ParseUint(text(object(entry)["slot"]), 10, 64)
		if err != nil {
			return d
		}
		if known[slot] = true; first == 0 {
			first = slot
		}
		last = max(last, slot)
	}
	for slot := first; slot < last; slot++ {
		if !known[slot] {
			entry := map[string]any{}
			for name, value := range object(list[0]) {
				entry[name] = value
			}
			entry["slot"] = strconv.FormatUint(slot, 10)
			list = append(list, entry)
		}
	}
	return list
}

// keepsFirst is a fault by which a builder sees the first registration of each validator for ever.
func keepsFirst() Fault {
	first := map[string]json.RawMessage{}
	return Fault{Answer: func(e *Exchange) {
		var list []map[string]json.RawMessage
		if !e.on(dutiesPath) || json.Unmarshal(e.Body, &list) != nil {
			return
		}
		for _, entry := range list {
			index := string(entry["validator_index"])
			if first[index] == nil {
				first[index] = entry["entry"]
			}
			entry["entry"] = first[index]
		}
		if raw, err := json.Marshal(list); err == nil && list != nil {
			e.Body = raw
		}
	}}
}
