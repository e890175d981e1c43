// Package run is the shell of a process, the same for every command: signals, the log, what runs
// behind a server and ends after it, what was opened and is closed, and the one line on which a
// fatal error ends.
//
//	Ctrl-C ──▶ Context ──cancels──▶ Behind: the server lets running requests finish, then its parts end
//	                                Opened.Close: what was opened last is closed first
//	Ctrl-C again ──▶ the process ends at once
package run
