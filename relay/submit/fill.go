package submit

import (
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"

	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// Fill makes the whole submission from a dehydrated one. sent are the indices of the blobs that are
// in the body (wire.BlobsSentHeader). It is nil without that header; then the body must have all
// blobs or none. Fill does not change s, and returns s itself if it is whole already. Errors are
// *MissingItem, which names what the cache does not have, or the refusal submission-hydration-form.
func (c *HydrationCache) Fill(builder string, s *relay.Submission, sent []int) (*relay.Submission, error) {
	if sent == nil && s.Blobs != nil && len(s.Blobs.Blobs) == len(s.Blobs.Commitments) {
		for index := range s.Blobs.Blobs {
			sent = append(sent, index)
		}
	}
	if refused := wellFormed(s, sent); refused != nil {
		return nil, refused
	}
	f := hydration{submission: s, sent: sent, limitBytes: orDefault(c.BlockBytes, DefaultBlockBytes)}
	if !f.needed() {
		return s, nil
	}
	err := f.look(c.cacheOf(builder))
	c.found.Add(f.found)
	c.missing.Add(f.missing)
	if err != nil {
		return nil, err
	}
	return f.whole(), nil
}

// wellFormed requires that sent has an index for each blob of the body, and that each blob has its
// proofs.
func wellFormed(s *relay.Submission, sent []int) *relay.Refused {
	if s.Blobs == nil {
		if len(sent) > 0 {
			return relay.SubmissionHydrationForm.With("%s has no blobs", s.Fork)
		}
		return nil
	}
	each := s.Fork.ProofsPerBlob()
	switch blobs := len(s.Blobs.Blobs); {
	case len(sent) != blobs:
		return relay.SubmissionHydrationForm.With("%d indices for %d blobs", len(sent), blobs)
	case len(s.Blobs.Proofs) != blobs*each:
		return relay.SubmissionHydrationForm.With("%d proofs for %d blobs: want %d", len(s.Blobs.Proofs), blobs, blobs*each)
	}
	last := -1
	for _, index := range sent {
		if index <= last || index >= len(s.Blobs.Commitments) {
			return relay.SubmissionHydrationForm.With("index %d after %d in a list of %d commitments", index, last,
				len(s.Blobs.Commitments))
		}
		last = index
	}
	return nil
}

// hydration is one submission that is being filled.
type hydration struct {
	submission *relay.Submission
	sent       []int
	limitBytes int

	transactions []bellatrix.Transaction
	blobs        []*item // by index; nil where the blob is in the body

	found, missing uint64 // items that the body leaves out
}

func (f *hydration) needed() bool {
	for _, tx := range f.submission.Payload.Transactions {
		if len(tx) == wire.HashBytes {
			return true
		}
	}
	return f.submission.Blobs != nil && len(f.sent) < len(f.submission.Blobs.Commitments)
}

// look finds all that the body leaves out. It copies no contents while the builder's cache is
// locked, and allocates nothing large before the size is known.
func (f *hydration) look(from *builderCache) error {
	from.mu.Lock()
	defer from.mu.Unlock()
	missing, size := &MissingItem{}, 0
	f.transactions = make([]bellatrix.Transaction, len(f.submission.Payload.Transactions))
	for i, tx := range f.submission.Payload.Transactions {
		f.transactions[i] = tx
		if len(tx) == wire.HashBytes {
			if found := from.find(txKey([32]byte(tx))); found != nil {
				f.transactions[i] = found.tx
				f.found++
			} else {
				missing.addTransaction([32]byte(tx))
				f.missing++
			}
		}
		size += len(f.transactions[i])
	}
	if f.submission.Blobs != nil {
		f.lookBlobs(from, missing)
		size += len(f.blobs) * (deneb.BlobLength + f.submission.Fork.ProofsPerBlob()*deneb.KZGCommitmentLength)
	}
	switch {
	case size > f.limitBytes:
		return relay.SubmissionHydrationForm.With("%d bytes when filled, at most %d", size, f.limitBytes)
	case missing.any():
		return missing
	}
	return nil
}

func (f *hydration) lookBlobs(from *builderCache, missing *MissingItem) {
	f.blobs = make([]*item, len(f.submission.Blobs.Commitments))
	sent, each := f.sent, f.submission.Fork.ProofsPerBlob()
	for index, commitment := range f.submission.Blobs.Commitments {
		if len(sent) > 0 && sent[0] == index {
			sent = sent[1:]
			continue
		}
		// A blob may be kept with another fork's proofs, which do not fit here.
		if found := from.find(blobKey(commitment)); found != nil && len(found.proofs) == each {
			f.blobs[index] = found
			f.found++
		} else {
			missing.addCommitment(commitment)
			f.missing++
		}
	}
}

// whole puts the transactions and blobs at their indices.
func (f *hydration) whole() *relay.Submission {
	whole, full := *f.submission, *f.submission.Payload
	full.Transactions = f.transactions
	whole.Payload, whole.Raw = &full, nil // Raw would be the dehydrated body
	if f.blobs == nil {
		return &whole
	}
	in, each := f.submission.Blobs, f.submission.Fork.ProofsPerBlob()
	out := &payload.Blobs{
		Commitments: in.Commitments, Proofs: make([]deneb.KZGProof, 0, each*len(f.blobs)), Blobs: make([]deneb.Blob,
			len(f.blobs)),
	}
	next := 0 // of the blobs in the body
	for index, found := range f.blobs {
		if found == nil {
			out.Blobs[index] = in.Blobs[next]
			out.Proofs = append(out.Proofs, in.Proofs[next*each:(next+1)*each]...)
			next++
			continue
		}
		out.Blobs[index] = *found.blob
		out.Proofs = append(out.Proofs, found.proofs...)
	}
	whole.Blobs = out
	return &whole
}
