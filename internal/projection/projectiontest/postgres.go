package projectiontest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// startTimeout is how long the server may take to make its files and to accept connections.
const startTimeout = 60 * time.Second

// Server is a running server. Tests that stop it must not run in parallel with others.
type Server struct {
	dir string
	bin string // the folder of initdb and postgres, empty if PATH has them
	mu  sync.Mutex
	run *os.Process // nil while it is stopped
	// ended gets the error of a server process that has ended.
	ended chan error
	out   strings.Builder
	// databases is the number of databases made so far.
	databases int
}

// shared is the server of this process, which the first StartPostgres makes.
var shared struct {
	sync.Mutex
	server *Server
	err    error
}

// StartPostgres returns the server of this test process, and starts it if needed. If PostgreSQL is
// not installed, the test fails with a message that says what to install.
func StartPostgres(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = start()
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// Main runs the tests of a package, and then stops the server if one was started. It returns the
// exit code.
func Main(m *testing.M) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		return code
	}
	if err := shared.server.end(); err != nil {
		fmt.Fprintln(os.Stderr, "end PostgreSQL:", err)
		return 1
	}
	return code
}

func start() (*Server, error) {
	bin, err := find("/usr/lib/postgresql/*/bin") // Debian
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg") // a short name, because the path of a unix socket may have about 100 bytes only
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin}
	if err := errors.Join(s.initialize(), s.launch()); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

// find looks for the server's programs: in PATH, and then in the folders of a pattern, the last one
// first. It returns the folder; empty for PATH.
func find(folders string) (bin string, err error) {
	if _, err := exec.LookPath("initdb"); err == nil {
		if _, err := exec.LookPath("postgres"); err == nil {
			return "", nil
		}
	}
	found, err := filepath.Glob(filepath.Join(folders, "initdb"))
	if err != nil || len(found) == 0 {
		return "", errors.New("PostgreSQL is missing; these tests need a real one: scripts/needs.sh installs it (apt-get " +
			"install postgresql)")
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// initialize makes the files of a server.
func (s *Server) initialize() error {
	if err := ownedByServer(s.dir); err != nil {
		return err
	}
	command := s.command("initdb", "--pgdata", s.data(), "--username", "gavel", "--auth", "trust", "--no-sync",
		"--encoding", "UTF8", "--no-locale")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command prepares one of the server's programs, as a user that PostgreSQL accepts.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	command := exec.Command(filepath.Join(s.bin, program), args...) // find has found this program
	if s.bin == "" {
		command = exec.Command(program, args...) // one of two names
	}
	command.Dir = s.dir
	command.SysProcAttr = serverProcess()
	return command
}

// launch starts the server and waits until it accepts connections.
func (s *Server) launch() error {
	command := s.command("postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c",
		"synchronous_commit=off",
		"-c", "full_page_writes=off", "-c", "shared_buffers=16MB", "-c", "max_connections=50")
	s.out.Reset()
	command.Stdout, command.Stderr = &s.out, &s.out
	started, ended := make(chan error), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the server ends with the thread that has started it, see serverProcess
		err := command.Start()
		started <- err
		if err == nil {
			ended <- command.Wait()
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	s.run, s.ended = command.Process, ended
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return s.accepts(ctx)
}

// accepts waits until the server accepts a connection.
func (s *Server) accepts(ctx context.Context) error {
	db, err := sql.Open("pgx", s.address("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case ended := <-s.ended:
			s.run = nil
			return fmt.Errorf("PostgreSQL does not start: %w\n%s", ended, s.out.String())
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not accept connections: %w", err)
		}
	}
}

// address is the address of a database of the server, by its unix socket.
func (s *Server) address(name string) string {
	return (&url.URL{
		Scheme: "postgres", User: url.User("gavel"), Path: "/" + name, RawQuery: url.Values{"host": {s.dir}}.Encode(),
	}).String()
}

// Database makes an empty database for a test and returns its address.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.databases++
	name := fmt.Sprintf("test%d", s.databases)
	db, err := sql.Open("pgx", s.address("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return s.address(name)
}

// Stop stops the server by a fast shutdown: connections break, and committed data stays. The server
// is restarted at the end of the test, if the test does not Restart it.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.halt(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Restart(t) })
}

// Restart starts a stopped server again, with its databases. It does nothing if the server runs.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		return
	}
	if err := s.launch(); err != nil {
		t.Fatal(err)
	}
}

// Pause suspends the server and all its processes: connections stay open, but nothing answers. The
// server is resumed at the end of the test, if the test does not Resume it.
func (s *Server) Pause(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Cleanup(func() { s.Resume(t) })
	if err := s.signalAll(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// Resume lets a paused server go on.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.signalAll(syscall.SIGCONT); err != nil {
		t.Error(err)
	}
}

// signalAll signals the server, and then the processes that it has started. A suspended server
// starts no more processes.
func (s *Server) signalAll(signal syscall.Signal) error {
	if s.run == nil {
		return nil
	}
	if err := s.run.Signal(signal); err != nil {
		return fmt.Errorf("signal PostgreSQL: %w", err)
	}
	started, err := startedBy(s.run.Pid)
	if err != nil {
		return fmt.Errorf("signal PostgreSQL: %w", err)
	}
	for _, pid := range started {
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) { // ESRCH: it has just ended
			return fmt.Errorf("signal a process of PostgreSQL: %w", err)
		}
	}
	return nil
}

// halt starts the fast shutdown and waits until the server has ended.
func (s *Server) halt() error {
	if s.run == nil {
		return nil
	}
	if err := s.run.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	err := <-s.ended
	s.run = nil
	if err != nil {
		return fmt.Errorf("PostgreSQL ended badly: %w\n%s", err, s.out.String())
	}
	return nil
}

// end stops the server and removes its files.
func (s *Server) end() error { return errors.Join(s.halt(), os.RemoveAll(s.dir)) }
