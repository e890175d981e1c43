package method

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// Submitter takes orders.
type Submitter interface {
	// Head is the newest block of the chain, zero while none is known.
	Head() rpc.Head
	// Submit adds an order and returns the one that stands. Its error is a *rpc.Refused, or our own.
	Submit(at time.Time, order *rpc.Order) (*rpc.Order, error)
}

// Prober puts an order that may be followed in the place of its double hash.
type Prober interface {
	// Probe is the whole bundle, which may be simulated for the next block, once: its signer may learn
	// from it whether it can be included, and nothing else. Its error is a *rpc.Refused.
	Probe(order *rpc.Order) (*rpc.Order, error)
}

// Canceller ends orders of their signers.
type Canceller interface {
	// Cancel ends what the signer has under a replacementUuid, and keeps out for a while what comes
	// under it. Its error is a *rpc.Refused.
	Cancel(at time.Time, signer common.Address, replacement uuid.UUID) error
	// CancelPrivate ends a private transaction and says whether there was one to end. Its error is a
	// *rpc.Refused.
	CancelPrivate(at time.Time, signer common.Address, txHash common.Hash) (bool, error)
}

// Turns bounds what is simulated at a time, and by whom: a signer, and the network that it comes
// from, empty if that is not known. Its error is a *rpc.Refused, or the context's.
type Turns interface {
	Do(ctx context.Context, signer common.Address, source string, run func(context.Context)) error
}

// Methods has what the methods ask.
type Methods struct {
	Submitter Submitter
	Canceller Canceller
	// Prober is there in literal mode only: then mev_simBundle takes bundles that follow a hash.
	Prober    Prober
	Tracker   Tracker
	Simulator exec.Simulator
	Turns     Turns
	Refunds   Refunds
	Delayed   DelayedRefunds
	Mev       MevRefunds
	Receivers Receivers
	Users     Users
	Facts     rpc.Facts
	// Chain is the one that transactions must be for, Senders finds who sent them, and Limits are the
	// numbers of the rules.
	Chain   *bundle.Chain
	Senders bundle.Senders
	Limits  bundle.Config
}

// intake is what a call is judged by.
func (m *Methods) intake(call *Call) bundle.Intake {
	return bundle.Intake{Signer: call.Signer, At: call.At, Head: m.Submitter.Head(), Chain: m.Chain, Senders: m.Senders,
		Limits: m.Limits}
}

// All are all methods.
func (m *Methods) All() []Method {
	return []Method{
		m.sendBundle(), m.sendShare(), m.callBundle(), m.simBundle(), m.cancelBundle(),
		m.sendPrivate(), m.sendPrivateRaw(), m.sendRaw(), m.cancelPrivate(), m.estimateGas(),
		m.refundTotals(), m.refundsByRecipient(), m.refundsByBundle(), m.refundsByBlock(), m.setRecipient(),
		m.delayedRefunds(), m.delayedTotals(), m.mevTotalByRecipient(), m.mevTotalBySender(),
		m.bundleStats(), m.userStats(), m.bundleStatsV1(), m.userStatsV1(), m.orderStatus(),
	}
}

// Call is one call of a method.
type Call struct {
	// Params is the list of parameters as it came; empty if there was none.
	Params json.RawMessage
	// Signer is whoever signed the request.
	Signer common.Address
	// Source is the network that the request came from; empty if that is not known.
	Source string
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
	// Example are parameters that work, as an argument of a shell between single quotes; docs/rpc.md
	// says what its variables are.
	Example  string
	Result   *Schema
	Refusals []rpc.Refusal
	// Beyond: it is not part of the interface description; clients ship it, or we offer it.
	Beyond bool
	// Unsigned: it may be called without a signature. A wrong one is refused there too.
	Unsigned bool
	Do       func(ctx context.Context, call *Call) (any, error)
}

// Param is one positional parameter.
type Param struct {
	Name     string  `json:"name"`
	Required bool    `json:"required"`
	Schema   *Schema `json:"schema"`
}

// required and perhaps are parameters that must be there, and that may.
func required(name string, schema *Schema) Param { return Param{name, true, schema} }
func optional(name string, schema *Schema) Param { return Param{name, false, schema} }
