package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// Each method has a transcript: what was sent, and what came. Lines:
//
//	# what is shown
//	--> {"method":…,"params":[…]}     a signed request of key 7; "--> as 6 {…}" is one of another key, "--> raw …" a body as it stands
//	<-- {…}                           the answer, without jsonrpc and id; with its status if that is not 200
//	== mine                           a block with what the builder has; "== mine a0 b0" one with just these transactions; "== sent",
//	                                  "== simulated", "== shared" and "== ended" wait for that of the newest order
//
// In requests {a0} is key 0's transaction with nonce 0 (b0 key 1's, and so on): a transfer of 1 wei
// that tips 1 gwei; {revert:a0} one that reverts, {hash:a0} its hash, {from:a0} its sender,
// {double:a0} the hash of that, {tip:a0} one that tips 50 gwei, {big:a0} one of 128 KB, {next} and
// {head} numbers of blocks, {now} the head's time, {last} the newest hash that was answered, {me}
// the signer's address.
func TestMethods(t *testing.T) {
	files, err := filepath.Glob("testdata/methods/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := &script{service: openService(t, func(cfg *Config) {
				cfg.Clock = clock.NewStepped(time.Unix(1_700_000_100, 0))
			})}
			golden.File(t, file, s.run(read(t, file)))
		})
	}
}

// Every method has a transcript.
func TestEveryMethodHasATranscript(t *testing.T) {
	h := openService(t, nil)
	for _, name := range h.app.methods {
		if files, err := filepath.Glob("testdata/methods/" + name.Name + ".txt"); err != nil || len(files) != 1 {
			t.Errorf("%s has none", name.Name)
		}
	}
}

type script struct {
	*service
	last string
}

func (s *script) run(text string) string {
	s.Helper()
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "<-- ") {
			continue
		}
		fmt.Fprintln(&out, line)
		switch {
		case strings.HasPrefix(line, "--> "):
			fmt.Fprintf(&out, "<-- %s\n", s.ask(strings.TrimPrefix(line, "--> ")))
		case strings.HasPrefix(line, "== "):
			s.do(strings.TrimPrefix(line, "== "))
		}
	}
	return out.String()
}

func (s *script) do(what string) {
	s.Helper()
	is := func(ref rpc.OrderRef) bool { return s.last == ref.Hash.Hex() }
	what, names, _ := strings.Cut(what, " ")
	switch what {
	case "mine":
		if names != "" {
			s.builder.forget()
		}
		var txs []*types.Transaction
		for _, name := range strings.Fields(names) {
			txs = append(txs, s.named("", int(name[0]-'a'), uint64(name[1]-'0')))
		}
		s.mine(txs...)
		s.waitForIndexed()
	case "shared":
		waitFor(s.service, "hint", func(f rpc.OrderShared) bool { return s.last == f.Hash.Hex() })
	case "sent":
		waitFor(s.service, "delivery", func(f rpc.OrderSent) bool { return is(f.OrderRef) })
	case "simulated":
		waitFor(s.service, "simulation", func(f rpc.OrderSimulated) bool { return is(f.OrderRef) })
	case "ended":
		waitFor(s.service, "end", func(f rpc.OrderEnded) bool { return is(f.OrderRef) })
	case "indexed":
		s.eventually("anything", func() bool { return true })
	default:
		s.Fatalf("nobody knows what %q is", what)
	}
}

var (
	place  = regexp.MustCompile(`\{(?:(hash|double|from|revert|tip|big):)?([a-h])(\d)\}|\{(next|head|now|last)\}`)
	hashed = regexp.MustCompile(`0x[0-9a-f]{64}`)
)

// fill puts values in their places.
func (s *script) fill(text string) string {
	return place.ReplaceAllStringFunc(text, func(found string) string {
		parts := place.FindStringSubmatch(found)
		head := s.node.Chain().CurrentBlock()
		switch parts[4] {
		case "next":
			return hexNumber(s.next())
		case "head":
			return hexNumber(head.Number.Uint64())
		case "now":
			return hexNumber(head.Time)
		case "last":
			return s.last
		}
		tx := s.named(parts[1], int(parts[2][0]-'a'), uint64(parts[3][0]-'0'))
		switch parts[1] {
		case "hash":
			return tx.Hash().Hex()
		case "from":
			return addressOf(accountKey(int(parts[2][0] - 'a'))).Hex()
		case "double":
			return crypto.Keccak256Hash(tx.Hash().Bytes()).Hex()
		}
		return rawOf(tx)
	})
}

func (s *script) named(kind string, key int, nonce uint64) *types.Transaction {
	switch kind {
	case "revert":
		return s.signed(accountKey(key), &types.DynamicFeeTx{ // creates with code that reverts with two bytes
			ChainID: big.NewInt(chainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
			GasFeeCap: big.NewInt(100 * params.GWei), Gas: 100_000,
			Value: new(big.Int), Data: common.FromHex("61beef6000526002601efd"),
		})
	case "tip":
		return s.signed(accountKey(key), &types.DynamicFeeTx{
			ChainID: big.NewInt(chainID), Nonce: nonce, GasTipCap: big.NewInt(50 * params.GWei),
			GasFeeCap: big.NewInt(100 * params.GWei), Gas: 21_000,
			To: &common.Address{1}, Value: big.NewInt(1),
		})
	case "big":
		return s.signed(accountKey(key), &types.DynamicFeeTx{
			ChainID: big.NewInt(chainID), Nonce: nonce, GasTipCap: big.NewInt(params.GWei),
			GasFeeCap: big.NewInt(100 * params.GWei), Gas: 10_000_000,
			To: &common.Address{1}, Value: new(big.Int), Data: make([]byte, 128<<10),
		})
	}
	return s.tx(accountKey(key), nonce, common.Address{1}, 1)
}

// ask sends a request and shows the answer.
func (s *script) ask(line string) string {
	s.Helper()
	key := 7
	if rest, other := strings.CutPrefix(line, "as "); other {
		key, line = int(rest[0]-'0'), rest[2:]
	}
	body, isRaw := strings.CutPrefix(line, "raw ")
	if !isRaw {
		body = strings.Replace(line, "{", `{"jsonrpc":"2.0","id":1,`, 1)
	}
	body = strings.ReplaceAll(s.fill(body), "{me}", addressOf(accountKey(key)).Hex())
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Flashbots-Signature", jsonrpc.SignatureHeader(accountKey(key), []byte(body)))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	raw = bytes.TrimSpace(raw)
	if found := hashed.Find(raw); found != nil && bytes.Contains(raw, []byte(`"result"`)) &&
		strings.Contains(body, `_send`) {
		s.last = string(found)
	}
	var answer struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Sprintf("%d %s", response.StatusCode, raw)
	}
	shown := "result " + string(answer.Result)
	if answer.Error != nil {
		shown = "error " + string(answer.Error)
	}
	if response.StatusCode != http.StatusOK {
		shown = fmt.Sprintf("%d %s", response.StatusCode, shown)
	}
	return shown
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
