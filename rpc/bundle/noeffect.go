package bundle

// Tolerated are members of an object in params that are accepted although they have no effect,
// because deployed clients send them. Other unknown members are refused (see Tolerant).
type Tolerated struct {
	// Places are where the object occurs: a method and a path.
	Places  []Place
	Members []NoEffect
}

// Place is an object in the params of a method, such as params[0].preferences.
type Place struct{ Method, Path string }

// NoEffect is a member that has no effect.
type NoEffect struct {
	Name string
	// Sender is the client that sends it; Why is the reason that ignoring it does no harm.
	Sender, Why string
}

// Names are the members' names.
func (t *Tolerated) Names() []string {
	names := make([]string, len(t.Members))
	for i, m := range t.Members {
		names[i] = m.Name
	}
	return names
}

// Toleration is the whole list, in the order of the documentation.
func Toleration() []*Tolerated {
	return []*Tolerated{&inBundle, &inCall, &inMetadata, &inSharePrivacy, &inCancel, &inPrivate, &inPrivacy,
		&inPrivateRefund, &InGasCall}
}

const (
	bySendBundle  = "eth_sendBundle"
	byCallBundle  = "eth_callBundle"
	bySendShare   = "mev_sendBundle"
	bySimShare    = "mev_simBundle"
	bySendPrivate = "eth_sendPrivateTransaction"
	bySendRawTx   = "eth_sendPrivateRawTransaction"
	bySendAnyRaw  = "eth_sendRawTransaction"
)

var inBundle = Tolerated{
	Places: []Place{{bySendBundle, "params[0]"}},
	Members: []NoEffect{
		{"stateBlockNumber", "ethers-flashbots", simulationOnly},
		{"timestamp", "ethers-flashbots", simulationOnly},
		{"baseFee", "ethers-flashbots", simulationOnly},
		{"bundleHash", "BuilderNet's proxies", "the hash follows from the transactions"},
		{"replacementNonce", "go-utils, BuilderNet's proxies", "versions count in the order in which they come"},
		{"refundIdentity", "BuilderNet's clients",
			"it names who counts as one for BuilderNet's own rule of refunds; here refundRecipient gets what is refunded"},
	},
}

const simulationOnly = "it is for simulations, and the client sends one object to both methods"

var inCall = Tolerated{
	Places: []Place{{byCallBundle, "params[0]"}},
	Members: []NoEffect{
		{"minTimestamp", "ethers-flashbots", inclusionOnly},
		{"maxTimestamp", "ethers-flashbots", inclusionOnly},
		{"revertingTxHashes", "ethers-flashbots",
			"a transaction that reverts does not fail the call, and its result says so"},
	},
}

const inclusionOnly = "it is for inclusion, and the client sends one object to both methods; the time that is " +
	"simulated is timestamp"

var inMetadata = Tolerated{
	Places: []Place{{bySendShare, "params[0].metadata"}, {bySimShare, "params[0].metadata"}},
	Members: []NoEffect{
		{"originId", "mev-share-client-ts, mev-share-go", "where an order comes from changes nothing"},
		{"signer", "mev-share-go, go-utils", bySignature},
		{"bundleHash", "mev-share-go", filledIn},
		{"bodyHashes", "mev-share-go", filledIn},
		{"matchingHash", "mev-share-go", filledIn},
		{"receivedAt", "mev-share-go", filledIn},
		{"prematched", "mev-share-go", filledIn},
		{"replacementNonce", "mev-share-go, go-utils", "versions count in the order in which they come"},
	},
}

const (
	bySignature = "who is behind a request is what its signature says"
	filledIn    = "services write it for each other; the client's type has it, too"
)

var inSharePrivacy = Tolerated{
	Places: []Place{{bySendShare, "params[0].privacy"}, {bySimShare, "params[0].privacy"}},
	Members: []NoEffect{
		{"auctionTimeout", "chainlink-evm", noWait},
	},
}

const noWait = "backruns are matched when they come, in each block of the order's; nothing waits for a number of " +
	"milliseconds"

var inCancel = Tolerated{
	Places: []Place{{"eth_cancelBundle", "params[0]"}},
	Members: []NoEffect{
		{"builders", "Flashbots Protect", "all builders that have the bundle are told"},
	},
}

var inPrivate = Tolerated{
	Places: []Place{{bySendPrivate, "params[0]"}},
	Members: []NoEffect{
		{"originId", "rpc-endpoint", "where an order comes from changes nothing"},
	},
}

var inPrivacy = Tolerated{
	Places: []Place{{bySendPrivate, "params[0].preferences.privacy"}, {bySendRawTx, "params[1].privacy"},
		{bySendAnyRaw, "params[1].privacy"}},
	Members: []NoEffect{
		{"useMempool", "rpc-endpoint", neverPublic},
		{"mempoolRpc", "rpc-endpoint", neverPublic},
		{"protectRefund", "rpc-endpoint", "who gets which part of a refund is said by validity"},
		{"allowBob", "Flashbots Protect", noGuests},
		{"allowTee", "rpc-endpoint", noGuests},
		{"auctionTimeout", "Flashbots Protect", noWait},
	},
}

const (
	neverPublic = "a private transaction never goes to the public pool, whatever it says"
	noGuests    = "searchers who run code beside a builder are not served: everybody sees the hints, and nobody more"
)

var inPrivateRefund = Tolerated{
	Places: []Place{
		{bySendPrivate, "params[0].preferences.validity.refund[0]"}, {bySendRawTx, "params[1].validity.refund[0]"},
		{bySendAnyRaw, "params[1].validity.refund[0]"},
	},
	Members: []NoEffect{
		{"bodyIdx", "alloy", "a transaction has one element; who gets how much is said by address"},
	},
}

// InGasCall are the tolerated members of a call in eth_estimateGasBundle.
var InGasCall = Tolerated{
	Places: []Place{{"eth_estimateGasBundle", "params[0].txs[0]"}},
	Members: []NoEffect{
		{"nonce", gethCalls, "calls follow each other"},
		{"gasPrice", gethCalls, noFees},
		{"maxFeePerGas", gethCalls, noFees},
		{"maxPriorityFeePerGas", gethCalls, noFees},
		{"chainId", gethCalls, "calls are not signed, and run on the chain of the service"},
		{"type", gethCalls, "a call uses the same gas in each type without an access list"},
	},
}

const (
	gethCalls = "clients that fill in a whole transaction, as ethers does"
	noFees    = "fees are not looked at"
)

// NoEffect implements Tolerant.
func (sendParams) NoEffect() []string { return inBundle.Names() }

// NoEffect implements Tolerant.
func (callParams) NoEffect() []string { return inCall.Names() }

// NoEffect implements Tolerant.
func (metadataParams) NoEffect() []string { return inMetadata.Names() }

// NoEffect implements Tolerant.
func (sharePrivacy) NoEffect() []string { return inSharePrivacy.Names() }

// NoEffect implements Tolerant.
func (cancelParams) NoEffect() []string { return inCancel.Names() }

// NoEffect implements Tolerant.
func (privateParams) NoEffect() []string { return inPrivate.Names() }

// NoEffect implements Tolerant.
func (privacyParams) NoEffect() []string { return inPrivacy.Names() }

// NoEffect implements Tolerant.
func (privateRefund) NoEffect() []string { return inPrivateRefund.Names() }
