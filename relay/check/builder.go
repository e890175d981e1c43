package check

import "github.com/gavel-relay/gavel/relay"

// Builder refuses a builder that the operator has blocked. Unlike a silent drop it tells an honest
// one what to do: ask the operator.
func Builder(c *Case) *relay.Refused {
	if c.Builder.Blocked {
		return relay.SubmissionBlocked.Plain()
	}
	return nil
}
