package method

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// Taker takes orders.
type Taker interface {
	// Head is the newest block of the chain, zero while none is known.
	Head() rpc.Head
	// Take adds an order and returns the one that stands. Its error is a *rpc.Refused, or our own.
	Take(at time.Time, order *rpc.Order) (*rpc.Order, error)
}

// Canceller ends orders of their signers.
type Canceller interface {
	// Cancel ends what the signer has under a replacementUuid, and keeps out for a while what comes under it.
	Cancel(at time.Time, signer common.Address, replacement uuid.UUID)
	// CancelPrivate ends a private transaction and says whether there was one to end.
	CancelPrivate(at time.Time, signer common.Address, txHash common.Hash) bool
}

// Turns bounds what is simulated at a time, and by whom. Its error is a *rpc.Refused, or the context's.
type Turns interface {
	Do(ctx context.Context, signer common.Address, run func(context.Context)) error
}

// House has what the methods ask.
type House struct {
	Taker     Taker
	Canceller Canceller
	Tracker   Tracker
	Simulator exec.Simulator
	Turns     Turns
	Refunds   Refunds
	Delayed   DelayedRefunds
	Receivers Receivers
	Users     Users
	Facts     rpc.Facts
	// Chain knows the senders of this chain's transactions, Senders remembers them, and Limits are the numbers of the rules.
	Chain   types.Signer
	Senders bundle.Senders
	Limits  bundle.Config
}

// intake is what a call is judged by.
func (h *House) intake(call *Call) bundle.Intake {
	return bundle.Intake{Signer: call.Signer, At: call.At, Head: h.Taker.Head(), Chain: h.Chain, Senders: h.Senders, Limits: h.Limits}
}

// Methods are all methods.
func (h *House) Methods() []Method {
	return []Method{
		h.sendBundle(), h.sendShare(), h.callBundle(), h.simBundle(), h.cancelBundle(),
		h.sendPrivate(), h.sendPrivateRaw(), h.sendRaw(), h.cancelPrivate(), h.estimateGas(),
		h.refundTotals(), h.refundsByRecipient(), h.refundsByBundle(), h.refundsByBlock(), h.setRecipient(),
		h.delayedRefunds(), h.delayedTotals(),
		h.bundleStats(), h.userStats(), h.orderStatus(),
	}
}

// Call is one call of a method.
type Call struct {
	// Params is the list of parameters as it came; empty if there was none.
	Params json.RawMessage
	// Signer is whoever signed the request.
	Signer common.Address
	// At is when the request was complete.
	At time.Time
}

// Method is what a method is called, takes and does. Errors that are no *rpc.Refused are our own.
type Method struct {
	// Name is the canonical one, with the real prefix.
	Name    string
	Summary string
	// About is what a caller should know beyond the summary, as Markdown.
	About  string
	Params []Param
	// Example are parameters that work, as an argument of a shell between single quotes; docs/rpc.md says what its variables are.
	Example  string
	Result   *Schema
	Refusals []rpc.Refusal
	// Beyond: it is not part of the interface description; clients ship it, or we offer it.
	Beyond bool
	Do     func(ctx context.Context, call *Call) (any, error)
}

// Param is one positional parameter.
type Param struct {
	Name     string  `json:"name"`
	Required bool    `json:"required"`
	Schema   *Schema `json:"schema"`
}

// need and perhaps are parameters that must be there, and that may.
func need(name string, schema *Schema) Param    { return Param{name, true, schema} }
func perhaps(name string, schema *Schema) Param { return Param{name, false, schema} }
