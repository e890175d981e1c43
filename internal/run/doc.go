// Package run has what the process of every command needs: signals, the log, parts that run beside
// a server and end after it, closing what was opened, and the one line for a fatal error.
//
//	Ctrl-C ──▶ Context ──cancels──▶ Behind: the server lets running requests finish, then its parts end
//	                                Opened.Close: what was opened last is closed first
//	Ctrl-C again ──▶ the process ends at once
package run
