// Package run is the shell of a process, the same for every command: signals, the log, the order in which parts start and stop, and
// the one line on which a fatal error ends.
//
//	Ctrl-C ──▶ Context ──cancels──▶ Group.Run
//	                                  start a, then b, then c          (each is ready before the next one begins)
//	                                  … until the context ends, a part fails, or one has Finished …
//	                                  stop c, then b, then a           (all within StopTimeout)
//	Ctrl-C again ──▶ the process ends at once
package run
