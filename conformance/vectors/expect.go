package vectors

// Expect is what must come of a request.
type Expect struct {
	// Verdict is "accepted" or "refused".
	Verdict string `json:"verdict"`
	// StatusClass is the class of the HTTP status: "2xx" or "4xx".
	StatusClass string `json:"statusClass"`
	// Refusal is gavel's name of the refusal, as in its X-Refusal header and docs/relay.md.
	Refusal string `json:"refusal,omitempty"`
	// Stage says what is needed to find the mistake: "decode" the bytes alone, "check" what is known
	// of the slot, "execute" the state of the parent.
	Stage string `json:"stage,omitempty"`
	// Rule is the rule that an executed block breaks, as in the message of submission-invalid.
	Rule string `json:"rule,omitempty"`
	// Clauses are the clauses of docs/clauses.md that ask for this.
	Clauses []string `json:"clauses,omitempty"`
}

func accepted(clauses ...string) Expect {
	return Expect{Verdict: "accepted", StatusClass: "2xx", Clauses: clauses}
}

func refused(stage, refusal string, clauses ...string) Expect {
	return Expect{Verdict: "refused", StatusClass: "4xx", Stage: stage, Refusal: refusal, Clauses: clauses}
}

// Body is a request or an answer, byte for byte, in a file of its own.
type Body struct {
	// Encoding is "json" or "ssz".
	Encoding string            `json:"encoding"`
	Headers  map[string]string `json:"headers,omitempty"`
	// File is below the folder of the vectors.
	File string `json:"file"`
}

// Stages at which a mistake can be found.
const (
	stageDecode  = "decode"
	stageCheck   = "check"
	stageExecute = "execute"
)

// Media types of the two encodings.
const (
	mediaJSON = "application/json"
	mediaSSZ  = "application/octet-stream"
)

// body writes a body into its file.
func (f *folder) body(name, encoding string, headers map[string]string, content []byte) (Body, error) {
	file, err := f.write(name+"."+encoding, "", content)
	return Body{Encoding: encoding, Headers: headers, File: file.Path}, err
}

// requestHeaders are those of a request of a fork in an encoding.
func requestHeaders(encoding, version string) map[string]string {
	headers := map[string]string{"Content-Type": mediaJSON}
	if encoding == "ssz" {
		headers["Content-Type"] = mediaSSZ
	}
	if version != "" {
		headers["Eth-Consensus-Version"] = version
	}
	return headers
}
