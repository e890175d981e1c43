package wire

import "github.com/gavel-relay/gavel/relay"

// EncodeSubmission is a kept submission as a SubmitBlockRequest of its fork in SSZ, with zeros in place of the signature.
func EncodeSubmission(c *relay.Contents) ([]byte, error) {
	request, err := toRequest(c)
	if err != nil {
		return nil, err
	}
	return request.MarshalSSZ()
}
