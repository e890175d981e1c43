package probe

import (
	"encoding/json"
	"fmt"
	"strings"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// registrationSize is the size of a SignedValidatorRegistrationV1 in SSZ; a list is their sequence.
const registrationSize = 180

// RegistrationOf reads a list of registrations and returns that of a validator.
func RegistrationOf(contentType string, body []byte,
	validator phase0.BLSPubKey) (*builderv1.SignedValidatorRegistration, error) {
	var list []*builderv1.SignedValidatorRegistration
	if strings.HasPrefix(contentType, "application/octet-stream") {
		for ; len(body) >= registrationSize; body = body[registrationSize:] {
			one := new(builderv1.SignedValidatorRegistration)
			if err := one.UnmarshalSSZ(body[:registrationSize]); err != nil {
				return nil, fmt.Errorf("read registrations: %w", err)
			}
			list = append(list, one)
		}
		if len(body) > 0 {
			return nil, fmt.Errorf("read registrations: %d bytes behind them", len(body))
		}
	} else if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("read registrations: %w", err)
	}
	for _, one := range list {
		if one != nil && one.Message != nil && one.Message.Pubkey == validator {
			return one, nil
		}
	}
	return nil, fmt.Errorf("read registrations: none of %s", validator)
}
