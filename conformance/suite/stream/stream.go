// Package stream is the specs of the event stream and its history, one file for each operation.
package stream

import "github.com/gavel-relay/gavel/conformance/suite"

// Specs adds all specs of the stream to a set.
func Specs(*suite.Set) {}
