package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// A dehydrated submission is a SubmitBlockRequest without what its builder has sent before:
//
//	transactions   [ 0x02f8… , keccak256(tx) , 0x02f8… ]     32 bytes stand for the transaction with that hash
//	commitments    [ A , B , C , D ]                         all of them, since the header commits to them
//	blobs          [ B , D ]                                 only those that are sent, and their proofs
//	X-Blobs-Sent:  1,3                                       where they belong
//
// Its signature is that of the whole one, since only the message is signed.

// HashBytes is the length of a hash that stands for a transaction. No signed transaction is so
// short.
const HashBytes = 32

// BlobsSentHeader is the request header that says which blobs of a dehydrated submission are in its
// body: their places in the list of commitments, ascending, separated by commas; empty if there are
// none.
const BlobsSentHeader = "X-Blobs-Sent"

// TransactionHash returns the hash that stands for a transaction: keccak256 of its bytes as they
// are in the payload.
func TransactionHash(tx bellatrix.Transaction) [32]byte { return crypto.Keccak256Hash(tx) }

// Dehydrate returns a submission without what the relay knows already, and the places of the blobs
// that are still in it. It does not change s; the result shares its bytes. A bundle whose lists do
// not fit together stays whole.
func Dehydrate(
	s *relay.Submission, knownTx func(hash [32]byte) bool, knownBlob func(deneb.KZGCommitment) bool,
) (dehydrated *relay.Submission, sent []int) {
	thin := *s
	dry := *s.Payload
	thin.Payload, thin.Raw = &dry, nil
	dry.Transactions = make([]bellatrix.Transaction, len(s.Payload.Transactions))
	for i, tx := range s.Payload.Transactions {
		dry.Transactions[i] = tx
		if hash := TransactionHash(tx); len(tx) > HashBytes && knownTx(hash) {
			dry.Transactions[i] = hash[:]
		}
	}
	thin.Blobs, sent = dehydrateBlobs(s, knownBlob)
	return &thin, sent
}

func dehydrateBlobs(s *relay.Submission, known func(deneb.KZGCommitment) bool) (*payload.Blobs, []int) {
	sent := []int{}
	if s.Blobs == nil {
		return nil, sent
	}
	each, count := s.Fork.ProofsPerBlob(), len(s.Blobs.Blobs)
	if len(s.Blobs.Commitments) != count || len(s.Blobs.Proofs) != each*count {
		for i := range count {
			sent = append(sent, i)
		}
		return s.Blobs, sent
	}
	for i, commitment := range s.Blobs.Commitments {
		if !known(commitment) {
			sent = append(sent, i)
		}
	}
	if len(sent) == count {
		return s.Blobs, sent
	}
	thin := &payload.Blobs{
		Commitments: s.Blobs.Commitments, Proofs: make([]deneb.KZGProof, 0, each*len(sent)), Blobs: make([]deneb.Blob,
			0, len(sent)),
	}
	for _, i := range sent {
		thin.Blobs = append(thin.Blobs, s.Blobs.Blobs[i])
		thin.Proofs = append(thin.Proofs, s.Blobs.Proofs[i*each:(i+1)*each]...)
	}
	return thin, sent
}

// FormatSent returns the value of BlobsSentHeader.
func FormatSent(sent []int) string {
	texts := make([]string, len(sent))
	for i, place := range sent {
		texts[i] = strconv.Itoa(place)
	}
	return strings.Join(texts, ",")
}

// ParseSent is the inverse of FormatSent. It accepts decimal numbers below 4096, ascending.
func ParseSent(text string) ([]int, error) {
	sent := []int{}
	if text == "" {
		return sent, nil
	}
	for item := range strings.SplitSeq(text, ",") {
		place, err := strconv.ParseUint(strings.TrimSpace(item), 10, 16)
		if err != nil || place >= maxCommitments {
			return nil, fmt.Errorf("%.90q is no place of a commitment", item)
		}
		if len(sent) > 0 && int(place) <= sent[len(sent)-1] {
			return nil, errors.New("places must ascend")
		}
		sent = append(sent, int(place))
	}
	return sent, nil
}
