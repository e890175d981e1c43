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
}
