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

// Submitter accepts orders.
type Submitter interface {
	// Head is the newest block of the chain, zero while none is known.
	Head() rpc.Head
	// Submit adds an order and returns the one that counts. Its error is a *rpc.Refused, or a fault
	// of the service.
	Submit(at time.Time, order *rpc.Order) (*rpc.Order, error)
}

// Prober replaces a double hash by the order that may be followed.
type Prober interface {
	// Probe returns the whole bundle, which may be simulated once, for the next block: its signer
	// may learn from that whether it can be included, and nothing else. Its error is a
	// *rpc.Refused.
	Probe(order *rpc.Order) (*rpc.Order, error)
}

// Canceller ends orders for their signers.
type Canceller interface {
	// Cancel ends what the signer has under a replacementUuid, and refuses what comes under it for
	// some time. Its error is a *rpc.Refused.
	Cancel(at time.Time, signer common.Address, replacement uuid.UUID) error
	// CancelPrivate ends a private transaction and says whether there was one to end. Its error is a
	// *rpc.Refused.
	CancelPrivate(at time.Time, signer common.Address, txHash common.Hash) (bool, error)
}

// Scheduler bounds how many simulations run at a time, and shares them among signers and the
// networks that they come from; source is empty if that is not known. Its error is a *rpc.Refused,
// or the context's.
type Scheduler interface {
	Do(ctx context.Context, signer common.Address, source string, run func(context.Context)) error
}

// Methods has what the methods need.
type Methods struct {
	Submitter Submitter
	Canceller Canceller
	// Prober is set in literal mode only: then mev_simBundle accepts bundles that follow a hash.
	Prober    Prober
	Tracker   Tracker
	Simulator exec.Simulator
	Scheduler Scheduler
	Refunds   Refunds
	Delayed   DelayedRefunds
	Mev       MevRefunds
	// RefundsPerPage is how many refunds a page has at most; 0 means 500.
	RefundsPerPage int
	Receivers      Receivers
	Users          Users
	Facts          rpc.Facts
	// Chain is the chain that transactions must be for, Senders finds their senders, and Limits has
	// the numbers of the rules.
	Chain   *bundle.Chain
	Senders bundle.Senders
	Limits  bundle.Config
}

// intake is what the result of a call depends on besides its parameters.
func (m *Methods) intake(call *Call) bundle.Intake {
	return bundle.Intake{Signer: call.Signer, At: call.At, Head: m.Submitter.Head(), Chain: m.Chain, Senders: m.Senders,
		Limits: m.Limits}
}

// All returns all methods.
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
	// Signer is the address that signed the request.
	Signer common.Address
	// Source is the network that the request came from; empty if that is not known.
	Source string
	// At is when the request was complete.
	At time.Time
}

// Method is a method: its name, its parameters and what it does. An error that is not a
// *rpc.Refused is a fault of the service.
type Method struct {
	// Name is the canonical name, with the original prefix.
	Name    string
	Summary string
	// About is what a client should know besides the summary, as Markdown.
	About  string
	Params []Param
	// Example are parameters that work, as an argument of a shell between single quotes.
	// docs/rpc.md explains its variables.
	Example  string
	Result   *Schema
	Refusals []rpc.Refusal
	// Beyond says that it is not part of the interface description: clients use it, or this service
	// adds it.
	Beyond bool
	// Unsigned says that it may be called without a signature. A wrong signature is refused even
	// there.
	Unsigned bool
	Do       func(ctx context.Context, call *Call) (any, error)
}

// Param is one positional parameter.
type Param struct {
	Name     string  `json:"name"`
	Required bool    `json:"required"`
	Schema   *Schema `json:"schema"`
}

// required and optional make parameters that must be given, and that may be left out.
func required(name string, schema *Schema) Param { return Param{name, true, schema} }
func optional(name string, schema *Schema) Param { return Param{name, false, schema} }
