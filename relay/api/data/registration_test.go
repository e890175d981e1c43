package data_test

import (
	"net/http"
	"testing"
)

// Z4, Z5: a public key is found in any letter case.
func TestRegistration(t *testing.T) {
	handler := serving(t, story()...)
	lower := get(t, handler, registration+"?pubkey="+proposerA.String())
	other := get(t, handler, registration+"?pubkey="+upper(proposerA[:]))
	if lower.Code != http.StatusOK || other.Code != http.StatusOK || lower.Body.String() != other.Body.String() {
		t.Errorf("%d %s\n%d %s", lower.Code, lower.Body, other.Code, other.Body)
	}
}

func TestRegistrationRefuses(t *testing.T) {
	refuses(t, registration, []struct{ row, query, want string }{
		{"Z1", "", "missing argument: pubkey"},
		{"Z1", "pubkey=", "missing argument: pubkey"},
		{"Z2", "pubkey=0x12", "invalid argument: pubkey: want 0x and 96 hexadecimal digits"},
		{"Z2", "pubkey=" + proposerA.String()[2:], "invalid argument: pubkey: want 0x and 96 hexadecimal digits"},
		{"Z3", "pubkey=" + proposerB.String(), "no registration found: validator " + proposerB.String()},
	})
}
