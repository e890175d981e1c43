package api_test

import (
	"strings"
	"testing"
)

func TestRegistration(t *testing.T) {
	const digits96 = "want 0x and 96 hexadecimal digits"
	found := `{"message":{"fee_recipient":"0xfeed000000000000000000000000000000000000","gas_limit":"36000000","timestamp":"1767268800","pubkey":"` +
		proposerA.String() + `"},"signature":"0xabcd` + strings.Repeat("00", 94) + `"}`
	check(t, registration, []row{
		{"REL-DAT-16", "", "400 missing argument: pubkey"},
		{"REL-DAT-16", "pubkey=", "400 missing argument: pubkey"},
		{"REL-DAT-10", "pubkey=0x12", "400 invalid argument: pubkey: " + digits96},
		{"REL-DAT-10", "pubkey=" + proposerA.String()[2:], "400 invalid argument: pubkey: " + digits96},
		{"", "pubkey=" + infinity.String(),
			"400 invalid argument: pubkey: no point of the group that public keys are in"},
		{"REL-DAT-18", "pubkey=" + proposerB.String(), "400 no registration found: validator " + proposerB.String()},
		{"", "pubkey=" + proposerA.String(), found},
		{"", "pubkey=" + upper(proposerA[:]), found}, // a public key is found in any letter case
		{"-", "pubkey=" + proposerA.String(), "500 internal error"},
	}, "REL-DAT-10", "REL-DAT-16", "REL-DAT-18")
}
