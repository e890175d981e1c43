package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"time"

	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Handler returns the handler by which the suite controls the world. Requests and answers are JSON;
// a refusal is text with a status.
func (w *World) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /conformance/v1/world", func(rw http.ResponseWriter, _ *http.Request) { answer(rw, w.Facts, nil) })
	mux.HandleFunc("GET /conformance/v1/followers", func(rw http.ResponseWriter, _ *http.Request) {
		answer(rw, w.followers.now(), nil)
	})
	mux.HandleFunc("POST /conformance/v1/slot", func(rw http.ResponseWriter, r *http.Request) {
		var wanted Wanted
		if !read(rw, r, &wanted) {
			return
		}
		slot, err := w.give(r.Context(), wanted)
		answer(rw, slot, err)
	})
	mux.HandleFunc("POST /conformance/v1/block", func(rw http.ResponseWriter, r *http.Request) {
		var order Order
		if !read(rw, r, &order) {
			return
		}
		raw, err := w.build(r.Context(), order)
		answerSSZ(rw, raw, err)
	})
	mux.HandleFunc("POST /conformance/v1/refuse", func(rw http.ResponseWriter, r *http.Request) {
		var wanted Refused
		if read(rw, r, &wanted) {
			answer(rw, w.refuse(wanted.Slot), nil)
		}
	})
	mux.HandleFunc("POST /conformance/v1/overtake", func(rw http.ResponseWriter, r *http.Request) {
		var wanted Overtaken
		if read(rw, r, &wanted) {
			answer(rw, w.overtake(wanted.Slot), nil)
		}
	})
	mux.HandleFunc("POST /conformance/v1/account", func(rw http.ResponseWriter, _ *http.Request) {
		account, err := w.lend()
		answer(rw, account, err)
	})
	mux.HandleFunc("POST /conformance/v1/include", func(rw http.ResponseWriter, r *http.Request) {
		var txs []common.Hash
		if !read(rw, r, &txs) {
			return
		}
		w.builders.want(txs)
		answer(rw, struct{}{}, nil)
	})
	mux.HandleFunc("POST /conformance/v1/sent", func(rw http.ResponseWriter, r *http.Request) {
		var tx common.Hash
		if !read(rw, r, &tx) {
			return
		}
		answer(rw, w.builders.listSent(tx), nil)
	})
	w.handleEnvelopes(mux)
	return mux
}

// handleEnvelopes adds what is there for slots of gloas.
func (w *World) handleEnvelopes(mux *http.ServeMux) {
	mux.HandleFunc("POST /conformance/v1/envelopes", func(rw http.ResponseWriter, r *http.Request) {
		var slot phase0.Slot
		if read(rw, r, &slot) {
			answer(rw, w.envelopesOf(slot), nil)
		}
	})
	mux.HandleFunc("POST /conformance/v1/refuse-envelopes", func(rw http.ResponseWriter, r *http.Request) {
		var fault EnvelopeFault
		if read(rw, r, &fault) {
			w.refuseEnvelopes(fault)
			answer(rw, struct{}{}, nil)
		}
	})
}

func read(rw http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, 1<<20)).Decode(into); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func answer(rw http.ResponseWriter, value any, err error) {
	if err != nil {
		http.Error(rw, err.Error(), http.StatusConflict)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(rw).Encode(value); err != nil {
		return // the client is gone
	}
}

func answerSSZ(rw http.ResponseWriter, raw []byte, err error) {
	if err != nil {
		answer(rw, nil, err)
		return
	}
	rw.Header().Set("Content-Type", sszMedia)
	_, _ = rw.Write(raw) // the client may be gone
}

// leastLeft is how much time a spec needs before its slot begins, as a part of a slot's duration.
// hurriedLeft is the same for a spec that takes whatever time is left (Wanted.Hurry).
const (
	leastLeft   = 0.4
	hurriedLeft = 0.15
)

// give waits for the next slot of the wanted kind that can be given and for which a block can be
// built.
func (w *World) give(ctx context.Context, wanted Wanted) (*Slot, error) {
	if wanted.Empty {
		w.wantEmpty(1)
		defer w.wantEmpty(-1)
	}
	for {
		w.mu.Lock()
		news := w.news
		if slot := w.take(wanted); slot != nil {
			w.mu.Unlock()
			return slot, nil
		}
		w.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return nil, fmt.Errorf("no slot of a %s validator came: %w", wanted.Kind, ctx.Err())
		}
	}
}

// wantEmpty counts the specs that wait for a slot on an empty parent.
func (w *World) wantEmpty(more int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.emptyWanted += more
}

// stepGwei is by how much the bids of one spec are above those of the spec before it in the same
// slot.
const stepGwei = 100_000

// take gives the newest slot to a spec if it fits, and returns nil otherwise. The caller holds mu.
func (w *World) take(wanted Wanted) *Slot {
	slot, least := w.newest, leastLeft
	if wanted.Hurry {
		least = hurriedLeft
	}
	if slot == nil || slot.Slot < wanted.From || slot.Empty != wanted.Empty ||
		KindOf(slot.ValidatorIndex, w.cfg.Validators) != wanted.Kind ||
		w.network.Spec.SlotStart(slot.Slot).Sub(w.cfg.Clock.Now()) < time.Duration(least*float64(w.cfg.Slot)) {
		return nil
	}
	alone := wanted.Alone || wanted.Propose
	switch {
	case slot.Slot > w.given:
		w.given, w.sharer, w.bids = slot.Slot, "", 0
		if !alone {
			w.sharer = wanted.Who
		}
		w.reserved[slot.Slot] = wanted.Propose
	case alone || w.sharer == "" || w.sharer != wanted.Who:
		return nil
	}
	given := *slot
	given.BaseGwei = w.bids * stepGwei
	w.bids++
	return &given
}

// lend returns an account that was not given to a spec before.
func (w *World) lend() (*Account, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.account == w.cfg.Accounts {
		return nil, errors.New("all accounts are given away: start the world anew")
	}
	w.account++
	return &Account{SecretKey: fmt.Sprintf("%#x", crypto.FromECDSA(w.network.Users[w.account-1]))}, nil
}

// build builds the ordered block. In its last transaction the builder's wallet pays the proposer.
// It returns a submission without a message and without a signature, as SSZ of the fork's
// SubmitBlockRequest.
func (w *World) build(ctx context.Context, order Order) ([]byte, error) {
	pays, overflow := uint256.FromBig(orZero(order.PaysWei))
	if overflow {
		return nil, errors.New("paysWei has more than 256 bits")
	}
	wallet := w.network.Builders[0]
	args := chain.BuildArgs{
		Parent: order.Slot.ParentHash, Slot: order.Slot.Slot, PrevRandao: order.Slot.PrevRandao,
		Withdrawals:      order.Slot.Withdrawals,
		ParentBeaconRoot: order.Slot.ParentRoot, Coinbase: network.Address(wallet), GasLimitTarget: order.GasLimit,
		ExtraData: []byte(order.Extra),
		Payment:   &chain.Payment{From: wallet, To: common.HexToAddress(order.FeeRecipient), ValueWei: pays},
	}
	var err error
	if args.Transactions, err = w.special(ctx, order); err != nil {
		return nil, err
	}
	built, err := w.network.Chain.Build(ctx, args)
	if err != nil {
		return nil, err
	}
	if built.Left > 0 {
		return nil, errors.New("a transaction with blobs, requests or data did not fit")
	}
	encode := submission
	if built.Gloas != nil {
		encode = submissionV6
	}
	raw, err := encode(built)
	if err != nil {
		return nil, fmt.Errorf("encode the block: %w", err)
	}
	return raw, nil
}

func orZero(n *big.Int) *big.Int {
	if n == nil {
		return new(big.Int)
	}
	return n
}

// submission encodes a block as a submission with an empty message.
func submission(built *chain.Built) ([]byte, error) {
	s := &builderfulu.SubmitBlockRequest{
		Message: &builderv1.BidTrace{Value: new(uint256.Int)}, ExecutionPayload: built.Payload,
		ExecutionRequests: built.Requests,
	}
	if built.Blobs != nil {
		s.BlobsBundle = &builderfulu.BlobsBundle{Commitments: built.Blobs.Commitments, Proofs: built.Blobs.Proofs,
			Blobs: built.Blobs.Blobs}
	}
	return probe.Submission(built.Fork, s).MarshalSSZ()
}

// submissionV6 is submission for blocks of gloas.
func submissionV6(built *chain.Built) ([]byte, error) {
	return gloas.Mainnet.SignedBidSubmissionV6.Encode(
		built.SubmissionV6(&builderv1.BidTrace{Value: new(uint256.Int)}, phase0.BLSSignature{}))
}
