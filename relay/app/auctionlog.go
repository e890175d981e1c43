package app

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/deliver"
	"github.com/gavel-relay/gavel/relay/submit"
)

// auctionLog is the auction log in the cluster. Its subjects contain the network, as the guard's
// keys do. An error of it starts a test of the parts of a delivery.
type auctionLog struct {
	journal *journal.Journal
	network string
	probe   *deliver.Probe
}

func (l auctionLog) subject(slot phase0.Slot) string {
	return l.network + "." + strconv.FormatUint(uint64(slot), 10)
}

// Append implements submit.Log.
func (l auctionLog) Append(ctx context.Context, slot phase0.Slot, entry []byte) error {
	_, err := l.journal.AppendAuction(ctx, l.subject(slot), entry)
	suspect(ctx, l.probe, err)
	return err
}

// Begin implements submit.Log.
func (l auctionLog) Begin(ctx context.Context, slot phase0.Slot, entry []byte) error {
	err := l.journal.BeginAuction(ctx, l.subject(slot), entry)
	suspect(ctx, l.probe, err)
	return err
}

// slotOf returns the slot of a subject; false if it is of no slot of the network.
func slotOf(network, subject string) (phase0.Slot, bool) {
	of, number, _ := strings.Cut(subject, ".")
	slot, err := strconv.ParseUint(number, 10, 64)
	return phase0.Slot(slot), of == network && err == nil
}

// hearAuction applies an entry of the auction log.
func (i *instances) hearAuction(number uint64, _ time.Time, subject string, data []byte) error {
	if slot, ours := slotOf(networkName(i.app.spec), subject); ours {
		i.app.submit.Hear(number, slot, data)
	} else {
		i.app.submit.HearOther(number)
	}
	i.auctions.note(number)
	return nil
}

// catchUp returns when all entries of the auction log are applied that were there before the call:
// with less than that another bid could seem to lead.
func (i *instances) catchUp(ctx context.Context) error {
	last, err := i.app.journal.LastAuction(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	return i.auctions.wait(ctx, last)
}

// catchUpTime is how long an instance that starts may take to read the auction log (wall time).
const catchUpTime = 30 * time.Second

// deliveredHere tells the other instances of deliveries of this one by the auction log. It listens
// to facts.
type deliveredHere struct{ app *App }

// Record implements relay.Facts.
func (d deliveredHere) Record(fact relay.Fact) {
	if delivered, is := fact.(relay.PayloadDelivered); is {
		d.app.submit.SlotDelivered(delivered.Slot)
	}
}

// shareAuction makes the pipeline one of several on the auction log, if the journal is a cluster.
func (a *App) shareAuction(pipeline *submit.Config) {
	if a.instance == "" {
		return
	}
	pipeline.Log, pipeline.Instance = auctionLog{a.journal, networkName(a.spec), a.probe}, a.instance
}
