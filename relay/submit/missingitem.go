package submit

import (
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/deneb"

	"github.com/gavel-relay/gavel/relay"
)

// maxNamed is how many of each kind MissingItem names.
const maxNamed = 16

// MissingItem is the error of a submission that cannot be filled. It names the first missing items
// of each kind and counts the others. It unwraps to the refusal submission-not-hydratable.
type MissingItem struct {
	Transactions [][32]byte
	Commitments  []deneb.KZGCommitment
	// MoreTransactions and MoreCommitments are how many more are missing that are not named.
	MoreTransactions, MoreCommitments int
}

func (m *MissingItem) addTransaction(hash [32]byte) {
	if len(m.Transactions) == maxNamed {
		m.MoreTransactions++
		return
	}
	m.Transactions = append(m.Transactions, hash)
}

func (m *MissingItem) addCommitment(commitment deneb.KZGCommitment) {
	if len(m.Commitments) == maxNamed {
		m.MoreCommitments++
		return
	}
	m.Commitments = append(m.Commitments, commitment)
}

func (m *MissingItem) any() bool { return len(m.Transactions)+len(m.Commitments) > 0 }

// Error names the first missing item.
func (m *MissingItem) Error() string { return m.Unwrap().Error() }

// Unwrap returns the refusal.
func (m *MissingItem) Unwrap() error {
	transactions, blobs := len(m.Transactions)+m.MoreTransactions, len(m.Commitments)+m.MoreCommitments
	first := "nothing"
	switch {
	case transactions > 0:
		first = fmt.Sprintf("transaction %#x", m.Transactions[0])
	case blobs > 0:
		first = fmt.Sprintf("blob of commitment %#x", m.Commitments[0][:])
	}
	return relay.SubmissionNotHydratable.With("%s; %d transactions and %d blobs in all", first, transactions, blobs)
}
