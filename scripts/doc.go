// Package scripts has the tests of the scripts beside it: what they decide, with programs in their
// PATH that only say what real ones would.
package scripts
