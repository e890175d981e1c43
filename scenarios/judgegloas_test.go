package scenarios

import "testing"

// inGloas is a run of three slots of gloas: builder-2 withholds what it has sold by the network,
// its payment is in slot 2, and nobody has seen the payload of slot 3.
var inGloas = []Record{
	{Slot: 1, Actor: "chain", Subject: SlotFinished, ID: Empty, About: "builder-2", Because: Withheld, Fork: "gloas"},
	{Slot: 2, Actor: "chain", Subject: SlotFinished, ID: Landed, About: "builder-1", ValueWei: "10000000000000000",
		Fork: "gloas"},
	{Slot: 2, Actor: "chain", Subject: StakePaid, About: "builder-2", ValueWei: "50000000000000000"},
	{Slot: 3, SlotMs: 6000, Actor: "relay-1", Subject: PayloadWithheld, About: "builder-1", ID: "past-deadline"},
	{Slot: 3, Actor: "chain", Subject: SlotFinished, ID: Empty, Because: Unseen, Fork: "gloas"},
	{Slot: 3, Actor: "chain", Subject: LedgerClosed, ID: LedgerRight},
}

// Each row is an expectation of a run of gloas.
func TestJudgeGloas(t *testing.T) {
	for expect, met := range map[string]bool{
		"empty slot 2 times": true,
		"empty slot by builder-2 because withheld in slot 1": true,
		"empty slot because unseen in slot 3":                true,
		"empty slot because no-blobs":                        false,
		"no empty slot because withheld in slots 2..3":       true,
		"paid by stake by builder-2 in slot 2 1 time":        true,
		"paid by stake by builder-1":                         false,
		"stake-paid(builder-2) = 0.05":                       true,
		"stake-paid = 0.0500000001":                          false,
		"payload withheld by builder-1 at relay-1 in slot 3": true,
		"ledger right": true,
		"landed by builder-1 under gloas in slot 2": true,
	} {
		p, err := Parse("p.yaml", []byte("forks: [gloas]\nslots: 3\nexpect: ["+expect+"]"))
		if err != nil {
			t.Error(err)
			continue
		}
		if v := p.Judge(inGloas, nil)[0]; v.Met != met {
			t.Errorf("%s: met %v, %s", expect, v.Met, v.Reason)
		}
	}
	p, err := Parse("p.yaml", []byte("slots: 3\nexpect: [ledger right]"))
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Judge([]Record{{Slot: 3, Subject: LedgerClosed, ID: LedgerWrong}}, nil)[0]; v.Met {
		t.Error("a ledger that is wrong is right")
	}
}
