package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/lease"
)

// quickLease changes hands within a second or two.
var quickLease = lease.Config{Renew: 100 * time.Millisecond, Valid: 2 * time.Second, Take: 3 * time.Second}

// startCluster is the smallest cluster, and its address.
func startCluster(t *testing.T) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		JetStreamMaxStore: 1 << 50, MaxPayload: 32 << 20, MaxPending: 128 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the cluster does not start")
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	at, err := url.Parse(s.ClientURL())
	must(t, err)
	return at.Host
}

// cable is the way of one instance to the cluster, which can be cut.
type cable struct {
	listener net.Listener
	mu       sync.Mutex // guards what follows
	conns    []net.Conn
	isCut    bool
	flows    sync.RWMutex // held for writing while what the instance sends does not come through
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	c := &cable{listener: listener}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil || !c.add(near, far) {
				_ = near.Close()
				continue
			}
			go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
			go func() { _, _ = io.Copy(valve{far, c}, near); _ = far.Close() }()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		c.cut(true)
	})
	return c
}

// valve lets through what an instance sends, or keeps it until it may go.
type valve struct {
	net.Conn

	cable *cable
}

// Write implements io.Writer.
func (v valve) Write(data []byte) (int, error) {
	v.cable.flows.RLock()
	defer v.cable.flows.RUnlock()
	return v.Conn.Write(data)
}

// ReadFrom hides that of the connection, which would go past the valve.
func (v valve) ReadFrom(from io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{v}, from)
}

func (c *cable) add(near, far net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isCut {
		_ = far.Close()
		return false
	}
	c.conns = append(c.conns, near, far)
	return true
}

func (c *cable) cut(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns, c.isCut = nil, is
}

// hold keeps back what the instance sends, or lets it go.
func (c *cable) hold(is bool) {
	if is {
		c.flows.Lock()
	} else {
		c.flows.Unlock()
	}
}

// member is an instance of a test, with its client.
type member struct {
	*service

	instance *Instance
	cable    *cable
	stop     func()
}

// join starts an instance on a cluster.
func (s *service) join(t *testing.T, cluster string, change func(*Config)) *member {
	t.Helper()
	m := &member{cable: newCable(t, cluster)}
	cfg := s.config(func(cfg *Config) {
		cfg.Journal.URL, cfg.Lease = "nats://"+m.cable.listener.Addr().String(), quickLease
		cfg.Observe = nil
		if change != nil {
			change(cfg)
		}
	})
	var err error
	m.instance, err = newInstance(t.Context(), cfg)
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- m.instance.Serve(ctx, listener) }()
	m.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = m.instance.Close() // a cable that is cut loses what is on its way
	})
	t.Cleanup(m.stop)
	here := *s
	here.url = "http://" + listener.Addr().String()
	m.service = &here
	return m
}

// comes waits until something is so, however long it takes.
func (m *member) comes(what string, is func() bool) {
	m.Helper()
	for end := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(end) {
			m.Fatalf("no %s after a minute", what)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// owns waits until an instance is the owner and has recovered the orders.
func (m *member) owns() {
	m.Helper()
	m.comes("an owner", func() bool { return m.instance.own.Load() != nil })
}

// knows waits until an instance knows another one that is the owner.
func (m *member) knows(other *member) {
	m.Helper()
	m.comes("the owner known", func() bool {
		owner := m.instance.owner.Load()
		return owner != nil && owner.ID == other.instance.id && other.instance.own.Load() != nil
	})
}

func (m *member) state(of common.Hash) string {
	m.Helper()
	var status orderStatus
	m.want(&status, accountKey(7), "gavel_getOrderStatus", of)
	return status.State
}

// sendsPrivate sends a private transaction and returns its hash.
func (m *member) sendsPrivate(account int, nonce uint64) (hash common.Hash) {
	m.Helper()
	m.want(&hash, accountKey(7), "eth_sendPrivateTransaction",
		map[string]any{"tx": rawOf(m.tx(accountKey(account), nonce, common.Address{1}, 5))})
	return hash
}

// Two instances have one pool: an order that comes to either is sent by the owner, both tell its
// status, and either cancels it. The id of an order says nothing of where it came.
func TestInstancesHaveOnePool(t *testing.T) {
	h := openChain(t)
	cluster := startCluster(t)
	a := h.join(t, cluster, nil)
	a.owns()
	b := h.join(t, cluster, nil)
	b.knows(a)

	atB, atA := b.sendsPrivate(0, 0), a.sendsPrivate(1, 0)
	for range 2 {
		<-h.builder.got
	}
	for _, m := range []*member{a, b} {
		for _, hash := range []common.Hash{atA, atB} {
			m.comes("the order is sent", func() bool { return m.state(hash) == "sent" })
		}
	}
	for hash, m := range map[common.Hash]*member{atB: a, atA: b} {
		var done bool
		if m.want(&done, accountKey(7), "eth_cancelPrivateTransaction", map[string]any{"txHash": hash}); !done {
			t.Errorf("%s is not cancelled", hash)
		}
	}
	if got := []string{a.state(atA), a.state(atB), b.state(atA), b.state(atB)}; fmt.Sprint(got) !=
		"[cancelled cancelled cancelled cancelled]" {
		t.Errorf("%v", got)
	}
	// What is refused at the owner is refused in the same way at another, and who is not the signer
	// sees nothing there either.
	for _, m := range []*member{a, b} {
		m.refused(rpc.OrderUnknown, accountKey(6), "gavel_getOrderStatus", atB)
		m.refused(rpc.MethodNotFound, accountKey(6), "eth_nothing")
	}
	for m, role := range map[*member]string{a: "owner", b: "follower"} {
		w := httptest.NewRecorder()
		m.instance.readyz(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if got := w.Header().Get("X-Gavel-Role"); got != role {
			t.Errorf("/readyz says %q, want %q (%d %s)", got, role, w.Code, w.Body)
		}
		w = httptest.NewRecorder()
		m.instance.metrics(m.instance.cfg.Log)(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if w.Code != http.StatusOK || bytes.Contains(w.Body.Bytes(), []byte("gavel_rpc_orders ")) != (role == "owner") ||
			!bytes.Contains(w.Body.Bytes(), []byte("gavel_rpc_owner_known 1")) {
			t.Errorf("/metrics of the %s: %d", role, w.Code)
		}
	}
}

// The owner's way to the cluster is cut, which is what others see of a kill, too. Another instance
// takes over: all that was answered is there, what was cancelled is never sent again, and the one
// that was cut off sends and answers nothing. When it is back, it hands requests on.
//
//gavel:fault journal-away
func TestOwnerThatIsCutOff(t *testing.T) {
	h := openChain(t)
	cluster := startCluster(t)
	a := h.join(t, cluster, nil)
	a.owns()
	b := h.join(t, cluster, nil)
	b.knows(a)

	lives, cancelled := b.sendsPrivate(0, 0), a.sendsPrivate(1, 0)
	for range 2 {
		<-h.builder.got
	}
	owner, recipient := accountKey(6), common.Address{0xaa}
	b.want(new(any), owner, "flashbots_setFeeRefundRecipient", addressOf(owner), recipient)
	var done bool
	if b.want(&done, accountKey(7), "eth_cancelPrivateTransaction", map[string]any{"txHash": cancelled}); !done {
		t.Error("not cancelled")
	}
	before := a.instance.own.Load().term()
	a.cable.cut(true)
	a.comes("the owner gives up", func() bool { return a.instance.own.Load() == nil })
	b.owns()
	if got := b.state(lives) + " " + b.state(cancelled); got != "submitted cancelled" && got != "sent cancelled" {
		t.Errorf("after the change: %s", got)
	}
	if to := b.instance.own.Load().indexer.Recipient(addressOf(owner)); to != recipient {
		t.Errorf("refunds go to %s", to)
	}
	if term := b.instance.own.Load().term(); term <= before {
		t.Errorf("term %d after %d: ids of orders may come twice", term, before)
	}
	a.refused(rpc.NoOwner, accountKey(7), "gavel_getOrderStatus", lives)

	h.mineAlone() // a block without either, so that what lives is sent again
	for cancelledTx := h.tx(accountKey(1), 0, common.Address{1}, 5); ; {
		bundle := <-h.builder.got
		for _, raw := range bundle.Txs {
			if h.decoded(raw).Hash() == cancelledTx.Hash() {
				t.Fatal("what was cancelled was sent again")
			}
		}
		if len(bundle.Txs) == 1 && h.decoded(bundle.Txs[0]).Hash() == lives {
			break
		}
	}
	a.cable.cut(false)
	a.knows(b)
	if got := a.state(lives); got != "sent" && got != "simulated" {
		t.Errorf("status through the one that is back: %s", got)
	}
	b.stop() // in order: the other one takes over without a wait
	a.owns()
	if got := a.state(lives) + " " + a.state(cancelled); got != "sent cancelled" && got != "submitted cancelled" {
		t.Errorf("after the second change: %s", got)
	}
}

// What the owner sends is held up until another one has taken over, and comes then: an order that
// it has not answered, and its end. None of it counts, neither now nor after the next change.
//
//gavel:fault pause
func TestOwnerWhoseWordsComeLate(t *testing.T) {
	h := openChain(t)
	cluster := startCluster(t)
	a := h.join(t, cluster, nil)
	a.owns()
	b := h.join(t, cluster, nil)
	b.knows(a)
	lives := b.sendsPrivate(0, 0)
	<-h.builder.got

	a.cable.hold(true)
	late := a.tx(accountKey(1), 0, common.Address{1}, 5)
	if a.asks(accountKey(7), "eth_sendPrivateTransaction", map[string]any{"tx": rawOf(late)}) {
		t.Error("an order was answered that the journal does not have")
	}
	b.owns()
	mark, err := b.instance.journal.LastTerm(t.Context(), factScope)
	must(t, err)
	a.cable.hold(false)
	a.knows(b)

	for _, m := range []*member{a, b} {
		m.refused(rpc.OrderUnknown, accountKey(7), "gavel_getOrderStatus", late.Hash())
	}
	b.stop()
	a.owns()
	if last, err := a.instance.journal.LastTerm(t.Context(), factScope); err != nil || last <= mark {
		t.Errorf("term %d after %d, %v", last, mark, err)
	}
	a.refused(rpc.OrderUnknown, accountKey(7), "gavel_getOrderStatus", late.Hash())
	if got := a.state(lives); got != "sent" && got != "submitted" && got != "simulated" {
		t.Errorf("what was answered is %s", got)
	}
}

// The owner is cut off just before a block with an order, or behind its count of the refund: the
// next owner counts the refund once, and so does the first one when it owns the orders again.
//
//gavel:fault journal-away
func TestInstanceCountsRefundsOnce(t *testing.T) {
	for name, counted := range map[string]bool{"cut off before the block": false, "cut off behind the count": true} {
		t.Run(name, func(t *testing.T) {
			h := openChain(t)
			cluster := startCluster(t)
			a := h.join(t, cluster, nil)
			a.owns()
			b := h.join(t, cluster, nil)
			b.knows(a)
			a.comes("the block where the first owner began in the journal", func() bool {
				return a.factsOf(rpc.BlockIndexed{}) > 0
			})
			var got taken
			a.want(&got, accountKey(7), "eth_sendBundle", map[string]any{
				"txs": []string{rawOf(h.tx(accountKey(0), 0, common.Address{1}, 5))}, "refundPercent": 50,
				"refundRecipient": common.Address{0xdd},
			})
			<-h.builder.got
			if counted {
				h.mine()
				a.refundOf(got.BundleHash)
			}
			a.cable.cut(true)
			if !counted {
				h.mine()
			}
			b.owns()
			refund := b.refundOf(got.BundleHash)
			a.cable.cut(false)
			a.knows(b)
			h.mineAlone()
			b.stop()
			a.owns()
			if again := a.refundOf(got.BundleHash); again != refund {
				t.Errorf("%+v at one owner, %+v at the other", refund, again)
			}
			if credits := a.factsOf(rpc.RefundCredited{}); credits != 1 {
				t.Errorf("the journal has %d refunds of one order", credits)
			}
		})
	}
}

// factsOf counts the facts of a kind in the journal.
func (m *member) factsOf(kind rpc.Fact) (count int) {
	m.Helper()
	must(m, m.instance.journal.Past(m.Context(), 1, []string{subjectPrefix + kind.Subject()},
		func(time.Time, string, []byte) error { count++; return nil }))
	return count
}

// refundOf waits for the refund of a bundle; it is the only one.
func (m *member) refundOf(bundle common.Hash) refundRecord {
	m.Helper()
	var list refundList
	m.comes("the refund", func() bool {
		m.want(&list, accountKey(7), "flashbots_getFeeRefundsByBundle", map[string]any{"bundle_hash": bundle})
		return len(list.Refunds) > 0
	})
	if len(list.Refunds) != 1 {
		m.Errorf("%d refunds of one bundle: %+v", len(list.Refunds), list.Refunds)
	}
	return list.Refunds[0]
}
