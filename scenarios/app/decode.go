package app

import (
	"encoding/json"
	"fmt"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/rpc"
)

// decodeRelay decodes a fact of a relay's journal if expectations look at its kind; for other kinds
// it returns nil.
func decodeRelay(subject string, raw json.RawMessage) (relay.Fact, error) {
	return decode(relayFacts, subject, raw)
}

// decodeRPC does the same for the bundle RPC's journal.
func decodeRPC(subject string, raw json.RawMessage) (rpc.Fact, error) {
	return decode(rpcFacts, subject, raw)
}

var relayFacts = map[string]func(json.RawMessage) (relay.Fact, error){
	relay.SubmissionJudged{}.Subject():   as[relay.Fact, relay.SubmissionJudged],
	relay.TopChanged{}.Subject():         as[relay.Fact, relay.TopChanged],
	relay.HeaderServed{}.Subject():       as[relay.Fact, relay.HeaderServed],
	relay.PayloadDelivered{}.Subject():   as[relay.Fact, relay.PayloadDelivered],
	relay.PayloadRefused{}.Subject():     as[relay.Fact, relay.PayloadRefused],
	relay.RegistrationStored{}.Subject(): as[relay.Fact, relay.RegistrationStored],
	relay.BuilderDemoted{}.Subject():     as[relay.Fact, relay.BuilderDemoted],
	relay.PayloadWithheld{}.Subject():    as[relay.Fact, relay.PayloadWithheld],
}

var rpcFacts = map[string]func(json.RawMessage) (rpc.Fact, error){
	rpc.OrderAccepted{}.Subject():  as[rpc.Fact, rpc.OrderAccepted],
	rpc.OrderShared{}.Subject():    as[rpc.Fact, rpc.OrderShared],
	rpc.OrderEnded{}.Subject():     as[rpc.Fact, rpc.OrderEnded],
	rpc.RefundCredited{}.Subject(): as[rpc.Fact, rpc.RefundCredited],
	rpc.RefundPaid{}.Subject():     as[rpc.Fact, rpc.RefundPaid],
}

func decode[F any](decoders map[string]func(json.RawMessage) (F, error), subject string,
	raw json.RawMessage) (fact F, err error) {
	if read := decoders[subject]; read != nil {
		if fact, err = read(raw); err != nil {
			return fact, fmt.Errorf("read fact %s: %w", subject, err)
		}
	}
	return fact, nil
}

// as decodes a fact of one kind.
func as[F, Kind any](raw json.RawMessage) (fact F, err error) {
	var kind Kind
	err = json.Unmarshal(raw, &kind)
	return any(kind).(F), err
}
