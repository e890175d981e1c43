package payload

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
)

// sample is a payload with something in every field that its fork has.
func sample(fork eth.Fork) *Payload {
	random := rand.New(rand.NewPCG(uint64(fork), 1))
	fill := func(b []byte) {
		for i := range b {
			b[i] = byte(random.Uint32())
		}
	}
	p := &Payload{
		BlockNumber: 7, GasLimit: 30_000_000, GasUsed: 21_000, Timestamp: 99, ExtraData: []byte("extra"),
		BaseFeePerGas: new(uint256.Int).Lsh(uint256.NewInt(0x0102030405), 200),
		Transactions:  []bellatrix.Transaction{{1, 2}, {3}},
	}
	for _, field := range [][]byte{
		p.ParentHash[:], p.FeeRecipient[:], p.StateRoot[:], p.ReceiptsRoot[:], p.LogsBloom[:], p.PrevRandao[:],
		p.BlockHash[:],
	} {
		fill(field)
	}
	if fork >= eth.Capella {
		p.Withdrawals = []*capella.Withdrawal{{Index: 1, ValidatorIndex: 2, Address: bellatrix.ExecutionAddress{3},
			Amount: 4}}
	}
	if fork >= eth.Deneb {
		p.BlobGasUsed, p.ExcessBlobGas = 131_072, 5
	}
	return p
}

// The header's root is the payload's root, in every fork: that is why a proposer can sign blind.
func TestHeaderRootIsPayloadRoot(t *testing.T) {
	for _, fork := range eth.Forks() {
		p := sample(fork)
		header, err := HeaderOf(fork, p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := HeaderRoot(fork, header)
		if err != nil {
			t.Fatal(err)
		}
		var want [32]byte
		switch fork {
		case eth.Bellatrix:
			want, err = ToBellatrix(p).HashTreeRoot()
		case eth.Capella:
			want, err = ToCapella(p).HashTreeRoot()
		default:
			want, err = p.HashTreeRoot()
		}
		if err != nil || got != phase0.Root(want) {
			t.Errorf("%s: header root %#x, payload root %#x, %v", fork, got[:], want, err)
		}
	}
	if _, err := HeaderRoot(0, &Header{BaseFeePerGas: new(uint256.Int)}); err == nil {
		t.Error("no fork has a header")
	}
}

// Nothing is lost on the way to a fork's own type, to the Engine API, and back.
func TestEveryFieldComesBack(t *testing.T) {
	if p := sample(eth.Bellatrix); !reflect.DeepEqual(FromBellatrix(ToBellatrix(p)), p) {
		t.Error("bellatrix")
	}
	if p := sample(eth.Capella); !reflect.DeepEqual(FromCapella(ToCapella(p)), p) {
		t.Error("capella")
	}
	for _, fork := range eth.Forks() {
		p := sample(fork)
		data := ToEngine(fork, p)
		if (data.Withdrawals == nil) != (fork < eth.Capella) || (data.BlobGasUsed == nil) != (fork < eth.Deneb) {
			t.Errorf("%s: the Engine API is given what the fork does not have, or not what it has", fork)
		}
		back, err := FromEngine(&data)
		if err != nil || !reflect.DeepEqual(back, p) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", fork, err, back, p)
		}
		header, err := HeaderOf(fork, p)
		if err != nil {
			t.Fatal(err)
		}
		switch fork {
		case eth.Bellatrix:
			if !reflect.DeepEqual(HeaderFromBellatrix(HeaderToBellatrix(header)), header) {
				t.Error("bellatrix header")
			}
		case eth.Capella:
			if !reflect.DeepEqual(HeaderFromCapella(HeaderToCapella(header)), header) {
				t.Error("capella header")
			}
		}
	}
}

func TestExecutionRequestsComeBackAndHash(t *testing.T) {
	requests := EmptyRequests()
	items, err := EncodeRequests(requests)
	if err != nil || items == nil || len(items) != 0 {
		t.Errorf("no requests are an empty list, not nil: %v, %v", items, err)
	}
	requests.Deposits = []*electra.DepositRequest{{WithdrawalCredentials: make([]byte, 32), Amount: 1, Index: 2}}
	requests.Withdrawals = []*electra.WithdrawalRequest{{Amount: 3}, {Amount: 4}}
	requests.Consolidations = []*electra.ConsolidationRequest{{SourceAddress: bellatrix.ExecutionAddress{5}}}
	items, err = EncodeRequests(requests)
	if err != nil || len(items) != 3 || items[0][0] != 0 || items[1][0] != 1 || items[2][0] != 2 {
		t.Fatalf("%x, %v", items, err)
	}
	if len(items[0]) != 1+192 || len(items[1]) != 1+2*76 || len(items[2]) != 1+116 {
		t.Errorf("sizes %d %d %d", len(items[0]), len(items[1]), len(items[2]))
	}
	back, err := DecodeRequests(items)
	if err != nil || !reflect.DeepEqual(back, requests) {
		t.Errorf("%v, %v", back, err)
	}
	for _, bad := range [][][]byte{{{}}, {{9}}, {{0, 1}}, {append([]byte{1}, make([]byte, 75)...)}} {
		if _, err := DecodeRequests(bad); err == nil {
			t.Errorf("%x passes", bad)
		}
	}
}

func TestVersionedHash(t *testing.T) {
	// The point at infinity commits to the zero blob; its versioned hash is well known.
	want := common.HexToHash("0x010657f37554c781402a22917dee2f75def7ab966d7b770905398eba3c444014")
	if got := VersionedHash(deneb.KZGCommitment{0xc0}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The block hash covers everything: each field that is bent makes it another block.
func TestBlockRecomputesTheHash(t *testing.T) {
	header := &types.Header{UncleHash: types.EmptyUncleHash, TxHash: types.EmptyTxsHash, Difficulty: common.Big0,
		Number: common.Big1, BaseFee: common.Big1}
	p := &Payload{
		BlockNumber: 1, BaseFeePerGas: uint256.NewInt(1), BlockHash: phase0.Hash32(header.Hash()),
		Transactions: []bellatrix.Transaction{},
	}
	if _, err := Block(eth.Bellatrix, p, nil, phase0.Root{}, nil); err != nil {
		t.Fatal(err)
	}
	for name, bend := range map[string]func(*Payload){
		"state root": func(p *Payload) { p.StateRoot[0]++ }, "gas used": func(p *Payload) {
			p.GasUsed++
		}, "bloom": func(p *Payload) { p.LogsBloom[0]++ },
		"extra data": func(p *Payload) { p.ExtraData = []byte{1} }, "hash": func(p *Payload) { p.BlockHash[0]++ },
	} {
		bent := *p
		bend(&bent)
		if _, err := Block(eth.Bellatrix, &bent, nil, phase0.Root{}, nil); err == nil {
			t.Errorf("%s: a bent payload keeps its hash", name)
		}
	}
	if _, err := Block(eth.Capella, p, nil, phase0.Root{}, nil); err == nil {
		t.Error("another fork makes another block")
	}
}
