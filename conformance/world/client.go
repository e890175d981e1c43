package world

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Client controls a world over HTTP. Its errors are about the world, never about the target.
type Client struct {
	// Facts never change while the world runs.
	Facts Facts

	http *probe.Client
	who  string
}

// dialPatience is how long the world may take to say what it is.
const dialPatience = 30 * time.Second

// leastPatience is how long a question may take at least: the clock of a world stands while its
// process is busy.
const leastPatience = 2 * time.Minute

// Dial connects to a world and reads its facts.
func Dial(ctx context.Context, address string) (*Client, error) {
	c := &Client{http: probe.NewClient(address, nil, dialPatience), who: strconv.Itoa(os.Getpid())}
	if err := c.ask(ctx, http.MethodGet, "/conformance/v1/world", nil, &c.Facts); err != nil {
		return nil, err
	}
	for _, name := range []string{c.Facts.Fork, cmp.Or(c.Facts.NextFork, c.Facts.Fork)} {
		if _, err := eth.ParseFork(name); err != nil {
			return nil, fmt.Errorf("read the world's facts: %w", err)
		}
	}
	c.http = probe.NewClient(address, nil, max(c.Facts.Patience(), leastPatience))
	return c, nil
}

// errNoWorld is for clauses that are judged without a world, and whose specs ask for one.
var errNoWorld = errors.New("this mode has no world")

// ask asks the world a question. A client that is nil answers with an error.
func (c *Client) ask(ctx context.Context, method, path string, question, into any) error {
	body, err := c.exchange(ctx, method, path, question)
	if err != nil {
		return err
	}
	return (&probe.Answer{Body: body}).JSON(into)
}

// exchange asks the world a question and returns the answer as it came.
func (c *Client) exchange(ctx context.Context, method, path string, question any) ([]byte, error) {
	if c == nil {
		return nil, errNoWorld
	}
	body, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("ask the world: %w", err)
	}
	answer, err := c.http.Do(ctx, probe.Request{Method: method, Path: path, Body: body})
	if err != nil {
		return nil, fmt.Errorf("ask the world for %s: %w", path, err)
	}
	if answer.Status != http.StatusOK {
		return nil, fmt.Errorf("ask the world for %s: %s", path, answer)
	}
	return answer.Body, nil
}

// Slot waits for a slot of the wanted kind.
func (c *Client) Slot(ctx context.Context, wanted Wanted) (*Slot, error) {
	slot := new(Slot)
	wanted.Who = c.who
	return slot, c.ask(ctx, http.MethodPost, "/conformance/v1/slot", wanted, slot)
}

// Block has a block built, and returns its submission, without a message and without a signature,
// as SSZ of the fork's SubmitBlockRequest.
func (c *Client) Block(ctx context.Context, order Order) ([]byte, error) {
	return c.exchange(ctx, http.MethodPost, "/conformance/v1/block", order)
}

// Refuse has the beacon node refuse blocks of a slot from now on, and returns how often it has
// refused one.
func (c *Client) Refuse(ctx context.Context, slot phase0.Slot) (times int, err error) {
	var r Refused
	err = c.ask(ctx, http.MethodPost, "/conformance/v1/refuse", Refused{Slot: slot}, &r)
	return r.Times, err
}

// Overtake makes another publisher faster with blocks of a slot from now on: the beacon node gets
// each block from it first. It returns how often that has happened. The node refuses the second
// copy of a block with Prysm's message for an equivocation.
func (c *Client) Overtake(ctx context.Context, slot phase0.Slot) (times int, err error) {
	var o Overtaken
	err = c.ask(ctx, http.MethodPost, "/conformance/v1/overtake", Overtaken{Slot: slot}, &o)
	return o.Times, err
}

// Account returns an account with money that no other spec has.
func (c *Client) Account(ctx context.Context) (*Account, error) {
	account := new(Account)
	return account, c.ask(ctx, http.MethodPost, "/conformance/v1/account", struct{}{}, account)
}

// Include has the world's builder put orders with these transactions into its blocks from now on.
func (c *Client) Include(ctx context.Context, txs ...common.Hash) error {
	return c.ask(ctx, http.MethodPost, "/conformance/v1/include", txs, new(struct{}))
}

// Sent returns what builders were sent about a transaction, oldest first.
func (c *Client) Sent(ctx context.Context, tx common.Hash) (list []Sent, err error) {
	err = c.ask(ctx, http.MethodPost, "/conformance/v1/sent", tx, &list)
	return list, err
}

// Start returns the time at which a slot begins.
func (f Facts) Start(slot *Slot) time.Time { return f.At(slot.Slot) }

// Newest returns the slot that runs at a time; 0 before genesis.
func (f Facts) Newest(at time.Time) phase0.Slot {
	return phase0.Slot(max(0, at.Sub(time.Unix(f.GenesisTime, 0)).Milliseconds()/f.SlotMs))
}

// At returns the time at which the slot with this number begins.
func (f Facts) At(slot phase0.Slot) time.Time {
	// no overflow: far below the limit of a Duration
	return time.Unix(f.GenesisTime, 0).Add(time.Duration(slot) * time.Duration(f.SlotMs) * time.Millisecond)
}
