package main

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/beacon"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
)

// valid stands for a validator where none is asked.
type valid struct{}

func (valid) Validate(context.Context, *exec.Block) exec.Verdict { return exec.Verdict{} }

// world is a beacon node and a validation node on one chain.
func world(t *testing.T) (beaconURL, validationURL string) {
	t.Helper()
	spec := &eth.Spec{
		GenesisTime: time.Now().Truncate(time.Second).Add(time.Hour), SlotDuration: 12 * time.Second, SlotsPerEpoch: 8,
		GenesisForkVersion: phase0.Version{1, 2, 3, 4}, GenesisValidatorsRoot: beacon.GenesisValidatorsRoot(8),
		Forks: []eth.ForkPoint{{Fork: eth.Fulu, Version: phase0.Version{6}}},
	}
	node, err := chain.Open(chain.Config{Spec: spec, ChainID: 99})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	nodes, err := beacon.New(beacon.Config{
		Spec: spec, Clock: clock.Real{}, Validators: 8, Execution: node, GenesisHash: phase0.Hash32(node.Genesis().Hash()),
		ChainID: 99,
	})
	if err != nil {
		t.Fatal(err)
	}
	beaconServer := httptest.NewServer(nodes.Handler())
	validationServer := httptest.NewServer(network.ValidationHandler(chain.NewValidator(node.Chain(),
		chain.ValidatorOptions{})))
	t.Cleanup(beaconServer.CloseClientConnections) // event streams never end by themselves
	t.Cleanup(validationServer.Close)
	return beaconServer.URL, validationServer.URL
}

// givenPorts are those that a test has been given.
var givenPorts sync.Map

// freePort is an address that nobody listens at. It is not of the ports that systems give to
// connections, one of which could take it before it is used.
func freePort(t *testing.T) string {
	t.Helper()
	const first, count = 12_000, 20_000
	for range 1000 {
		port := first + rand.IntN(count)
		if _, given := givenPorts.LoadOrStore(port, nil); given {
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			_ = listener.Close() // it was never used
			return listener.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// The command as an operator runs it: it learns the network from its beacon node, says that it is
// ready, shows its state to who has the token, and ends in good order.
func TestRelayRuns(t *testing.T) {
	beaconURL, validationURL := world(t)
	t.Setenv(secretKeyEnv, testKey)
	t.Setenv(adminTokenEnv, "0123456789abcdef")
	public, admin, proposers := freePort(t), freePort(t), freePort(t)
	cfg, status, _, stderr := callRelay(t, "--beacon", beaconURL, "--validation-node", validationURL, "--listen", public,
		"--admin-listen", admin,
		"--proposer-listen", proposers, "--data-dir", t.TempDir(), "--log-level", "error")
	if status != 0 {
		t.Fatal(stderr)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serveRelay(ctx, *cfg) }()

	until(t, "http://"+public+"/readyz", 200, ended)
	until(t, "http://"+public+"/eth/v1/builder/status", 200, ended)
	until(t, "http://"+proposers+"/readyz", 200, ended)
	until(t, "http://"+proposers+"/eth/v1/builder/status", 200, ended)
	until(t, "http://"+proposers+"/relay/v1/builder/validators", 404, ended)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+
		"/admin/v1/status", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer 0123456789abcdef")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var shown struct {
		Ready      bool `json:"ready"`
		Validators int  `json:"validators"`
	}
	if err := json.NewDecoder(response.Body).Decode(&shown); err != nil || !shown.Ready || shown.Validators != 8 {
		t.Errorf("%+v, %v", shown, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// until asks until the answer has the status, or whoever should give it has ended; the test's own
// deadline ends it otherwise.
func until(t *testing.T, url string, status int, ended <-chan error) {
	t.Helper()
	for t.Context().Err() == nil {
		select {
		case err := <-ended:
			t.Fatalf("ended before %s answered %d: %v", url, status, err)
		default:
		}
		response, err := http.Get(url) // bounded by the test
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if response.StatusCode == status {
				return
			}
		}
		runtime.Gosched() // the listener is opened first of all; after that connections wait for the relay
	}
}

// A relay for one network does not serve another.
func TestRelayOfAnotherNetwork(t *testing.T) {
	beaconURL, validationURL := world(t)
	t.Setenv(secretKeyEnv, testKey)
	cfg, status, _, stderr := callRelay(t, "--network", "mainnet", "--beacon", beaconURL, "--validation-node",
		validationURL,
		"--listen", "127.0.0.1:0", "--admin-listen", "", "--data-dir", "", "--log-level", "error")
	if status != 0 {
		t.Fatal(stderr)
	}
	if err := serveRelay(t.Context(), *cfg); err == nil ||
		err.Error() != "the beacon node is not on mainnet: its genesis fork version is 0x01020304, not 0x00000000" {
		t.Errorf("%v", err)
	}
}
