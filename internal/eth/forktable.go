package eth

import "github.com/attestantio/go-eth2-client/spec"

// Row is all that differs between forks, except the types of values: each package that uses such
// types has a Column for them.
type Row struct {
	// Name is the fork's name in lower case, as in Eth-Consensus-Version. In upper case it stands
	// before _FORK_EPOCH and _FORK_VERSION in the configuration of a beacon node, which also has the
	// bytes of its version.
	Name string
	// Library is the fork in go-eth2-client, which has the same name in its JSON; 0 if it has none.
	Library spec.DataVersion
	// Spec is the folder that describes the fork in consensus-specs.
	Spec string
	// BlindedBlocks: proposers register, get bids and sign blinded blocks (builder-specs).
	BlindedBlocks bool
	Withdrawals   bool
	Blobs         Blobs
	// Requests: blocks carry execution requests (EIP-7685).
	Requests bool
	// AccessLists: payloads have an access list (EIP-7928) and the slot's number (EIP-7843), and
	// blocks carry requests of builders (EIP-8282).
	AccessLists bool
	Operations  Operations
	// Lookahead: the beacon state also names the proposers of the next epoch (EIP-7917).
	Lookahead  bool
	Validation Validation
	// NewPayload is the version of engine_newPayload for the fork's payloads (execution-apis).
	NewPayload int
}

// Blobs is what differs in blobs between forks; the zero value is a fork without them.
type Blobs struct {
	// PerBlock is how many a block may carry, unless the network's configuration has another limit.
	PerBlock uint64
	// Proofs is how many proofs come with each blob: one, or one for each cell of its extension
	// (EIP-7594).
	Proofs int
	// Schedule: the limit changes by configuration, without a fork (EIP-7892).
	Schedule bool
}

// Operations are the limits of what a block carries besides its payload (consensus-specs, presets).
// Committees is how many committees one attestation may be of.
type Operations struct {
	AttesterSlashings, Attestations, Committees int
}

// Validation is how execution nodes are asked to validate a builder's block: the JSON-RPC method,
// and its parameters besides the submission.
type Validation struct {
	Method string
	// WithdrawalsRoot: the first nodes of capella need it as a parameter; later ones compute it.
	WithdrawalsRoot  bool
	ParentBeaconRoot bool
}

// CellsPerBlob is how many cell proofs a blob has from fulu on (consensus-specs,
// CELLS_PER_EXT_BLOB).
const CellsPerBlob = 128

var (
	oneCommittee  = Operations{AttesterSlashings: 2, Attestations: 128, Committees: 1}
	allCommittees = Operations{AttesterSlashings: 1, Attestations: 8, Committees: 64} // EIP-7549
)

// Table has one row for each fork, oldest first. It is a variable only for tests, which add the row
// of a fork that does not exist (see chaintest).
var Table = []Row{
	{
		Name: "bellatrix", Library: spec.DataVersionBellatrix, Spec: "specs/bellatrix",
		BlindedBlocks: true, Operations: oneCommittee,
		Validation: Validation{Method: "flashbots_validateBuilderSubmissionV1"}, NewPayload: 1,
	},
	{
		Name: "capella", Library: spec.DataVersionCapella, Spec: "specs/capella",
		BlindedBlocks: true, Withdrawals: true, Operations: oneCommittee,
		Validation: Validation{Method: "flashbots_validateBuilderSubmissionV2", WithdrawalsRoot: true}, NewPayload: 2,
	},
	{
		Name: "deneb", Library: spec.DataVersionDeneb, Spec: "specs/deneb",
		BlindedBlocks: true, Withdrawals: true, Blobs: Blobs{PerBlock: 6, Proofs: 1}, Operations: oneCommittee,
		Validation: Validation{Method: "flashbots_validateBuilderSubmissionV3", ParentBeaconRoot: true}, NewPayload: 3,
	},
	{
		Name: "electra", Library: spec.DataVersionElectra, Spec: "specs/electra",
		BlindedBlocks: true, Withdrawals: true, Blobs: Blobs{PerBlock: 9, Proofs: 1}, Requests: true,
		Operations: allCommittees,
		Validation: Validation{Method: "flashbots_validateBuilderSubmissionV4", ParentBeaconRoot: true}, NewPayload: 4,
	},
	{
		Name: "fulu", Library: spec.DataVersionFulu, Spec: "specs/fulu",
		BlindedBlocks: true, Withdrawals: true,
		Blobs: Blobs{PerBlock: 9, Proofs: CellsPerBlob, Schedule: true}, Requests: true,
		Operations: allCommittees, Lookahead: true,
		Validation: Validation{Method: "flashbots_validateBuilderSubmissionV5", ParentBeaconRoot: true}, NewPayload: 4,
	},
	{ // bids stand in blocks (EIP-7732): see internal/eth/gloas
		Name: "gloas", Spec: "specs/gloas", Withdrawals: true,
		Blobs: Blobs{PerBlock: 9, Proofs: CellsPerBlob, Schedule: true}, Requests: true, AccessLists: true,
		Operations: allCommittees, Lookahead: true,
		Validation: Validation{Method: "flashbots_validateBuilderSubmissionV6", ParentBeaconRoot: true}, NewPayload: 5,
	},
}
