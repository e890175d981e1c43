package bundle

import (
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/param"
)

// bundleParams is a bundle of mev_sendBundle and mev_simBundle. An inner bundle is of the same
// form, but goes where the outer one goes: it has neither a name nor builders nor options of a
// simulation.
type bundleParams struct {
	Version   string `json:"version"`
	Inclusion struct {
		Block    param.Number `json:"block"`
		MaxBlock param.Number `json:"maxBlock"`
	} `json:"inclusion"`
	Body     param.LaterList `json:"body"`
	Validity struct {
		Refund       []refundParams `json:"refund"`
		RefundConfig []shareParams  `json:"refundConfig"`
	} `json:"validity"`
	Privacy         sharePrivacy   `json:"privacy"`
	Metadata        metadataParams `json:"metadata"`
	ReplacementUUID param.UUID     `json:"replacementUuid"`
	Simulation      param.Later    `json:"simOptions"`
}

// sharePrivacy says who may know of a bundle.
type sharePrivacy struct {
	Hints      []string       `json:"hints"`
	Builders   []string       `json:"builders"`
	WantRefund *param.Percent `json:"wantRefund"`
}

// metadataParams are what services tell each other of a bundle.
type metadataParams struct {
	Cancelled bool `json:"cancelled"`
}

// elementParams is a place of a body: exactly one of hash, tx and bundle.
type elementParams struct {
	Hash       *param.Hash     `json:"hash"`
	Tx         *param.HexBytes `json:"tx"`
	Bundle     param.Later     `json:"bundle"`
	CanRevert  bool            `json:"canRevert"`
	RevertMode string          `json:"revertMode"`
}

// shareForm is a bundle whose form is checked and whose transactions are text yet.
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

// follows says that the bundle is to follow somebody else's order.
func (f *shareForm) follows() bool { return f.elements[0].hash != nil }

// shareReader reads a bundle and the bundles in it from the outside in.
type shareReader struct {
	limits                Config
	maxDepth, maxBackruns int
	// places are how many transactions and hashes were met, txs the transactions, depth first.
	places int
	txs    []*incomingTx
	// simulates: the outermost bundle may have options of a simulation.
	simulates bool
	// windowOf reads the window of the outermost bundle.
	windowOf func(path string, first, last uint64) (rpc.Window, error)
}

// form reads the bundle at path, which is so many bundles deep; within are the blocks of the bundle
// around it, nil for none.
func (r *shareReader) form(path string, raw param.Later, depth int, within *rpc.Window) (*shareForm, error) {
	if depth > r.maxDepth {
		return nil, rpc.BundleTooDeep.With("%s", path)
	}
	f := &shareForm{path: path}
	if err := param.Value(path, raw.JSON(), &f.params); err != nil {
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

// checkMeant refuses what says something that would not be done.
func (r *shareReader) checkMeant(f *shareForm, depth int) error {
	switch p := &f.params; {
	case p.Metadata.Cancelled:
		return rpc.InvalidParams.With("%s.metadata.cancelled: want false: a bundle is cancelled by eth_cancelBundle", f.path)
	case p.Simulation.Set() && (!r.simulates || depth != 0):
		return rpc.InvalidParams.With("%s.simOptions: only the outermost bundle of mev_simBundle has options of a simulation",
			f.path)
	case depth != 0 && p.ReplacementUUID != (param.UUID{}):
		return rpc.InvalidParams.With("%s.replacementUuid: only the outermost bundle has a name", f.path)
	case depth != 0 && len(p.Privacy.Builders) > 0:
		return rpc.InvalidParams.With("%s.privacy.builders: builders are those of the outermost bundle", f.path)
	}
	return nil
}

// readWindow reads the blocks of a bundle. An inner bundle's are those that it shares with the
// outer one, whose blocks become the same: they come together or not at all. What an inner bundle
// does not say, the outer one says for it.
func (r *shareReader) readWindow(f *shareForm, within *rpc.Window) (err error) {
	first, last := f.params.Inclusion.Block.Value, f.params.Inclusion.MaxBlock.Value
	if within == nil {
		if first == 0 { // a bundle that begins anywhere is nothing that anybody meant
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
	elements, err := param.Elements[elementParams](path, f.params.Body)
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
	if kinds := e.kinds(); len(kinds) > 1 { // whichever counted, the others would vanish without a word
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

// kinds are the names of what an element says it is.
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

// count counts the place of a transaction or a hash.
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

// checkBackruns is the rule of one backrun: what follows a hash, or an inner bundle that gets a
// refund, is that many transactions and no bundle.
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

// isBackrun says whether the first element is somebody else's: a hash, or a bundle that gets a
// refund.
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
