package app

import (
	"context"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/archive"
	"github.com/gavel-relay/gavel/relay/registry"
)

// newest is what the Data API shows: the archive, and of a validator the newest registration, which
// memory may have before the archive. With several relays on one database the archive may be ahead.
type newest struct {
	*archive.Archive
	registry *registry.Registry
}

// Registration is the newer of both. While the archive does not answer, what is in memory does.
func (s newest) Registration(ctx context.Context, key phase0.BLSPubKey) (*relay.SignedRegistration, error) {
	held := s.registry.Newest(key)
	archived, err := s.Archive.Registration(ctx, key)
	if held == nil || err == nil && archived != nil && archived.Message.Timestamp.After(held.Message.Timestamp) {
		return archived, err
	}
	return held, nil
}
