// The containers of consensus-specs, builder-specs and relay-specs, as @chainsafe/ssz has them: one set for each fork. Lists that are
// empty in all vectors have elements of any type, since only the limit counts for the root.
import {
  BitVectorType, ByteListType, ByteVectorType, ContainerType, ListCompositeType, UintBigintType,
} from '@chainsafe/ssz'

const uint64 = new UintBigintType(8), uint256 = new UintBigintType(32)
const bytes20 = new ByteVectorType(20), bytes32 = new ByteVectorType(32), bytes48 = new ByteVectorType(48), bytes96 = new ByteVectorType(96)
const list = (of, most) => new ListCompositeType(of, most)

export const BidTrace = new ContainerType({
  slot: uint64, parent_hash: bytes32, block_hash: bytes32, builder_pubkey: bytes48, proposer_pubkey: bytes48, proposer_fee_recipient: bytes20,
  gas_limit: uint64, gas_used: uint64, value: uint256,
})
export const Registration = new ContainerType({fee_recipient: bytes20, gas_limit: uint64, timestamp: uint64, pubkey: bytes48})
export const SignedRegistration = new ContainerType({message: Registration, signature: bytes96})
export const SigningData = new ContainerType({object_root: bytes32, domain: bytes32})
export const ForkData = new ContainerType({current_version: new ByteVectorType(4), genesis_validators_root: bytes32})

const Withdrawal = new ContainerType({index: uint64, validator_index: uint64, address: bytes20, amount: uint64})
const ExecutionRequests = new ContainerType({
  deposits: list(new ContainerType({pubkey: bytes48, withdrawal_credentials: bytes32, amount: uint64, signature: bytes96, index: uint64}), 8192),
  withdrawals: list(new ContainerType({source_address: bytes20, validator_pubkey: bytes48, amount: uint64}), 16),
  consolidations: list(new ContainerType({source_address: bytes20, source_pubkey: bytes48, target_pubkey: bytes48}), 2),
})
const commitments = list(bytes48, 4096)

export function typesOf(fork) {
  const from = name => ['bellatrix', 'capella', 'deneb', 'electra', 'fulu'].indexOf(fork) >= ['bellatrix', 'capella', 'deneb', 'electra', 'fulu'].indexOf(name)
  const common = {
    parent_hash: bytes32, fee_recipient: bytes20, state_root: bytes32, receipts_root: bytes32, logs_bloom: new ByteVectorType(256),
    prev_randao: bytes32, block_number: uint64, gas_limit: uint64, gas_used: uint64, timestamp: uint64, extra_data: new ByteListType(32),
    base_fee_per_gas: uint256, block_hash: bytes32,
  }
  const gas = from('deneb') ? {blob_gas_used: uint64, excess_blob_gas: uint64} : {}
  const Payload = new ContainerType({
    ...common, transactions: list(new ByteListType(2 ** 30), 2 ** 20), ...(from('capella') ? {withdrawals: list(Withdrawal, 16)} : {}), ...gas,
  })
  const Header = new ContainerType({...common, transactions_root: bytes32, ...(from('capella') ? {withdrawals_root: bytes32} : {}), ...gas})
  const Bundle = new ContainerType({
    commitments, proofs: list(bytes48, from('fulu') ? 33554432 : 4096), blobs: list(new ByteVectorType(131072), 4096),
  })
  const blobs = from('deneb') ? {blobs_bundle: Bundle} : {}
  const named = from('deneb') ? {blob_kzg_commitments: commitments} : {}
  const requests = from('electra') ? {execution_requests: ExecutionRequests} : {}
  const Bid = new ContainerType({header: Header, ...named, ...requests, value: uint256, pubkey: bytes48})
  const any = bytes32
  const Block = new ContainerType({
    slot: uint64, proposer_index: uint64, parent_root: bytes32, state_root: bytes32,
    body: new ContainerType({
      randao_reveal: bytes96, eth1_data: new ContainerType({deposit_root: bytes32, deposit_count: uint64, block_hash: bytes32}), graffiti: bytes32,
      proposer_slashings: list(any, 16), attester_slashings: list(any, from('electra') ? 1 : 2), attestations: list(any, from('electra') ? 8 : 128),
      deposits: list(any, 16), voluntary_exits: list(any, 16),
      sync_aggregate: new ContainerType({sync_committee_bits: new BitVectorType(512), sync_committee_signature: bytes96}),
      execution_payload_header: Header, ...(from('capella') ? {bls_to_execution_changes: list(any, 16)} : {}), ...named, ...requests,
    }),
  })
  return {
    Payload, Header, Bid, Block,
    Submission: new ContainerType({message: BidTrace, execution_payload: Payload, ...blobs, ...requests, signature: bytes96}),
    HeaderSubmission: new ContainerType({message: BidTrace, execution_payload_header: Header, ...named, ...requests, signature: bytes96}),
    SignedBid: new ContainerType({message: Bid, signature: bytes96}),
    SignedBlock: new ContainerType({message: Block, signature: bytes96}),
    Revealed: from('deneb') ? new ContainerType({execution_payload: Payload, ...blobs}) : Payload,
  }
}
