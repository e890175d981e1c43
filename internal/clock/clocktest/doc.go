// Package clocktest has clocks that a test controls. Tests with them never wait for wall time. It
// is for tests only.
package clocktest
