// Package rpc is the specs of the bundle RPC, one file for each method.
package rpc

import "github.com/gavel-relay/gavel/conformance/suite"

// Specs adds all specs of the bundle RPC to a set.
func Specs(*suite.Set) {}
