// Package clocktest has clocks that a test rules. Nobody waits for them longer than their
// goroutines need. It is for tests only.
package clocktest
