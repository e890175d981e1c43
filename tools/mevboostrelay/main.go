// Command mevboostrelay runs flashbots/mev-boost-relay as its operators do, with all that it needs:
// a PostgreSQL of its own in a temporary folder, a Redis in this process, the housekeeper and the
// API. The network's parameters are read from the beacon node, so that it follows any network. It
// ends when it is told to, and then nothing of it is left.
//
//	mevboostrelay --listen 127.0.0.1:9062 --beacon http://127.0.0.1:9191 --simulator http://127.0.0.1:9192
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/flashbots/mev-boost-relay/cmd"
	"github.com/flashbots/mev-boost-relay/metrics"
)

func main() {
	// The relay's own commands (api, housekeeper) are run by this program, too.
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		// Only the API does this in v0.33.0, and the housekeeper panics at its first slot.
		if os.Args[1] != "housekeeper" {
			cmd.Execute()
			return
		}
		if err := metrics.Setup(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "mevboostrelay: set up metrics:", err)
			os.Exit(1)
		}
		cmd.Execute()
		return
	}
	var of options
	flag.StringVar(&of.listen, "listen", "127.0.0.1:9062", "address of the relay")
	flag.StringVar(&of.beacon, "beacon", "http://127.0.0.1:9191", "URL of the beacon node")
	flag.StringVar(&of.simulator, "simulator", "http://127.0.0.1:9192", "URL of the node that validates blocks")
	flag.BoolVar(&of.cancellations, "cancellations", true, "let builders cancel their bids")
	flag.StringVar(&of.logLevel, "log-level", "error", "how much the relay logs: debug, info, warn, error")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, of); err != nil {
		fmt.Fprintln(os.Stderr, "mevboostrelay:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	listen, beacon, simulator, logLevel string

	cancellations bool
}

// secretKey signs the relay's bids. It is worth nothing.
const secretKey = "0x607a11b45a7219cc61a3d9c5fd08c7eebd602a6a19a977f8d3771d5711a550f2"

// stopTimeout is how long a process may take to end before it is killed.
const stopTimeout = 5 * time.Second

// run starts everything, waits until the context or a process ends, and stops everything.
func run(ctx context.Context, of options) (err error) {
	network, err := readNetwork(ctx, of.beacon)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mbr") // a short name: a unix socket's path may have about 100 bytes
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	redis := miniredis.NewMiniRedis()
	if err := redis.Start(); err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	defer redis.Close()
	// Its time stands unless it is moved, and the relay expects keys to expire.
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	ended := make(chan error, 3)
	database, err := startDatabase(ctx, dir, ended)
	if err != nil {
		return err
	}
	defer database.stop()
	env := append(network,
		"NETWORK=custom", "BEACON_URIS="+of.beacon, "BLOCKSIM_URI="+of.simulator, "LISTEN_ADDR="+of.listen,
		"REDIS_URI="+redis.Addr(), "POSTGRES_DSN=postgres://gavel@/postgres?sslmode=disable&host="+dir,
		"SECRET_KEY="+secretKey, "LOG_LEVEL="+of.logLevel, "API_SHUTDOWN_WAIT_SEC=0", "GETPAYLOAD_RESPONSE_DELAY_MS=0")
	if of.cancellations {
		env = append(env, "ENABLE_BUILDER_CANCELLATIONS=1")
	}
	// One after the other, since both apply the database's schema.
	housekeeper, err := startSelf("housekeeper", env, ended)
	if err != nil {
		return err
	}
	defer housekeeper.stop()
	if err := untilFollowing(ctx, redis); err != nil {
		return err
	}
	api, err := startSelf("api", env, ended)
	if err != nil {
		return err
	}
	defer api.stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case <-ticker.C:
			redis.FastForward(time.Second)
		}
	}
}

// startSelf runs one of the relay's own commands.
func startSelf(service string, env []string, ended chan<- error) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	command := exec.Command(self, service)
	command.Env = append(os.Environ(), env...)
	return start(service, command, ended)
}

// untilFollowing waits until the housekeeper has written the newest slot: then the schema is there,
// and it follows the beacon node.
func untilFollowing(ctx context.Context, redis *miniredis.Miniredis) error {
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	for {
		for _, key := range redis.Keys() {
			if strings.Contains(key, ":stats") {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.New("the housekeeper does not follow the beacon node")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// readNetwork returns the network's parameters as the relay's environment.
func readNetwork(ctx context.Context, beacon string) ([]string, error) {
	var genesis struct {
		Data map[string]string `json:"data"`
	}
	var spec struct {
		Data map[string]any `json:"data"`
	}
	if err := errors.Join(get(ctx, beacon+"/eth/v1/beacon/genesis", &genesis),
		get(ctx, beacon+"/eth/v1/config/spec", &spec)); err != nil {
		return nil, err
	}
	env := []string{
		"GENESIS_FORK_VERSION=" + genesis.Data["genesis_fork_version"],
		"GENESIS_VALIDATORS_ROOT=" + genesis.Data["genesis_validators_root"],
	}
	for name, key := range map[string]string{"SEC_PER_SLOT": "SECONDS_PER_SLOT", "SLOTS_PER_EPOCH": "SLOTS_PER_EPOCH",
		"BELLATRIX_FORK_VERSION": "BELLATRIX_FORK_VERSION", "CAPELLA_FORK_VERSION": "CAPELLA_FORK_VERSION",
		"DENEB_FORK_VERSION": "DENEB_FORK_VERSION", "ELECTRA_FORK_VERSION": "ELECTRA_FORK_VERSION",
		"FULU_FORK_VERSION": "FULU_FORK_VERSION"} {
		value, is := spec.Data[key].(string)
		if !is {
			return nil, fmt.Errorf("the beacon node does not tell %s", key)
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

// get reads a JSON answer.
func get(ctx context.Context, address string, into any) error {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("ask the beacon node: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the beacon node: %s answers %s", address, answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", address, err)
	}
	return nil
}

// startDatabase makes and starts a PostgreSQL that listens at a unix socket in the folder. It syncs
// nothing to disk, since nothing is kept.
func startDatabase(ctx context.Context, dir string, ended chan error) (*process, error) {
	who := databaseUser()
	if who != nil {
		if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
			return nil, fmt.Errorf("give PostgreSQL its folder: %w", err)
		}
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, found("initdb"), "--pgdata", data, "--username", "gavel", "--auth", "trust",
		"--no-sync", "--encoding", "UTF8", "--no-locale")
	initdb.Dir, initdb.SysProcAttr = dir, &syscall.SysProcAttr{Credential: who}
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	server := exec.Command(found("postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off",
		"-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "shared_buffers=32MB",
		"-c", "max_connections=150", "-c", "log_min_messages=fatal")
	server.Dir, server.SysProcAttr = dir, &syscall.SysProcAttr{Credential: who}
	p, err := start("postgres", server, ended)
	if err != nil {
		return nil, err
	}
	const pause, most = 50 * time.Millisecond, 600
	for range most {
		// PostgreSQL writes "ready" into this file once it accepts connections.
		state, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
		if err == nil && strings.Contains(string(state), "ready") {
			return p, nil
		}
		select {
		case <-ctx.Done():
		case err := <-ended:
			return nil, err
		case <-time.After(pause):
			continue
		}
		break
	}
	p.stop()
	return nil, errors.New("PostgreSQL does not get ready")
}

// found returns the path of one of PostgreSQL's programs, which Debian keeps out of PATH.
func found(program string) string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	if all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program); len(all) > 0 {
		return all[len(all)-1]
	}
	return program
}

// databaseUser is who PostgreSQL runs as if this program is root's, since it refuses to be root.
func databaseUser() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if who, err := user.Lookup(name); err == nil {
			uid, errUser := strconv.ParseUint(who.Uid, 10, 32)
			gid, errGroup := strconv.ParseUint(who.Gid, 10, 32)
			if errUser == nil && errGroup == nil {
				return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
			}
		}
	}
	return nil
}

// process is a process that was started, and ends with this one.
type process struct {
	command *exec.Cmd
	over    chan struct{}
}

// start starts a command, and tells if it ends. It is in the group of this process, so that whoever
// kills the group kills all.
func start(name string, command *exec.Cmd, ended chan<- error) (*process, error) {
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{command: command, over: make(chan struct{})}
	go func() {
		err := command.Wait()
		close(p.over)
		ended <- fmt.Errorf("%s ended: %w", name, errors.Join(err, errors.New("by itself")))
	}()
	return p, nil
}

// stop ends the process.
func (p *process) stop() {
	_ = p.command.Process.Signal(os.Interrupt) // it may have ended already
	select {
	case <-p.over:
	case <-time.After(stopTimeout):
		_ = p.command.Process.Kill()
		<-p.over
	}
}
