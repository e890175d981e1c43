package gloas

import (
	"errors"
	"reflect"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/deneb"
)

// As much as is allowed passes, one more does not; nil items do, since only counts matter here.
func TestLimits(t *testing.T) {
	limits := map[string]int{
		"ProposerSlashings": 16, "AttesterSlashings": 1, "Attestations": 8, "Deposits": 0, "VoluntaryExits": 16,
		"BLSToExecutionChanges": 16, "PayloadAttestations": 4,
	}
	body := func() *BeaconBlockBody {
		return &BeaconBlockBody{
			SignedExecutionPayloadBid: &SignedExecutionPayloadBid{Message: new(ExecutionPayloadBid)},
			ParentExecutionRequests:   new(ExecutionRequests),
		}
	}
	for name, most := range limits {
		b := body()
		checkLimit(t, reflect.ValueOf(b).Elem().FieldByName(name), name, most, func() error { return b.CheckLimits(6) })
	}
	for name, most := range map[string]int{"Withdrawals": 16, "Consolidations": 2, "BuilderDeposits": 64,
		"BuilderExits": 16} {
		b := body()
		list := reflect.ValueOf(b.ParentExecutionRequests).Elem().FieldByName(name)
		checkLimit(t, list, name, most, func() error { return b.CheckLimits(6) })
	}
	b := body()
	list := reflect.ValueOf(&b.SignedExecutionPayloadBid.Message.BlobKZGCommitments).Elem()
	checkLimit(t, list, "commitments", 6, func() error { return b.CheckLimits(6) })
	p := new(ExecutionPayload)
	checkLimit(t, reflect.ValueOf(&p.Withdrawals).Elem(), "withdrawals", 16, p.CheckLimits)
	bid := &ExecutionPayloadBid{BlobKZGCommitments: make([]deneb.KZGCommitment, 7)}
	if err := bid.CheckLimits(6); !errors.Is(err, ErrLimit) {
		t.Errorf("7 blobs: %v", err)
	}
}

func checkLimit(t *testing.T, list reflect.Value, name string, most int, check func() error) {
	t.Helper()
	list.Set(reflect.MakeSlice(list.Type(), most, most))
	if err := check(); err != nil {
		t.Errorf("%d %s: %v", most, name, err)
	}
	list.Set(reflect.MakeSlice(list.Type(), most+1, most+1))
	if err := check(); !errors.Is(err, ErrLimit) {
		t.Errorf("%d %s: %v", most+1, name, err)
	}
}
