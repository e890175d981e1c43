package data_test

import (
	"strings"
	"testing"
)

func TestRegistration(t *testing.T) {
	const digits96 = "want 0x and 96 hexadecimal digits"
	found := `{"message":{"fee_recipient":"0xfeed000000000000000000000000000000000000","gas_limit":"36000000","timestamp":"1767268800","pubkey":"` +
		proposerA.String() + `"},"signature":"0xabcd` + strings.Repeat("00", 94) + `"}`
	check(t, registration, []row{
		{"Z1 D03", "", "400 missing argument: pubkey"},
		{"Z1 D03", "pubkey=", "400 missing argument: pubkey"},
		{"Z2 D01", "pubkey=0x12", "400 invalid argument: pubkey: " + digits96},
		{"Z2 D01", "pubkey=" + proposerA.String()[2:], "400 invalid argument: pubkey: " + digits96},
		{"Z2 D08", "pubkey=" + infinity.String(),
			"400 invalid argument: pubkey: no point of the group that public keys are in"},
		{"Z3 D05", "pubkey=" + proposerB.String(), "400 no registration found: validator " + proposerB.String()},
		{"Z4", "pubkey=" + proposerA.String(), found},
		{"Z5", "pubkey=" + upper(proposerA[:]), found}, // a public key is found in any letter case
		{"-", "pubkey=" + proposerA.String(), "500 internal error"},
	}, append(rows("Z", 1, 5), "D01", "D03", "D05", "D08")...)
}
