package journal

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// serverOf, in the environment, makes this test binary a server of a cluster that a test kills: a
// serverPlan as JSON.
const serverOf = "GAVEL_JOURNAL_SERVER_OF"

// serverPlan is one of several servers. Client and Route are its ports on 127.0.0.1, Routes are
// those of all.
type serverPlan struct {
	Name, Dir     string
	Client, Route int
	Routes        []int
}

// serveCluster runs a server until its input ends, which is when the test is gone, or until killed.
func serveCluster(of string) error {
	var plan serverPlan
	if err := json.Unmarshal([]byte(of), &plan); err != nil {
		return err
	}
	var routes []string
	for _, port := range plan.Routes {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	s, err := server.NewServer(&server.Options{
		ServerName: plan.Name, Host: "127.0.0.1", Port: plan.Client, JetStream: true, StoreDir: plan.Dir, NoSigs: true,
		NoLog: true, JetStreamMaxStore: 8 << 30, MaxPayload: maxValue, MaxPending: 4 * maxValue,
		Cluster: server.ClusterOpts{Name: "gavel", Host: "127.0.0.1", Port: plan.Route},
		Routes:  server.RoutesFromStr(strings.Join(routes, ",")),
	})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return fmt.Errorf("server %s does not start", plan.Name)
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// killedServer is a server of a cluster, which is a process of its own.
type killedServer struct {
	plan serverPlan
	kill func()
}

func (s *killedServer) start(t *testing.T) {
	t.Helper()
	plan, err := json.Marshal(s.plan)
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), serverOf+"="+string(plan))
	process.Stderr = os.Stderr
	if _, err := process.StdinPipe(); err != nil { // held open, or the server would end by itself
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	s.kill = sync.OnceFunc(func() {
		if err := process.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = process.Wait() // says that it was killed
	})
	t.Cleanup(s.kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("a server said %q, %v", line, err)
	}
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// startProcesses is a cluster of three servers that can be killed, and its URL.
func startProcesses(t *testing.T) (servers map[string]*killedServer, url string) {
	t.Helper()
	var routes []int
	for range 3 {
		routes = append(routes, portOf(t, freePort(t)))
	}
	servers = map[string]*killedServer{}
	var urls []string
	for i, route := range routes {
		client := portOf(t, freePort(t))
		s := &killedServer{plan: serverPlan{fmt.Sprint("server-", i), t.TempDir(), client, route, routes}}
		s.start(t)
		servers[s.plan.Name] = s
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", client))
	}
	return servers, strings.Join(urls, ",")
}

// readLogs are the auction logs as an instance has read them. It is safe for concurrent use.
type readLogs struct {
	mu   sync.Mutex        // guards the fields below
	logs map[string]string // by subject
	upTo map[uint64]string // the log of an entry's subject up to the entry, by its number
	more chan struct{}     // closed and replaced with each entry
}

func (r *readLogs) follow(ctx context.Context, j *Journal) error {
	return j.FollowAuction(ctx, 1, func(number uint64, _ time.Time, subject string, data []byte) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.logs[subject] += " " + string(data)
		r.upTo[number] = r.logs[subject]
		close(r.more)
		r.more = make(chan struct{})
		return nil
	})
}

// await returns the log of an entry's subject up to the entry, when it was read.
func (r *readLogs) await(ctx context.Context, number uint64) (log string, ok bool) {
	for {
		r.mu.Lock()
		log, ok = r.upTo[number]
		more := r.more
		r.mu.Unlock()
		if ok {
			return log, true
		}
		select {
		case <-more:
		case <-ctx.Done():
			return "", false
		}
	}
}

// settle finds out what became of the entries whose answer did not come. Those that were read are
// given what their answer would have been, which keeps the search short; the others never counted.
func (r *readLogs) settle(h *history) {
	seen := map[appendInput]string{}
	for subject, log := range r.logs {
		for end, char := range log + " " {
			if char == ' ' && end > 0 {
				seen[appendInput{subject, log[strings.LastIndex(log[:end], " ")+1 : end]}] = log[:end]
			}
		}
	}
	h.operations = slices.DeleteFunc(h.operations, func(one porcupine.Operation) bool {
		return one.Output == nil && seen[one.Input.(appendInput)] == ""
	})
	for i, one := range h.operations {
		if one.Output == nil {
			h.operations[i].Output = seen[one.Input.(appendInput)]
		}
	}
}

const (
	// clientsEach is how many clients each instance has. Each asks once in clientPace.
	clientsEach = 3
	clientPace  = 10 * time.Millisecond
	// answerWait is how long a client waits. A leader is elected within ten seconds.
	answerWait = 4 * time.Second
	// entriesEach is how many entries the log of a slot has, and claimsEach how often each client
	// claims a slot.
	entriesEach = 30
	claimsEach  = 2
)

// rivals are clients of several instances that claim the same slots for different blocks, and
// append to the same auction logs.
type rivals struct {
	claims, logs     history
	claimed, entered atomic.Int64 // how many were answered
	numbers          atomic.Int64 // of entries
}

func (r *rivals) play(ctx context.Context, client int, j *Journal, read *readLogs) {
	pace := time.NewTicker(clientPace)
	defer pace.Stop()
	for turn := 0; ctx.Err() == nil; turn++ {
		r.claim(ctx, client, j, claimInput{fmt.Sprint("slot-", turn/claimsEach), fmt.Sprint("block-", (client+turn)%2)})
		number := r.numbers.Add(1)
		r.enter(ctx, client, j, read, appendInput{fmt.Sprint("net.", number/entriesEach), fmt.Sprint(number)})
		<-pace.C
	}
}

func (r *rivals) claim(ctx context.Context, client int, j *Journal, input claimInput) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	answered := r.claims.begin(client, input)
	if standing, _, err := j.Claim(ctx, input.key, []byte(input.value)); err == nil {
		answered(string(standing))
		r.claimed.Add(1)
	} else {
		answered(nil)
	}
}

func (r *rivals) enter(ctx context.Context, client int, j *Journal, read *readLogs, input appendInput) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	answered := r.logs.begin(client, input)
	if number, err := j.AppendAuction(ctx, input.subject, []byte(input.entry)); err == nil {
		if log, ok := read.await(ctx, number); ok {
			answered(log)
			r.entered.Add(1)
			return
		}
	}
	answered(nil)
}

// goOn waits until so many more claims and entries were answered.
func (r *rivals) goOn(t *testing.T, more int64) {
	t.Helper()
	claimed, entered := r.claimed.Load()+more, r.entered.Load()+more
	eventually(t, "claims and entries are answered", func() bool {
		return r.claimed.Load() >= claimed && r.entered.Load() >= entered
	})
}

// leader is the name of the server that leads a stream.
func leader(t *testing.T, j *Journal, stream string) (name string) {
	t.Helper()
	eventually(t, stream+" has a leader and all replicas", func() bool {
		found, err := j.js.Stream(t.Context(), stream)
		if err != nil {
			return false
		}
		cluster := found.CachedInfo().Cluster
		name = cluster.Leader
		return name != "" && len(cluster.Replicas) == 2 && isCurrent(cluster.Replicas[0]) && isCurrent(cluster.Replicas[1])
	})
	return name
}

func isCurrent(peer *jetstream.PeerInfo) bool { return peer.Current && !peer.Offline }

// Two instances claim and append while the server that leads the guard is killed, and then the one
// that leads the auction logs. What they were answered is what one copy would have answered.
//
//gavel:fault kill
func TestClusterHistoriesAreLinearizable(t *testing.T) {
	servers, url := startProcesses(t)
	playing, stop := context.WithCancel(t.Context())
	defer stop()
	following, end := context.WithCancel(t.Context())
	defer end()
	var r rivals
	var clients, readers sync.WaitGroup
	var first *Journal
	var read *readLogs // by the second instance
	for i := range 2 {
		j := open(t, Config{URL: url, AuctionLog: true, StartTimeout: time.Minute})
		if i == 0 {
			first = j
		}
		read = &readLogs{logs: map[string]string{}, upTo: map[uint64]string{}, more: make(chan struct{})}
		read := read
		readers.Go(func() {
			if err := read.follow(following, j); err != nil {
				t.Error(err)
			}
		})
		for n := range clientsEach {
			clients.Go(func() { r.play(playing, i*clientsEach+n, j, read) })
		}
	}
	r.goOn(t, 30)
	for _, stream := range []string{guardName, auctionName} {
		victim := servers[leader(t, first, stream)]
		victim.kill()
		r.goOn(t, 60)
		victim.start(t)
	}
	leader(t, first, guardName)
	r.goOn(t, 30)
	stop()
	clients.Wait()
	last, err := first.LastAuction(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := read.await(t.Context(), last); !ok {
		t.Fatal("the logs are not read to their end")
	}
	end()
	readers.Wait()
	claimed, claimsLost := r.claims.count()
	entered, entriesLost := r.logs.count()
	t.Logf("claims: %d answered, %d not; entries: %d answered, %d not", claimed, claimsLost, entered, entriesLost)
	read.settle(&r.logs)
	for model, h := range map[*porcupine.Model]*history{&claimModel: &r.claims, &logModel: &r.logs} {
		if !h.isLinearizable(t, *model) {
			t.Errorf("%d answers are not those of one copy", len(h.operations))
		}
		h.spoil()
		if h.isLinearizable(t, *model) {
			t.Error("a wrong answer among them is not found")
		}
	}
}

// spoil makes the last answer one that nobody could have been given.
func (h *history) spoil() {
	for i := len(h.operations) - 1; ; i-- {
		if one := &h.operations[i]; one.Return != never {
			one.Output = one.Output.(string) + "0"
			return
		}
	}
}
