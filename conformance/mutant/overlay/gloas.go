package overlay

// ofGloas are mutants that a proxy cannot show from gloas on: what they break is not in a request
// or its answer, but in what the relay does with it.
var ofGloas = []Mutant{
	{"relay-bids-to-other-builders-auth", "relay", "bids to proposers whose auth names another builder",
		[]string{"GLO-BID-13"}},
	{"relay-goes-by-refused-caps", "relay", "refuses preferences with a wrong auth, and goes by their cap",
		[]string{"GLO-PRF-02"}},
	{"relay-sells-refused-blocks", "relay", "refuses a block that pays less than it says, and bids with it",
		[]string{"GLO-SUB-05"}},
	{"relay-trusts-wrong-access-lists", "relay", "goes on trusting a builder whose block has a wrong access list",
		[]string{"GLO-SUB-03"}},
	{"relay-reveals-for-blocks-of-any-signature", "relay",
		"takes a block whatever its signature, and reveals the payload though the beacon node refuses the block",
		[]string{"GLO-BLK-02"}},
	{"relay-envelopes-name-the-block-as-parent", "relay", "names the block itself as its parent in the envelope",
		[]string{"GLO-BLK-03"}},
	{"relay-signs-envelopes-as-a-proposer", "relay", "signs envelopes under the domain of proposers",
		[]string{"GLO-BLK-03"}},
	{"relay-reveals-twice", "relay", "sends an envelope again that a beacon node has taken", []string{"GLO-BLK-04"}},
	{"relay-takes-a-second-block", "relay", "answers 202 to a second block of a slot", []string{"GLO-BLK-05"}},
	{"relay-reveals-when-it-is-too-late", "relay", "reveals payloads until the end of the slot",
		[]string{"GLO-BLK-06"}},
	{"relay-says-that-envelopes-have-no-blobs", "relay", "says that there are no blobs with the envelope",
		[]string{"GLO-BLK-07"}},
	{"relay-sends-an-envelope-once", "relay", "does not send an envelope again that a beacon node has refused",
		[]string{"GLO-BLK-08"}},
	{"relay-reveals-to-proposers-of-two-blocks", "relay",
		"reveals a payload as soon as it has the block, whatever other blocks there are",
		[]string{"GLO-BLK-10"}},
	{"relay-lists-withheld-payloads", "relay", "lists payloads as delivered that no beacon node has taken",
		[]string{"GLO-DAT-01"}},
}
