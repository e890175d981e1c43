package clock

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"syscall"
)

// threadsWork says whether a thread of this process other than the caller's uses a processor or
// waits for one (proc_pid_stat(5), state R), or waits for a disk (state D). A thread whose state
// cannot be read counts as one that works, unless it has ended.
func threadsWork() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const folder = "/proc/self/task"
	threads, err := os.ReadDir(folder)
	if err != nil {
		return true
	}
	own := strconv.Itoa(syscall.Gettid())
	for _, thread := range threads {
		if thread.Name() == own {
			continue
		}
		stat, err := os.ReadFile(folder + "/" + thread.Name() + "/stat")
		if os.IsNotExist(err) {
			continue
		}
		if err != nil || works(stat) {
			return true
		}
	}
	return false
}

// works says whether a thread's stat shows that it uses a processor, waits for one or waits for a
// disk. The thread's name stands in parentheses before the state, and may itself contain
// parentheses. A stat that is none counts as one of a thread that works.
func works(stat []byte) bool {
	_, state, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return !found || len(state) == 0 || state[0] == 'R' || state[0] == 'D'
}
