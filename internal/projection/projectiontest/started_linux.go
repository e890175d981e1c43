package projectiontest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// startedBy lists the child processes of a process.
func startedBy(pid int) ([]int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil, err
	}
	var started []int
	for _, field := range strings.Fields(string(data)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		started = append(started, child)
	}
	return started, nil
}
