package app

import "syscall"

// dieWithParent has the system kill a child when the lab dies, also one that is paused and reads no
// pipe.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
