package mempool

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"time"
)

// Step is a transaction that is sent.
type Step struct {
	// After is how long after the first transaction it is sent.
	After time.Duration
	// Sender is the number of its account. Nonce is that of the devnet.
	Sender int
	Nonce  uint64
	// Type is 0, 1 or 2 (EIP-2718).
	Type uint8
	// Creates: it has init code and no recipient.
	Creates bool
	// Replaces: another one with this sender and nonce was sent before.
	Replaces bool
	To       [20]byte
	// Amounts are in wei, and in wei per gas. Types 0 and 1 have one price, in both.
	ValueWei, TipWei, FeeWei uint64
	// Gas is enough for the transaction: no code runs.
	Gas uint64
	// Bytes is the length of calldata or init code, of which NonZero are not 0.
	Bytes, NonZero uint32

	at   int64
	hash [8]byte
}

// Rules say what the devnet can take.
type Rules struct {
	// TransferGas is what a transfer without data costs.
	TransferGas uint64
	// ByteGas is what a byte of calldata costs at most.
	ByteGas uint64
	// MaxSenders is how many accounts there may be.
	MaxSenders int
}

// What is sent at most, and how far prices are above the devnet's base fee, which is 1 gwei in the
// genesis block.
const (
	gwei = 1_000_000_000
	// maxValueWei: values above 1 ether are 1 ether.
	maxValueWei = 1_000_000_000 * gwei
	// maxCostWei is what a node takes as the fee of one transaction, less a tenth for replacements.
	maxCostWei = 900_000_000 * gwei
	// feeRoomWei is how far a fee cap is above the tip at least, so that the tip is paid whole.
	feeRoomWei = 10 * gwei
	// leastPriceWei is the least price of a transaction without a tip of its own.
	leastPriceWei = 2 * gwei
)

// Plan is what is sent, in the order of time.
type Plan struct {
	Steps []Step
	// Senders is how many accounts there are, Nonces how many nonces all of them use together.
	Senders int
	Nonces  int
	// Rows are those of the file, Left those that are not sent, Changed those that are sent as
	// something else, by reason. A row may be changed in several ways.
	Rows    int64
	Left    Counts
	Changed Counts
}

// What is changed in a transaction.
const (
	ChangedValue = "value lowered to 1 ether"
	ChangedTip   = "tip or price lowered to what a node takes"
	ChangedFee   = "fee cap raised to 10 gwei above the tip"
	ChangedPrice = "gas price raised to 2 gwei"
	ChangedGap   = "nonce moved over a gap"
	ChangedBump  = "fees of a replacement raised to 10 % more"
	ChangedCall  = "calldata sent to a plain account, zeros and others of the same number"
	ChangedInit  = "init code that stops at once, of the same length"
)

// Decide says what is sent when. The Flow cannot be used any more.
func (f *Flow) Decide(rules Rules) *Plan {
	p := &Plan{Rows: f.rows, Left: f.left, Changed: Counts{}}
	if p.Left == nil {
		p.Left = Counts{}
	}
	steps := f.kept[:0]
	for _, s := range f.kept {
		switch {
		case f.late(s.at):
			p.Left[WhyEnd]++
		default:
			s.After = time.Duration(s.at-f.first) * time.Microsecond
			steps = append(steps, s)
		}
	}
	p.Steps = p.numberSenders(steps, rules.MaxSenders)
	p.number(rules)
	slices.SortStableFunc(p.Steps, func(a, b Step) int { return cmp.Compare(a.After, b.After) })
	f.kept, f.senders = nil, nil
	return p
}

// numberSenders gives accounts to senders in the order in which they first send, as many as there
// may be.
func (p *Plan) numberSenders(steps []Step, most int) []Step {
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(a.After, b.After) })
	accounts := map[int]int{}
	kept := steps[:0]
	for _, s := range steps {
		account, known := accounts[s.Sender]
		if !known {
			if len(accounts) == most {
				p.Left[WhySenders]++
				continue
			}
			account = len(accounts)
			accounts[s.Sender] = account
		}
		s.Sender = account
		kept = append(kept, s)
	}
	p.Senders = len(accounts)
	return kept
}

// number gives the senders' transactions the nonces 0, 1, 2 and so on, in the order of their own,
// and what each of them can be. Several with one nonce stay together: each replaces the one before,
// or is left out.
func (p *Plan) number(rules Rules) {
	slices.SortStableFunc(p.Steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Sender, b.Sender), cmp.Compare(a.Nonce, b.Nonce), cmp.Compare(a.After, b.After))
	})
	kept := p.Steps[:0]
	var was, sent Step // the file's transaction before, and what it has become
	gap := false
	for i, s := range p.Steps {
		next := s
		switch {
		case i == 0 || s.Sender != was.Sender:
			next.Nonce, gap = 0, false
			p.Nonces++
		case s.Nonce != was.Nonce:
			gap = gap || s.Nonce != was.Nonce+1
			next.Nonce = sent.Nonce + 1
			p.Nonces++
		default:
			why := replaces(&was, &s)
			if next.Nonce, next.Replaces = sent.Nonce, true; why == "" {
				why = p.become(&next, &sent, rules)
			}
			if why != "" {
				p.Left[why]++
				continue
			}
			was, sent = s, next
			kept = append(kept, next)
			continue
		}
		if gap {
			p.Changed[ChangedGap]++
		}
		p.become(&next, nil, rules)
		was, sent = s, next
		kept = append(kept, next)
	}
	p.Steps = kept
}

// replaces says why a transaction cannot replace the one before; empty: it does.
func replaces(before, s *Step) string {
	switch {
	case s.hash == before.hash:
		return WhyAgain
	case s.TipWei < bumped(before.TipWei) || s.FeeWei < bumped(before.FeeWei):
		return WhyBump
	}
	return ""
}

// bumped is the least fee by which pools let a transaction replace another one.
func bumped(wei uint64) uint64 {
	if wei > MaxAmount/2 {
		return MaxAmount
	}
	return max(wei+1, wei+(wei+9)/10)
}

// become makes of a step of the file what the devnet takes. A step that replaces another one is
// compared with what that has become, and may have to be left out.
func (p *Plan) become(s, replaced *Step, rules Rules) (why string) {
	changed := map[string]bool{}
	s.Gas = rules.TransferGas + uint64(s.Bytes)*rules.ByteGas
	if s.Creates {
		s.Gas += 32_000 + uint64(s.Bytes)/32*2 + 2
		changed[ChangedInit] = s.Bytes > 0
	} else {
		s.To = standIn(s.To)
		changed[ChangedCall] = s.Bytes > 0
	}
	changed[ChangedValue] = lower(&s.ValueWei, maxValueWei)
	most := maxCostWei / s.Gas
	if s.Type == 2 {
		changed[ChangedTip] = lower(&s.TipWei, most-feeRoomWei)
		lower(&s.FeeWei, most) // above the tip it changes nothing of what is paid
		changed[ChangedFee] = raise(&s.FeeWei, s.TipWei+feeRoomWei)
	} else {
		changed[ChangedTip] = lower(&s.FeeWei, most)
		changed[ChangedPrice] = raise(&s.FeeWei, leastPriceWei)
		s.TipWei = s.FeeWei
	}
	if replaced != nil {
		tip, fee := raise(&s.TipWei, bumped(replaced.TipWei)), raise(&s.FeeWei, bumped(replaced.FeeWei))
		if s.Type != 2 {
			s.FeeWei = max(s.FeeWei, s.TipWei)
			s.TipWei = s.FeeWei
		}
		if changed[ChangedBump] = tip || fee; s.FeeWei > most {
			return WhyFees
		}
	}
	for what, is := range changed {
		if is {
			p.Changed[what]++
		}
	}
	return ""
}

func lower(amount *uint64, most uint64) bool {
	is := *amount > most
	*amount = min(*amount, most)
	return is
}

func raise(amount *uint64, least uint64) bool {
	is := *amount < least
	*amount = max(*amount, least)
	return is
}

// standIn is the plain account that stands for a recipient: the same for the same, and none that
// has code here or is precompiled.
func standIn(to [20]byte) [20]byte {
	sum := sha256.Sum256(append([]byte("gavel devnet mempool recipient "), to[:]...))
	return [20]byte(sum[:20])
}

// Data is the calldata of a step. Where it is init code it stops at once: its first byte is 0.
func (s *Step) Data() []byte {
	data := make([]byte, s.Bytes)
	for i := len(data) - 1; i >= 0 && len(data)-i <= int(s.NonZero); i-- {
		data[i] = 1
	}
	if s.Creates && len(data) > 0 {
		data[0] = 0
	}
	return data
}
