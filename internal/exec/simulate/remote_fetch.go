package simulate

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/internal/exec"
)

// maxBatch is how many calls one request makes at most; nodes allow from a hundred to a thousand.
const maxBatch = 96

// wanted is what to fetch of the state after a block. An account takes up to three calls.
type wanted struct {
	accounts []common.Address
	slots    []slotKey
	codes    []common.Address
}

func (w wanted) empty() bool { return len(w.accounts)+len(w.slots)+len(w.codes) == 0 }

// split removes from w as much as one request can ask for, and returns it.
func (w *wanted) split() (part wanted) {
	room := maxBatch - 1 // one call may be for the block's hash
	take := min(len(w.accounts), room/3)
	part.accounts, w.accounts, room = w.accounts[:take], w.accounts[take:], room-3*take
	take = min(len(w.slots), room)
	part.slots, w.slots, room = w.slots[:take], w.slots[take:], room-take
	take = min(len(w.codes), room)
	part.codes, w.codes = w.codes[:take], w.codes[take:]
	return part
}

// found has the answers to wanted, in the same order.
type found struct {
	accounts []account
	slots    []common.Hash
	codes    [][]byte
	// extra are codes that came with accounts, by their hashes.
	extra map[common.Hash][]byte
}

// fetch asks for a part of the state in one request: a batch if it takes more than one call. If a
// node refuses a form of question, fetch asks in another form and remembers that for the node.
func (s *RemoteStates) fetch(ctx context.Context, block *types.Header, w wanted) (found, error) {
	var got found
	err := s.nodes.ask(ctx, "get state", func(ctx context.Context, n *node, client *rpc.Client) error {
		proofs, hashes := n.knows()
		for {
			q := newQuestion(block, proofs, hashes)
			answer, err := q.put(ctx, client, w)
			switch {
			case proofs && errors.Is(err, errNoProofs):
				proofs = false
			case hashes && errors.Is(err, errNoHashes):
				hashes = false
			case err != nil:
				return err
			default:
				n.noteLacking(!proofs, !hashes)
				got = answer
				return nil
			}
		}
	})
	return got, err
}

// Errors for forms of question that a node refuses.
var (
	errNoProofs = errors.New("eth_getProof is refused")
	errNoHashes = errors.New("state by block hash is refused")
)

// question is one request being made: calls, and what to do with their results.
type question struct {
	block  *types.Header
	proofs bool
	hashes bool
	calls  []rpc.BatchElem
	read   []func() error
}

func newQuestion(block *types.Header, proofs, hashes bool) *question {
	return &question{block: block, proofs: proofs, hashes: hashes}
}

// put sends the question for w, and reads the answer.
func (q *question) put(ctx context.Context, client *rpc.Client, w wanted) (found, error) {
	got := found{
		accounts: make([]account, len(w.accounts)), slots: make([]common.Hash, len(w.slots)), codes: make([][]byte,
			len(w.codes)),
		extra: map[common.Hash][]byte{},
	}
	for i, address := range w.accounts {
		q.account(address, &got.accounts[i], got.extra)
	}
	for i, key := range w.slots {
		q.slot(key, &got.slots[i])
	}
	for i, address := range w.codes {
		q.code(address, &got.codes[i])
	}
	if !q.hashes {
		q.askWhetherThere()
	}
	if err := q.send(ctx, client); err != nil {
		return found{}, err
	}
	for _, read := range q.read {
		if err := read(); err != nil {
			return found{}, err
		}
	}
	return got, nil
}

// send makes the calls, and returns the first error.
func (q *question) send(ctx context.Context, client *rpc.Client) error {
	if len(q.calls) == 1 {
		call := &q.calls[0]
		call.Error = client.CallContext(ctx, call.Result, call.Method, call.Args...)
	} else if err := client.BatchCallContext(ctx, q.calls); err != nil {
		return err
	}
	for _, call := range q.calls {
		err := call.Error
		said := rpc.Error(nil)
		switch {
		case err == nil:
		case errors.As(err, &said) && saysAbsent(said):
			return err
		case said != nil && call.Method == "eth_getProof" && q.proofs:
			// whatever the reason is: some nodes serve proofs for the newest block only
			return fmt.Errorf("%w: %s", errNoProofs, said.Error())
		case q.hashes && isRefused(err, codeParams):
			return fmt.Errorf("%w: %s", errNoHashes, said.Error())
		default:
			return fmt.Errorf("%s: %w", call.Method, err)
		}
	}
	return nil
}

// at is the parameter that names the block: by hash (EIP-1898), or by number.
func (q *question) at() any {
	if q.hashes {
		return struct {
			Hash      common.Hash `json:"blockHash"`
			Canonical bool        `json:"requireCanonical"`
		}{Hash: q.block.Hash()}
	}
	return rpc.BlockNumber(q.block.Number.Int64())
}

func (q *question) call(result any, method string, args ...any) {
	q.calls = append(q.calls, rpc.BatchElem{Method: method, Args: args, Result: result})
}

// account asks by eth_getProof, or by three calls that together tell the same except for the
// storage root. No result depends on that root.
func (q *question) account(address common.Address, to *account, codes map[common.Hash][]byte) {
	if q.proofs {
		var proof accountAnswer
		q.call(&proof, "eth_getProof", address, []string{}, q.at())
		q.read = append(q.read, func() (err error) {
			*to, err = proof.account(address)
			return err
		})
		return
	}
	var plain plainAnswer
	q.call(&plain.balance, "eth_getBalance", address, q.at())
	q.call(&plain.nonce, "eth_getTransactionCount", address, q.at())
	q.call(&plain.code, "eth_getCode", address, q.at())
	q.read = append(q.read, func() (err error) {
		*to, err = plain.account(address)
		if err == nil && len(*plain.code) > 0 {
			codes[crypto.Keccak256Hash(*plain.code)] = *plain.code
		}
		return err
	})
}

func (q *question) slot(key slotKey, to *common.Hash) {
	var value *word
	q.call(&value, "eth_getStorageAt", key.address, key.slot, q.at())
	q.read = append(q.read, func() error {
		if value == nil {
			return impossible("no value for slot %s of %s", key.slot, key.address)
		}
		*to = common.Hash(*value)
		return nil
	})
}

func (q *question) code(address common.Address, to *[]byte) {
	var plain plainAnswer
	q.call(&plain.code, "eth_getCode", address, q.at())
	q.read = append(q.read, func() error {
		if plain.code == nil {
			return impossible("no code for %s", address)
		}
		*to = *plain.code
		return nil
	})
}

// askWhetherThere asks whether the chain still has this block at its number.
func (q *question) askWhetherThere() {
	var header *struct {
		Hash common.Hash `json:"hash"`
	}
	q.call(&header, "eth_getBlockByNumber", q.at(), false)
	q.read = append(q.read, func() error {
		if header == nil || header.Hash != q.block.Hash() {
			return fmt.Errorf("%w: block %d is not %s any longer", exec.ErrUnknownBlock, q.block.Number, q.block.Hash())
		}
		return nil
	})
}
