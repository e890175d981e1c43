package app

import (
	"context"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/archive"
	"github.com/gavel-relay/gavel/relay/registry"
)

// newest is what the Data API reads: the archive, and for registrations the newer one of archive
// and memory. Memory has a registration before the archive. If several relays share a database, the
// archive may have a newer one.
type newest struct {
	*archive.Archive
	registry *registry.Registry
}

// Registration returns the newer of both. While the archive does not answer, it returns the one in
// memory.
func (s newest) Registration(ctx context.Context, key phase0.BLSPubKey) (*relay.SignedRegistration, error) {
	held := s.registry.Newest(key)
	archived, err := s.Archive.Registration(ctx, key)
	if held == nil || err == nil && archived != nil && archived.Message.Timestamp.After(held.Message.Timestamp) {
		return archived, err
	}
	return held, nil
}
