package api

import (
	"testing"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// A key says whose submission it is; both names of the header are known.
func TestReadAPIKey(t *testing.T) {
	_, ssz := submission(t)
	for header, identified := range map[string]bool{"": false, "X-Api-Key: alpha's": true, "x-api-token: alpha's": true} {
		d := &builderFakePorts{outcome: relay.Outcome{}}
		answer := askHandler(t, d.handler(), submitPath, isSSZ+header, ssz)
		if answer.Code != 200 || len(d.received) != 1 || d.received[0].Identified != identified {
			t.Errorf("%q: %d %s, %+v", header, answer.Code, answer.Body, d.received)
		}
	}
	for header, want := range map[string]relay.Refusal{"X-Api-Key: stolen": relay.APIKeyUnknown,
		"X-Api-Key: beta's": relay.APIKeyOtherBuilder} {
		d := &builderFakePorts{outcome: relay.Outcome{}}
		wantRefusal(t, askHandler(t, d.handler(), submitPath, isSSZ+header, ssz), want)
		if len(d.received) != 0 {
			t.Errorf("%q: taken all the same", header)
		}
	}
}

// A builder leaves out what it has sent before, and only what itself has sent.
func TestDehydratedSubmission(t *testing.T) {
	_, ssz := submission(t)
	d := &builderFakePorts{outcome: relay.Outcome{}}
	handler := d.handler()
	if answer := askHandler(t, handler, submitPath, isSSZ+"X-Api-Key: alpha's", ssz); answer.Code != 200 {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	whole := d.received[0]
	dry := *whole
	dryPayload := *whole.Payload
	dry.Payload = &dryPayload
	dry.Payload.Transactions = nil
	for _, tx := range whole.Payload.Transactions {
		hash := wire.TransactionHash(tx)
		dry.Payload.Transactions = append(dry.Payload.Transactions, hash[:])
	}
	body, err := wire.EncodeSubmission(wire.SSZ, &dry)
	if err != nil {
		t.Fatal(err)
	}
	const dehydrated = isSSZ + "X-Submission-Type: dehydrated\n"
	if answer := askHandler(t, handler, submitPath, dehydrated+"X-Api-Key: alpha's", body); answer.Code != 200 {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	if got := d.received[1].Payload.Transactions; len(got) != 1 ||
		string(got[0]) != string(whole.Payload.Transactions[0]) {
		t.Errorf("filled with %x", got)
	}
	for name, row := range map[string]struct {
		headers string
		want    relay.Refusal
	}{
		"nobody in particular": {dehydrated, relay.APIKeyNeeded},
		"another builder":      {dehydrated + "X-Api-Key: beta's", relay.APIKeyOtherBuilder},
		"places out of order":  {dehydrated + "X-Api-Key: alpha's\nX-Blobs-Sent: 1,0", relay.SubmissionHydrationForm},
		"an unknown form":      {isSSZ + "X-Submission-Type: half", relay.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefusal(t, askHandler(t, handler, submitPath, row.headers, body), row.want)
		})
	}
	fresh := (&builderFakePorts{outcome: relay.Outcome{}}).handler()
	wantRefusal(t, askHandler(t, fresh, submitPath, dehydrated+"X-Api-Key: alpha's", body),
		relay.SubmissionNotHydratable)
}

// What was refused is not remembered: it may be anything.
func TestRefusedSubmissionIsNotRemembered(t *testing.T) {
	text, _ := submission(t)
	d := &builderFakePorts{err: relay.SubmissionSignature.Plain()}
	handler := d.handler()
	wantRefusal(t, askHandler(t, handler, submitPath, "X-Api-Key: alpha's", text), relay.SubmissionSignature)
	dry := *d.received[0]
	tx := wire.TransactionHash(dry.Payload.Transactions[0])
	dry.Payload.Transactions[0] = tx[:]
	body, err := wire.EncodeSubmission(wire.SSZ, &dry)
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, askHandler(t, handler, submitPath, isSSZ+
		"X-Api-Key: alpha's\nX-Submission-Type: dehydrated", body),
		relay.SubmissionNotHydratable)
}
