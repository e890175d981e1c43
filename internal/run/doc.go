// Package run has what the process of every command needs: signals, the log, parts that run beside
// a server and end after it, closing what was opened, and the one line for a fatal error.
//
//	Ctrl-C ──▶ Context ──cancels──▶ Behind: the server lets running requests finish, then its parts end
//	                                Opened.Close: what was opened last is closed first
//	Ctrl-C again ──▶ the process ends at once
//
// It also has what the command lines of both programs have in common (command.go). A mistake of the
// caller gets one line that says what to do, and status 2. A flag may also be set in a
// configuration file (configfile.go). The documents are made from the flags themselves. Lists that
// operators write in YAML, such as lists of builders, are read in one way (list.go).
package run
