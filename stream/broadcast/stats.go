package broadcast

// Stats are figures of a broadcast since it was made.
type Stats struct {
	// Listeners is how many listen now.
	Listeners int
	// Published is how many events were published, Delivered how often a listener took one.
	Published, Delivered uint64
	// Refused is how many listeners found no place, Cut how many were cut because they were behind,
	// Resumed how many resumed after an id.
	Refused, Cut, Resumed uint64
	// Long is how many events were longer than LongLineBytes, Dropped how many were not sent
	// because they were longer than configured or had a line break.
	Long, Dropped uint64
}

// Stats returns the figures of this moment.
func (b *Broadcast) Stats() Stats {
	b.mu.Lock()
	listeners := len(b.listeners)
	b.mu.Unlock()
	return Stats{
		Listeners: listeners, Published: b.published.Load(), Delivered: b.delivered.Load(), Refused: b.refused.Load(),
		Cut:     b.cut.Load(),
		Resumed: b.resumed.Load(), Long: b.long.Load(), Dropped: b.dropped.Load(),
	}
}
