package vectors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

// garbledRow is a body that is no request, made of the bytes of a good one. A nil result means that
// there is no such body in this encoding.
type garbledRow struct {
	name, says string
	json, ssz  func(good []byte) []byte
	expect     Expect
}

// firstOffset is where the first offset stands in the SSZ of a submission: after the message of 236
// bytes.
const firstOffset = 236

// garbledRows are those of every document of a fork. body and length are the clauses about bodies
// of a wrong form and about SSZ of a wrong length. Where variable is set, the document of bellatrix
// ends with bytes of any number, so that one more or less makes another document; then that is what
// is expected.
func garbledRows(fork eth.Fork, body, length string, variable Expect) []garbledRow {
	form, long := refused(stageDecode, "malformed", body), refused(stageDecode, "malformed", length)
	if !fork.HasWithdrawals() {
		long = variable
	}
	none := func([]byte) []byte { return []byte{} }
	cut := func(good []byte) []byte { return good[:len(good)-1] }
	return []garbledRow{
		{"empty", "The body has no byte.", none, none, form},
		{"cut", "The last byte is missing.", cut, nil, form},
		{"ssz-cut", "The last byte is missing.", nil, cut, long},
		{"byte-more", "A byte follows the end.", func(good []byte) []byte {
			return append(bytes.Clone(good), '}')
		}, nil, form},
		{"ssz-byte-more", "A byte follows the end.", nil,
			func(good []byte) []byte { return append(bytes.Clone(good), 0) }, long},
		{"list", "The object stands in a list.",
			func(good []byte) []byte { return []byte("[" + string(good) + "]") }, nil, form},
		{"signature-missing", "signature is missing.", func(good []byte) []byte { return dropMember(good, "signature") }, nil,
			form},
		{"message-missing", "message is missing.", func(good []byte) []byte { return dropMember(good, "message") }, nil,
			form},
	}
}

// dropMember returns an object without one of its members.
func dropMember(object []byte, member string) []byte {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		panic(fmt.Sprintf("a document that was encoded is no object: %v", err))
	}
	delete(members, member)
	raw, err := json.Marshal(members)
	if err != nil {
		panic(fmt.Sprintf("encode a document again: %v", err))
	}
	return raw
}

// garbled are bodies that are no submissions of the fork.
func (f *drafts) garbled(out *folder, folder string) (cases []SubmissionCase, err error) {
	d, _, err := f.make(submissionRow{})
	if err != nil {
		return nil, err
	}
	text, ssz, err := encodings(probe.Submission(f.fork, d.SubmitBlockRequest))
	if err != nil {
		return nil, err
	}
	value := refused(stageDecode, "malformed", "REL-SUB-34")
	rows := append(garbledRows(f.fork, "REL-SUB-25", "REL-SUB-36", invalid("block_hash", "REL-SUB-36")),
		garbledRow{"offset-shifted", "The first offset points a byte too far.", nil, func(good []byte) []byte {
			bad := bytes.Clone(good)
			offset := binary.LittleEndian.Uint32(bad[firstOffset:])
			binary.LittleEndian.PutUint32(bad[firstOffset:], offset+1)
			return bad
		}, refused(stageDecode, "malformed", "REL-SUB-25")},
		garbledRow{"value-negative", "The value is negative.", func(good []byte) []byte {
			return bytes.Replace(good, []byte(`"value":"`), []byte(`"value":"-`), 1)
		}, nil, value},
		garbledRow{"value-too-long", "The value has 300 bits.", func(good []byte) []byte {
			return bytes.Replace(good, []byte(`"value":"`), []byte(`"value":"1`+strings.Repeat("0", 90)), 1)
		}, nil, value},
	)
	for _, row := range rows {
		c := SubmissionCase{Name: row.name, Says: row.says, Known: d.known, Expect: row.expect}
		if c.Bodies, err = out.garble(folder, f.fork, row, text, ssz); err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	other := SubmissionCase{
		Name: "fork-other", Says: "Eth-Consensus-Version names another fork than the slot's.", Known: d.known,
		Expect: refused(stageDecode, "wrong-fork", "REL-SUB-29"),
	}
	if other.Bodies, err = out.bodies(folder+"/"+other.Name, otherFork(f.fork).String(), text, ssz); err != nil {
		return nil, err
	}
	return append(cases, other), nil
}

// garble writes the bodies of a row, made of good ones.
func (f *folder) garble(folder string, fork eth.Fork, row garbledRow, text, ssz []byte) ([]Body, error) {
	return f.bodies(folder+"/"+row.name, fork.String(), apply(row.json, text), apply(row.ssz, ssz))
}

func apply(change func([]byte) []byte, good []byte) []byte {
	if change == nil {
		return nil
	}
	return change(good)
}

// encodings returns both encodings of a document.
func encodings(d probe.Document) (text, ssz []byte, err error) {
	if text, err = d.MarshalJSON(); err == nil {
		ssz, err = d.MarshalSSZ()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("encode: %w", err)
	}
	return text, ssz, nil
}

// otherFork is the fork before, or the one after the first.
func otherFork(fork eth.Fork) eth.Fork {
	if probe.Has(fork - 1) {
		return fork - 1
	}
	return fork + 1
}
