package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
)

// clusterRounds is how often TestClusterOfProcesses injects each fault. A round takes more than a
// minute; without one, only an owner and a stream are killed.
var clusterRounds = flag.Int("cluster-rounds", 0, "how often each fault befalls the processes of a cluster")

// actAs, in the environment, makes this test binary another program: the command itself, or a
// server of a journal's cluster, whose plan is its argument.
const (
	actAs     = "GAVEL_TEST_ACT_AS"
	asCommand = "command"
	asJournal = "journal"
)

func TestMain(m *testing.M) {
	switch os.Getenv(actAs) {
	case asCommand:
		main()
	case asJournal:
		if err := serveJournal(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		os.Exit(projectiontest.Main(m))
	}
}

// journalPlan is one server of a cluster. Ports are on 127.0.0.1.
type journalPlan struct {
	Name, Dir     string
	Client, Route int
	Routes        []string
}

// serveJournal runs a server until its input ends, which is when the test is gone.
func serveJournal(text string) error {
	var plan journalPlan
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{
		ServerName: plan.Name, Host: "127.0.0.1", Port: plan.Client, JetStream: true, StoreDir: plan.Dir, NoSigs: true,
		NoLog: true, JetStreamMaxStore: 1 << 50, MaxPayload: 32 << 20, MaxPending: 128 << 20, SyncAlways: true,
		Cluster: server.ClusterOpts{Name: "gavel", Host: "127.0.0.1", Port: plan.Route},
		Routes:  server.RoutesFromStr(strings.Join(plan.Routes, ",")),
	})
	if err != nil {
		return err
	}
	s.Start()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// process is a program that a test kills, stops and starts again.
type process struct {
	*testing.T

	as   string
	args []string
	// public and admin are the addresses of a service; public alone that of a journal's server.
	public, admin string
	running       *exec.Cmd
	ended         chan error // says how it ended, and is closed then
}

func (p *process) start() {
	p.Helper()
	p.running = exec.Command(os.Args[0], p.args...)
	p.running.Env = append(os.Environ(), actAs+"="+p.as)
	p.running.Stderr = p.Output()
	if _, err := p.running.StdinPipe(); err != nil { // held open, or a server would end by itself
		p.Fatal(err)
	}
	if err := p.running.Start(); err != nil {
		p.Fatal(err)
	}
	running, ended := p.running, make(chan error, 1)
	p.ended = ended
	go func() {
		ended <- running.Wait()
		close(ended)
	}()
}

func (p *process) kill() {
	p.Helper()
	if p.running == nil {
		return
	}
	if err := p.running.Process.Kill(); err != nil {
		p.Errorf("%v has ended by itself: %v", p.args[0], err)
	}
	p.Logf("%s: %v", p.args[0], <-p.ended) // it says that it was killed
	p.running = nil
}

// pause stops the process, as a machine that sleeps; resume wakes it.
func (p *process) pause() { p.signal(syscall.SIGSTOP) }

func (p *process) resume() { p.signal(syscall.SIGCONT) }

func (p *process) signal(signal os.Signal) {
	p.Helper()
	if err := p.running.Process.Signal(signal); err != nil {
		p.Error(err)
	}
}

// ready waits until a service takes requests.
func (p *process) ready() {
	p.Helper()
	until(p.T, "http://"+p.admin+"/readyz", 200, p.ended)
}

// owns says whether a bundle RPC is the one that owns the orders.
func (p *process) owns() bool {
	impatient := http.Client{Timeout: time.Second}
	response, err := impatient.Get("http://" + p.admin + "/readyz")
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK && response.Header.Get("X-Gavel-Role") == "owner"
}

// accepts waits until a journal's server takes connections.
func (p *process) accepts() {
	p.Helper()
	for p.Context().Err() == nil {
		if conn, err := net.Dial("tcp", p.public); err == nil {
			_, err = bufio.NewReader(conn).ReadString('\n') // a server says first who it is
			_ = conn.Close()
			if err == nil {
				return
			}
		}
		<-time.After(50 * time.Millisecond)
	}
}

// cluster is three servers of a journal, two bundle RPCs with one PostgreSQL database, and two
// streams, each a process.
type cluster struct {
	journals, rpcs, streams []*process
	urls                    string // of the journal
}

func startCluster(t *testing.T, node, builders string) *cluster {
	t.Helper()
	c := &cluster{}
	c.startJournals(t)
	t.Setenv(rpcKeyEnv, testKey)
	database := projectiontest.StartPostgres(t).Database(t)
	for range 2 {
		c.rpcs = append(c.rpcs, c.service(t, "rpc", "--execution-rpc", node, "--builders-file", builders, "--db", database,
			"--block-time", "3s", "--private-blocks", "64"))
	}
	for range 2 {
		c.streams = append(c.streams, c.service(t, "stream", "--ping", "2s"))
	}
	for _, service := range append(c.rpcs, c.streams...) {
		service.ready()
	}
	return c
}

func (c *cluster) startJournals(t *testing.T) {
	t.Helper()
	var plans []journalPlan
	var routes, urls []string
	for i := range 3 {
		plan := journalPlan{Name: "server-" + strconv.Itoa(i), Dir: t.TempDir(), Client: portOf(t), Route: portOf(t)}
		plans = append(plans, plan)
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", plan.Route))
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", plan.Client))
	}
	c.urls = strings.Join(urls, ",")
	for _, plan := range plans {
		plan.Routes = routes
		text, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		p := &process{T: t, as: asJournal, args: []string{string(text)}, public: fmt.Sprint("127.0.0.1:", plan.Client)}
		p.start()
		t.Cleanup(p.kill)
		c.journals = append(c.journals, p)
	}
	for _, p := range c.journals {
		p.accepts()
	}
}

// service starts a service of the cluster.
func (c *cluster) service(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := &process{T: t, as: asCommand, public: freePort(t), admin: freePort(t)}
	p.args = append([]string{name, "--listen", p.public, "--admin-listen", p.admin, "--data-dir", t.TempDir(), "--journal",
		c.urls, "--start-timeout", "1m", "--log-level", "error"}, args...)
	p.start()
	t.Cleanup(p.kill)
	return p
}

func portOf(t *testing.T) int {
	t.Helper()
	_, text, err := net.SplitHostPort(freePort(t))
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// owner is the bundle RPC that owns the orders, and the other one, when there is one.
func (c *cluster) owner(t *testing.T) (owner, follower *process) {
	t.Helper()
	for t.Context().Err() == nil {
		for i, p := range c.rpcs {
			if p.owns() {
				return p, c.rpcs[1-i]
			}
		}
		<-time.After(100 * time.Millisecond)
	}
	t.Fatal("nobody owns the orders")
	return nil, nil
}

// takesOver waits until a bundle RPC owns the orders.
func takesOver(p *process) {
	p.Helper()
	for !p.owns() {
		if p.Context().Err() != nil {
			p.Fatal("nobody takes over")
		}
		<-time.After(100 * time.Millisecond)
	}
}

// Signers send orders and cancels to two bundle RPCs, and listeners hear two streams, while
// processes are killed and stand still. What was answered is there at both, nothing is sent after
// the answer to its cancel, each refund is counted once, and each listener hears each event once.
func TestClusterOfProcesses(t *testing.T) {
	flow := newOrderFlow(t)
	c := startCluster(t, flow.node.RPCURL(), flow.buildersFile)
	flow.begin(c)
	flow.goOn(5)
	injected := map[string]int{}
	for name, fault := range c.faults(t, flow) {
		fault()
		injected[name]++
		flow.goOn(5)
	}
	flow.awaitLanding(c.rpcs[0])
	flow.end()
	t.Logf("injected: %v", injected)
	flow.check(c)
}

// faults are the faults, one after another, by their names.
func (c *cluster) faults(t *testing.T, flow *orderFlow) iter.Seq2[string, func()] {
	killOwner := func() { c.failOwner(t, flow, (*process).kill, (*process).start) }
	pauseOwner := func() { c.failOwner(t, flow, (*process).pause, (*process).resume) }
	return func(yield func(string, func()) bool) {
		if *clusterRounds == 0 && yield("a stream is killed", killed(flow, c.streams[0])) {
			yield("the owner of the orders is killed", killOwner)
		}
		for round := range *clusterRounds {
			if !yield("the owner of the orders is killed", killOwner) ||
				!yield("a stream is killed", killed(flow, c.streams[round%2])) ||
				!yield("the owner of the orders stands still", pauseOwner) ||
				!yield("a stream stands still", paused(flow, c.streams[1-round%2])) ||
				!yield("a follower is killed", func() {
					_, follower := c.owner(t)
					killed(flow, follower)()
					follower.ready()
				}) {
				return
			}
		}
		for round := range *clusterRounds {
			if !yield("a server of the journal is killed", killed(flow, c.journals[round%3])) ||
				!yield("a server of the journal stands still", paused(flow, c.journals[(round+1)%3])) {
				return
			}
		}
	}
}

// failOwner has the owner of the orders fail, waits until the other one owns them and answers, and
// has the first one recover.
func (c *cluster) failOwner(t *testing.T, flow *orderFlow, fail, resume func(*process)) {
	t.Helper()
	owner, next := c.owner(t)
	fail(owner)
	takesOver(next)
	flow.goOn(5)
	resume(owner)
	owner.ready()
}

// killed kills a process, and starts it again when others have answered.
func killed(flow *orderFlow, p *process) func() {
	return func() {
		p.kill()
		flow.goOn(5)
		p.start()
	}
}

// paused lets a process stand still until others have answered.
func paused(flow *orderFlow, p *process) func() {
	return func() {
		p.pause()
		flow.goOn(5)
		p.resume()
	}
}
