package audience

// Stats are figures of an audience, since it was made.
type Stats struct {
	// Listeners is how many listen now.
	Listeners int
	// Published is how many events there were, Delivered how often a listener took one.
	Published, Delivered uint64
	// Refused is how many could not listen because all places were taken, Cut how many were cut
	// because they were behind, Resumed how many were read the past.
	Refused, Cut, Resumed uint64
	// Long is how many events were longer than LongLineBytes, Dropped how many were not sent because
	// they were longer than configured.
	Long, Dropped uint64
}

// Stats are the figures now.
func (a *Audience) Stats() Stats {
	a.mu.Lock()
	listeners := len(a.listeners)
	a.mu.Unlock()
	return Stats{
		Listeners: listeners, Published: a.published.Load(), Delivered: a.delivered.Load(), Refused: a.refused.Load(),
		Cut:     a.cut.Load(),
		Resumed: a.resumed.Load(), Long: a.long.Load(), Dropped: a.dropped.Load(),
	}
}
