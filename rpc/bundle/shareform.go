package bundle

import (
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// bundleParams is a bundle of mev_sendBundle and mev_simBundle. An inner bundle has the same form,
// but is handled together with the outer one, so it has no replacementUuid, no builders and no
// simulation options.
type bundleParams struct {
	Version   string `json:"version"`
	Inclusion struct {
		Block    Number `json:"block"`
		MaxBlock Number `json:"maxBlock"`
	} `json:"inclusion"`
	Body     RawList `json:"body"`
	Validity struct {
		Refund       []refundParams `json:"refund"`
		RefundConfig []shareParams  `json:"refundConfig"`
	} `json:"validity"`
	Privacy         sharePrivacy   `json:"privacy"`
	Metadata        metadataParams `json:"metadata"`
	ReplacementUUID UUID           `json:"replacementUuid"`
	Simulation      RawValue       `json:"simOptions"`
}

// sharePrivacy says who may know of a bundle.
type sharePrivacy struct {
	Hints      []string `json:"hints"`
	Builders   []string `json:"builders"`
	WantRefund *Percent `json:"wantRefund"`
}

// metadataParams is what services write about a bundle for each other.
type metadataParams struct {
	Cancelled bool `json:"cancelled"`
}

// elementParams is an element of a body: exactly one of hash, tx and bundle.
type elementParams struct {
	Hash       *HashParam `json:"hash"`
	Tx         *HexBytes  `json:"tx"`
	Bundle     RawValue   `json:"bundle"`
	CanRevert  bool       `json:"canRevert"`
	RevertMode string     `json:"revertMode"`
}

// shareForm is a bundle whose form has been checked and whose transactions are not decoded yet.
type shareForm struct {
	path     string
	params   bundleParams
	window   rpc.Window
	elements []shareElement
}

// shareElement is one of hash, tx and bundle.
type shareElement struct {
	hash   *common.Hash
	tx     *incomingTx
	bundle *shareForm
}

// follows says that the bundle follows another order.
func (f *shareForm) follows() bool { return f.elements[0].hash != nil }

// shareReader reads a bundle and the bundles in it, from the outermost inwards.
type shareReader struct {
	limits                Config
	maxDepth, maxBackruns int
	// places counts the transactions and hashes so far; txs are the transactions, depth first.
	places int
	txs    []*incomingTx
	// simulates says that the outermost bundle may have simulation options.
	simulates bool
	// windowOf reads the window of the outermost bundle.
	windowOf func(path string, first, last uint64) (rpc.Window, error)
}

// form reads the bundle at path. depth is how many bundles it is in; within is the window of the
// bundle around it, nil for none.
func (r *shareReader) form(path string, raw RawValue, depth int, within *rpc.Window) (*shareForm, error) {
	if depth > r.maxDepth {
		return nil, rpc.BundleTooDeep.With("%s", path)
	}
	f := &shareForm{path: path}
	if err := ReadParam(path, raw.JSON(), &f.params); err != nil {
		return nil, err
	}
	switch f.params.Version {
	case "v0.1", "beta-1", "version-1":
	default:
		return nil, rpc.BundleVersion.With("%s.version: %q, want v0.1, beta-1 or version-1", path, clip(f.params.Version))
	}
	if err := r.checkMeant(f, depth); err != nil {
		return nil, err
	}
	if err := r.readWindow(f, within); err != nil {
		return nil, err
	}
	if err := r.readBody(f, depth); err != nil {
		return nil, err
	}
	return f, r.checkBackruns(f, depth)
}

// checkMeant refuses a bundle that asks for something that would not be done.
func (r *shareReader) checkMeant(f *shareForm, depth int) error {
	switch p := &f.params; {
	case p.Metadata.Cancelled:
		return rpc.InvalidParams.With("%s.metadata.cancelled: want false: a bundle is cancelled by eth_cancelBundle", f.path)
	case p.Simulation.Set() && (!r.simulates || depth != 0):
		return rpc.InvalidParams.With("%s.simOptions: only the outermost bundle of mev_simBundle has options of a simulation",
			f.path)
	case depth != 0 && p.ReplacementUUID != (UUID{}):
		return rpc.InvalidParams.With("%s.replacementUuid: only the outermost bundle has a name", f.path)
	case depth != 0 && len(p.Privacy.Builders) > 0:
		return rpc.InvalidParams.With("%s.privacy.builders: builders are those of the outermost bundle", f.path)
	}
	return nil
}

// readWindow reads the blocks of a bundle. An inner bundle's blocks are those that it has in common
// with the outer one, and become the outer one's too: they are included together or not at all. A
// bound that an inner bundle leaves out is the outer one's.
func (r *shareReader) readWindow(f *shareForm, within *rpc.Window) (err error) {
	first, last := f.params.Inclusion.Block.Value, f.params.Inclusion.MaxBlock.Value
	if within == nil {
		if first == 0 { // no client means a bundle without a first block
			return rpc.InvalidInclusion.With("%s.inclusion.block: missing: want the first block that may have the bundle",
				f.path)
		}
		if last == 0 {
			last = first
		}
		f.window, err = r.windowOf(f.path+".inclusion", first, last)
		return err
	}
	f.window = rpc.Window{FirstBlock: max(first, within.FirstBlock), LastBlock: within.LastBlock}
	if last != 0 {
		f.window.LastBlock = min(last, within.LastBlock)
	}
	if f.window.FirstBlock > f.window.LastBlock {
		return rpc.InvalidInclusion.With("%s.inclusion: no block in common with the outer bundle's %d to %d", f.path,
			within.FirstBlock, within.LastBlock)
	}
	*within = f.window
	return nil
}

// sendWindow is the rule for the blocks of a mev_sendBundle.
func sendWindow(in Intake) func(path string, first, last uint64) (rpc.Window, error) {
	return func(path string, first, last uint64) (rpc.Window, error) {
		head := in.Head.Number
		switch {
		case last < first:
			return rpc.Window{}, rpc.InvalidInclusion.With("%s: maxBlock %d is below block %d", path, last, first)
		case last-first > in.Limits.MaxBlocksWide:
			return rpc.Window{}, rpc.InvalidInclusion.With("%s: maxBlock %d is more than %d above block %d", path, last,
				in.Limits.MaxBlocksWide, first)
		case last <= head:
			return rpc.Window{}, rpc.InvalidInclusion.With("%s: the last block %d is not above the newest block %d",
				path, last, head)
		case first > head && first-head > in.Limits.MaxBlocksToFirst:
			return rpc.Window{}, rpc.InvalidInclusion.With("%s: block %d is more than %d above the newest block %d", path, first,
				in.Limits.MaxBlocksToFirst, head)
		}
		return rpc.Window{FirstBlock: first, LastBlock: last}, nil
	}
}

func (r *shareReader) readBody(f *shareForm, depth int) error {
	path := f.path + ".body"
	switch n := f.params.Body.Count(); {
	case n == 0:
		return rpc.InvalidBodySize.With("%s is empty", path)
	case n > r.limits.MaxShareTxs:
		return rpc.InvalidBodySize.With("%s has %d elements, want at most %d", path, n, r.limits.MaxShareTxs)
	}
	elements, err := ReadElements[elementParams](path, f.params.Body)
	if err != nil {
		return err
	}
	for i := range elements {
		element, err := r.readElement(f, fmt.Sprintf("%s[%d]", path, i), i, &elements[i], depth)
		if err != nil {
			return err
		}
		f.elements = append(f.elements, element)
	}
	return nil
}

func (r *shareReader) readElement(f *shareForm, path string, i int, e *elementParams, depth int) (shareElement, error) {
	if kinds := e.kinds(); len(kinds) > 1 { // whichever counted, the others would be ignored silently
		return shareElement{}, rpc.InvalidBody.With("%s: has %s, want exactly one of hash, tx and bundle", path,
			strings.Join(kinds, " and "))
	}
	switch {
	case e.Hash != nil:
		if i != 0 || depth != 0 || f.params.Body.Count() == 1 {
			return shareElement{},
				rpc.InvalidBody.With("%s: a hash may only be the first of several elements of the outermost bundle", path)
		}
		hash := common.Hash(*e.Hash)
		return shareElement{hash: &hash}, r.count(path)
	case e.Tx != nil:
		tx := &incomingTx{hex: *e.Tx, path: func() string { return path + ".tx" }, Tx: exec.Tx{CanRevert: e.CanRevert}}
		if err := setRevertMode(tx, path, e.RevertMode); err != nil {
			return shareElement{}, err
		}
		r.txs = append(r.txs, tx)
		return shareElement{tx: tx}, r.count(path)
	case e.Bundle.Set():
		inner, err := r.form(path+".bundle", e.Bundle, depth+1, &f.window)
		return shareElement{bundle: inner}, err
	}
	return shareElement{}, rpc.InvalidBody.With("%s: want a hash, a tx or a bundle", path)
}

// kinds are the names of those of the three that an element has.
func (e *elementParams) kinds() (names []string) {
	for _, kind := range []struct {
		name string
		set  bool
	}{{"hash", e.Hash != nil}, {"tx", e.Tx != nil}, {"bundle", e.Bundle.Set()}} {
		if kind.set {
			names = append(names, kind.name)
		}
	}
	return names
}

// count counts a transaction or a hash.
func (r *shareReader) count(path string) error {
	if r.places++; r.places > r.limits.MaxShareTxs {
		return rpc.InvalidBodySize.With("%s: more than %d transactions in all", path, r.limits.MaxShareTxs)
	}
	return nil
}

func setRevertMode(tx *incomingTx, path, mode string) error {
	switch mode {
	case "":
	case "allow":
		tx.CanRevert = true
	case "drop":
		tx.CanRevert, tx.CanDrop = false, true
	case "fail":
		tx.CanRevert = false
	default:
		return rpc.InvalidRevertMode.With("%s.revertMode: %q, want allow, drop or fail", path, clip(mode))
	}
	return nil
}

// checkBackruns applies the rule of one backrun: a hash, or an inner bundle that gets a refund, is
// followed by at most that many transactions, and by no bundle.
func (r *shareReader) checkBackruns(f *shareForm, depth int) error {
	if r.maxBackruns == 0 || depth != 0 || !f.isBackrun() {
		return nil
	}
	if len(f.elements)-1 > r.maxBackruns {
		return rpc.InvalidBody.With("%s.body: %d elements follow the first one, want at most %d (one backrun)", f.path,
			len(f.elements)-1,
			r.maxBackruns)
	}
	for i, e := range f.elements[1:] {
		if e.tx == nil {
			return rpc.InvalidBody.With("%s.body[%d]: a backrun is a tx", f.path, i+1)
		}
	}
	return nil
}

// isBackrun says whether the first element belongs to another signer: a hash, or a bundle that gets
// a refund.
func (f *shareForm) isBackrun() bool {
	if f.follows() {
		return true
	}
	for _, refund := range f.params.Validity.Refund {
		if refund.Element.Value == 0 && f.elements[0].bundle != nil {
			return true
		}
	}
	return false
}
