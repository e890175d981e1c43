package vectors

import (
	"context"
	"fmt"

	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Submissions is a file of builders' submissions to POST /relay/v1/builder/blocks, or of header
// submissions.
type Submissions struct {
	Schema  string           `json:"$schema"`
	Suite   string           `json:"suite"`
	Network ForkNetwork      `json:"network"`
	Cases   []SubmissionCase `json:"cases"`
}

// SubmissionCase is one submission, in one or both encodings.
type SubmissionCase struct {
	Name string `json:"name"`
	// Says is what is right or wrong with it.
	Says  string `json:"says"`
	Known *Known `json:"known"`
	// SigningRoot is what the signature has to be of; empty if the bodies are no submissions.
	SigningRoot string `json:"signingRoot,omitempty"`
	Bodies      []Body `json:"bodies"`
	Expect      Expect `json:"expect"`
}

// submissionRow is a row of the table: one thing that is wrong with a submission, and the refusal.
type submissionRow struct {
	name, says string
	// from is the first fork that has what is wrong; 0 is all.
	from eth.Fork
	// blobs is how many the block has.
	blobs int
	// spoil changes the submission or what is known; nil changes nothing. The message is signed
	// afterwards.
	spoil func(*draft) error
	// after changes the signed submission.
	after  func(*draft)
	expect Expect
}

// draft is a submission while it is changed.
type draft struct {
	*round
	*builderfulu.SubmitBlockRequest
	known *Known
	// signer is the builder, unless somebody else signs, or for another purpose.
	signer *probe.BLSKey
	domain phase0.Domain
}

// rehash makes the block hash right after a change of the payload, in payload and message, so that
// only the rule about what was changed is broken.
func (d *draft) rehash() error {
	var hashes []common.Hash
	var root *common.Hash
	var items [][]byte
	if d.fork.HasBlobs() {
		hashes, root = []common.Hash{}, (*common.Hash)(&parentBeaconRoot)
		for _, commitment := range d.BlobsBundle.Commitments {
			hashes = append(hashes, payload.VersionedHash(commitment))
		}
	}
	if d.fork.HasRequests() {
		var err error
		if items, err = payload.EncodeRequests(d.ExecutionRequests); err != nil {
			return err
		}
	}
	block, err := engine.ExecutableDataToBlockNoHash(payload.ToEngine(d.fork, d.ExecutionPayload), hashes, root, items)
	if err != nil {
		return fmt.Errorf("hash the changed block: %w", err)
	}
	hash := phase0.Hash32(block.Hash())
	d.ExecutionPayload.BlockHash, d.Message.BlockHash = hash, hash
	return nil
}

// signingRoot is what a builder signs.
func (d *draft) signingRoot() (phase0.Root, error) {
	root, err := d.Message.HashTreeRoot()
	if err != nil {
		return phase0.Root{}, fmt.Errorf("hash the message: %w", err)
	}
	return probe.SigningRoot(root, d.domain), nil
}

// drafts makes drafts of the round's blocks. Each block is built once.
type drafts struct {
	*round
	built map[int][]byte // by the number of blobs, in SSZ
	// headers: the builder may send headers first, up to the value of the block.
	headers bool
}

func (f *drafts) new(blobs int) (*draft, error) {
	if f.built[blobs] == nil {
		built, err := f.build(context.Background(), blobs)
		if err != nil {
			return nil, err
		}
		if f.built[blobs], err = probe.Submission(f.fork, f.submission(built)).MarshalSSZ(); err != nil {
			return nil, fmt.Errorf("encode a submission: %w", err)
		}
	}
	s, err := probe.ReadSubmission(f.fork, f.built[blobs])
	if err != nil {
		return nil, err
	}
	d := &draft{round: f.round, SubmitBlockRequest: s, known: f.known(), signer: f.builder, domain: builderDomain()}
	if f.headers {
		collateral := s.Message.Value.Dec()
		d.known.CollateralWei = &collateral
	}
	return d, nil
}

// make makes the submission of a row and returns what has to be signed.
func (f *drafts) make(row submissionRow) (*draft, phase0.Root, error) {
	d, err := f.new(row.blobs)
	if err != nil {
		return nil, phase0.Root{}, err
	}
	if row.spoil != nil {
		if err := row.spoil(d); err != nil {
			return nil, phase0.Root{}, err
		}
	}
	root, err := d.signingRoot()
	if err != nil {
		return nil, phase0.Root{}, err
	}
	d.Signature = d.signer.Sign(root)
	if row.after != nil {
		row.after(d)
	}
	d.domain = builderDomain() // also where it was signed for another one
	root, err = d.signingRoot()
	return d, root, err
}

func writeSubmissions(out *folder, r *round) error {
	f := &drafts{round: r, built: map[int][]byte{}}
	file := Submissions{Schema: schemaOf(4, "submissions"), Suite: "relay/submissions", Network: r.network()}
	folder := file.Suite + "/" + r.fork.String()
	for _, row := range submissionRows() {
		if !r.fork.Includes(row.from) {
			continue
		}
		d, root, err := f.make(row)
		if err != nil {
			return fmt.Errorf("submission %q: %w", row.name, err)
		}
		c := SubmissionCase{Name: row.name, Says: row.says, Known: d.known, SigningRoot: hexOf(root[:]), Expect: row.expect}
		s := probe.Submission(r.fork, d.SubmitBlockRequest)
		if c.Bodies, err = out.writeBoth(folder+"/"+row.name, r.fork, s); err != nil {
			return err
		}
		file.Cases = append(file.Cases, c)
	}
	garbled, err := f.garbled(out, folder)
	if err != nil {
		return err
	}
	file.Cases = append(file.Cases, garbled...)
	return out.document(folder+"/cases.json", "submissions", file.Suite, len(file.Cases), file)
}

// writeBoth writes a document of a fork in both encodings.
func (f *folder) writeBoth(name string, fork eth.Fork, d probe.Document) ([]Body, error) {
	text, ssz, err := encodings(d)
	if err != nil {
		return nil, err
	}
	return f.bodies(name, fork.String(), text, ssz)
}

// bodies writes the encodings of a request that there are.
func (f *folder) bodies(name, version string, text, ssz []byte) (list []Body, err error) {
	for _, one := range []struct {
		encoding string
		content  []byte
	}{{"json", text}, {"ssz", ssz}} {
		if one.content == nil {
			continue
		}
		body, err := f.body(name, one.encoding, requestHeaders(one.encoding, version), one.content)
		if err != nil {
			return nil, err
		}
		list = append(list, body)
	}
	return list, nil
}

// schemaOf is the path of a schema from a file that lies some folders deep.
func schemaOf(depth int, name string) string {
	path := ""
	for range depth - 1 {
		path += "../"
	}
	return path + "schema/" + name + ".schema.json"
}
