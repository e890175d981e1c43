package app

import "syscall"

// dieWithParent makes the kernel kill a child when the lab dies. A child that is paused could not
// notice the lab's death by its pipe.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
