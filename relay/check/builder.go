package check

import "github.com/gavel-relay/gavel/relay"

// Builder refuses a builder that the operator has blocked. An honest builder learns from the
// refusal that it has to ask the operator; a silent drop would not tell it.
func Builder(c *Case) *relay.Refused {
	if c.Builder.Blocked {
		return relay.SubmissionBlocked.Plain()
	}
	return nil
}
