package projectiontest

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// serverUser is the user that the server runs as if the tests run as root, because PostgreSQL
// refuses to run as root: postgres if that user exists, else nobody. For other users it is nil.
func serverUser() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUser := strconv.ParseUint(found.Uid, 10, 32)
		gid, errGroup := strconv.ParseUint(found.Gid, 10, 32)
		if errUser == nil && errGroup == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return nil
}

// serverProcess makes a process of the server end with the tests, however they end.
func serverProcess() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: serverUser(), Pdeathsig: syscall.SIGINT}
}

// ownedByServer gives a folder to the user that the server runs as.
func ownedByServer(dir string) error {
	who := serverUser()
	if who == nil {
		return nil
	}
	if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
		return fmt.Errorf("give PostgreSQL its folder: %w", err)
	}
	return nil
}
