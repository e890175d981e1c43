// Reads test vectors as an implementation in JavaScript would, and compares what its libraries say with what the vectors expect: SSZ and
// roots (@chainsafe/ssz), BLS (@noble/curves), secp256k1 and Keccak-256 (ethers), event streams (eventsource-parser).
//
//   node client.mjs FOLDER
import {createHash} from 'node:crypto'
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {bls12_381 as bls} from '@noble/curves/bls12-381'
import {createParser} from 'eventsource-parser'
import {concat, getBytes, hexlify, keccak256, recoverAddress, hashMessage, Signature, toUtf8Bytes, Transaction} from 'ethers'
import {BidTrace, ForkData, Registration, SignedRegistration, SigningData, typesOf} from './types.mjs'

const dir = process.argv[2]
const failures = [], counts = {}
const bytesOf = name => readFileSync(join(dir, name))
const documentOf = name => JSON.parse(bytesOf(name).toString())

function check(suite, name, holds, what) {
  counts[suite] = (counts[suite] ?? 0) + 1
  if (!holds) failures.push(`${suite} ${name}: ${what}`)
}

// attempt returns what a function returns, or undefined if it throws.
function attempt(does) {
  try {
    return does()
  } catch {
    return undefined
  }
}

const options = {DST: 'BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_'}
const infinity = key => key[0] === 0xc0
const isSigned = (signature, root, key) => !infinity(key) && !infinity(signature) && attempt(() => bls.verify(signature, root, key, options)) === true
const signingRoot = (object, domain) => SigningData.hashTreeRoot({object_root: object, domain: getBytes(domain)})

// domains computes those that a file has.
function checkDomains(suite, network) {
  const domain = (type, version, root) =>
    hexlify(new Uint8Array([...type, ...ForkData.hashTreeRoot({current_version: getBytes(version), genesis_validators_root: root}).slice(0, 28)]))
  check(suite, 'builderDomain', domain([0, 0, 0, 1], network.genesisForkVersion, new Uint8Array(32)) === network.builderDomain, 'another domain')
  if (network.forkVersion) {
    check(suite, 'proposerDomain',
      domain([0, 0, 0, 0], network.forkVersion, getBytes(network.genesisValidatorsRoot)) === network.proposerDomain, 'another domain')
  }
}

const bodyOf = (c, encoding) => c.bodies.find(b => b.encoding === encoding)
const decoded = (type, body) => body && attempt(() => body.encoding === 'ssz' ?
  type.deserialize(bytesOf(body.file)) : type.fromJson(JSON.parse(bytesOf(body.file).toString())))

// both decodes a case in both encodings, which must say the same.
function both(suite, c, type) {
  const [json, ssz] = [decoded(type, bodyOf(c, 'json')), decoded(type, bodyOf(c, 'ssz'))]
  check(suite, c.name, json && ssz && hexlify(type.hashTreeRoot(json)) === hexlify(type.hashTreeRoot(ssz)), 'JSON and SSZ differ')
  return ssz
}

// What a signature has to be for each refusal; all others are of rightly signed messages.
const signatureRefusals = ['submission-signature', 'submission-builder-key', 'payload-signature', 'registration-signature']

function submissions(file, form) {
  const {suite, network, cases} = file
  const type = typesOf(network.fork)[form]
  checkDomains(suite, network)
  for (const c of cases) {
    const name = `${network.fork}/${c.name}`
    if (!c.signingRoot) continue
    const s = both(suite, {...c, name}, type)
    if (!s) continue
    const root = signingRoot(BidTrace.hashTreeRoot(s.message), network.builderDomain)
    check(suite, name, hexlify(root) === c.signingRoot, 'another signing root')
    const right = isSigned(s.signature, root, s.message.builder_pubkey)
    check(suite, name, right === !signatureRefusals.includes(c.expect.refusal), `signature ${right}, expected ${c.expect.refusal ?? 'accepted'}`)
    for (const rule of messageRules) {
      const broken = rule.broken(s, c.known)
      check(suite, name, broken === (c.expect.refusal === rule.refusal), `${rule.refusal} ${broken}, expected ${c.expect.refusal ?? 'accepted'}`)
    }
  }
}

// Some of a relay's rules, to show that `known` has what they need.
const payloadOf = s => s.execution_payload ?? s.execution_payload_header
const messageRules = [
  {refusal: 'submission-past-slot', broken: (s, k) => s.message.slot <= BigInt(k.headSlot) || s.message.slot < BigInt(k.nowSlot)},
  {refusal: 'submission-no-duty', broken: (s, k) => !k.duty?.registration},
  {refusal: 'submission-wrong-proposer', broken: (s, k) => !!k.duty && hexlify(s.message.proposer_pubkey) !== k.duty.pubkey},
  {refusal: 'submission-fee-recipient', broken: (s, k) => !!k.duty?.registration &&
    hexlify(s.message.proposer_fee_recipient) !== k.duty.registration.feeRecipient},
  {refusal: 'submission-block-hash', broken: s => hexlify(s.message.block_hash) !== hexlify(payloadOf(s).block_hash)},
  {refusal: 'submission-parent-hash', broken: s => hexlify(s.message.parent_hash) !== hexlify(payloadOf(s).parent_hash)},
  {refusal: 'submission-trace-gas-limit', broken: s => s.message.gas_limit !== payloadOf(s).gas_limit},
  {refusal: 'submission-prev-randao', broken: (s, k) => !!k.attributes && hexlify(payloadOf(s).prev_randao) !== k.attributes.prevRandao},
]

function registrations(file) {
  checkDomains(file.suite, file.network)
  for (const c of file.cases) {
    if (!c.entries) continue
    const list = JSON.parse(bytesOf(bodyOf(c, 'json').file).toString()), ssz = bytesOf(bodyOf(c, 'ssz').file)
    check(file.suite, c.name, ssz.length === 180 * list.length && list.length === c.entries.length, 'another number of entries')
    c.entries.forEach((entry, i) => {
      const r = SignedRegistration.deserialize(ssz.subarray(180 * i, 180 * (i + 1)))
      const same = hexlify(SignedRegistration.hashTreeRoot(r)) === hexlify(SignedRegistration.hashTreeRoot(SignedRegistration.fromJson(list[i])))
      const root = signingRoot(Registration.hashTreeRoot(r.message), file.network.builderDomain)
      check(file.suite, c.name, same && hexlify(root) === entry.signingRoot, 'another signing root')
      const right = isSigned(r.signature, root, r.message.pubkey)
      check(file.suite, c.name, right === !signatureRefusals.includes(entry.refusal), `signature ${right}, expected ${entry.refusal ?? entry.verdict}`)
    })
  }
}

function reveals(file) {
  const {suite, network} = file, types = typesOf(network.fork)
  checkDomains(suite, network)
  const served = {}
  for (const s of file.served) {
    const name = `${network.fork}/${s.name}`
    const bid = types.SignedBid.deserialize(bytesOf(s.bids.find(b => b.encoding === 'ssz').file))
    const text = JSON.parse(bytesOf(s.bids.find(b => b.encoding === 'json').file).toString())
    const root = types.Bid.hashTreeRoot(bid.message)
    check(suite, name, hexlify(root) === s.bidRoot && text.version === network.fork, 'another root of the bid')
    check(suite, name, hexlify(types.SignedBid.hashTreeRoot(types.SignedBid.fromJson(text.data))) === hexlify(types.SignedBid.hashTreeRoot(bid)),
      'JSON and SSZ of the bid differ')
    check(suite, name, isSigned(bid.signature, signingRoot(root, network.builderDomain), getBytes(file.relayPubkey)), 'the relay has not signed')
    const revealed = types.Revealed.deserialize(bytesOf(s.payloads.find(b => b.encoding === 'ssz').file))
    const header = hexlify(types.Header.hashTreeRoot(bid.message.header))
    check(suite, name, header === s.headerRoot && hexlify(types.Payload.hashTreeRoot(revealed.execution_payload ?? revealed)) === header,
      'header and payload have different roots')
    served[hexlify(bid.message.header.block_hash)] = s
  }
  for (const c of file.cases) {
    if (!c.signingRoot) continue
    const name = `${network.fork}/${c.name}`, b = both(suite, {...c, name}, types.SignedBlock)
    if (!b) continue
    const root = signingRoot(types.Block.hashTreeRoot(b.message), network.proposerDomain)
    check(suite, name, hexlify(root) === c.signingRoot, 'another signing root')
    const right = isSigned(b.signature, root, getBytes(file.duty.pubkey))
    check(suite, name, right === !signatureRefusals.includes(c.expect.refusal), `signature ${right}, expected ${c.expect.refusal ?? 'accepted'}`)
    const header = b.message.body.execution_payload_header, found = served[hexlify(header.block_hash)]
    check(suite, name, !found === (c.expect.refusal === 'payload-unknown'), 'known and unknown headers are mixed up')
    if (c.expect.verdict === 'accepted') {
      check(suite, name, hexlify(types.Header.hashTreeRoot(header)) === found.headerRoot && found.name === c.reveals, 'another header than served')
    }
  }
}

// elementHash is the hash of an element of a mev_sendBundle.
function elementHash(e) {
  if (e.hash) return e.hash
  return e.tx ? Transaction.from(e.tx).hash : shareHash(e.bundle.body)
}

function shareHash(body) {
  const hashes = body.map(elementHash)
  return hashes.length === 1 ? hashes[0] : keccak256(concat(hashes))
}

function bundles(file) {
  for (const c of file.cases) {
    for (const {method, request, order} of c.steps) {
      if (!order) continue
      const [param] = request.params
      const hash = method === 'mev_sendBundle' ? shareHash(param.body) : keccak256(concat(param.txs.map(t => Transaction.from(t).hash)))
      check(file.suite, c.name, hash === order.bundleHash, `hash ${hash}, expected ${order.bundleHash}`)
      check(file.suite, c.name, keccak256(hash) === order.matchingHash, 'another matching hash')
    }
  }
}

// signerOf applies the rules of the header; it returns undefined for a refused one.
function signerOf(headers, body) {
  const values = [...new Set(headers.map(([, value]) => value))]
  const [, address, rs, v] = /^(0x[0-9a-fA-F]{40}):0x([0-9a-fA-F]{128})([0-9a-fA-F]{2})$/.exec(values[0] ?? '') ?? []
  if (values.length !== 1 || !address || !['00', '01', '1b', '1c'].includes(v.toLowerCase())) return undefined
  const signature = attempt(() => Signature.from('0x' + rs + (parseInt(v, 16) % 27 + 27).toString(16))) // refuses a high s
  const recovered = signature && attempt(() => recoverAddress(hashMessage(keccak256(toUtf8Bytes(body))), signature))
  return recovered?.toLowerCase() === address.toLowerCase() ? recovered.toLowerCase() : undefined
}

function signatures(file) {
  for (const c of file.cases) {
    check(file.suite, c.name, keccak256(toUtf8Bytes(c.body)) === c.bodyHash, 'another hash of the body')
    const signer = signerOf(c.headers, c.body)
    check(file.suite, c.name, signer === (c.verdict === 'accepted' ? file.address : undefined), `signer ${signer}, expected ${c.verdict}`)
  }
}

const transactionsOf = bundle => bundle.elements.flatMap(e => e.tx ? [e.tx] : transactionsOf(e.bundle))

function hints(file) {
  for (const c of file.cases) {
    check(file.suite, c.name, (c.event === null) === (c.order.hints.length === 0), 'an event of what is not shared, or none')
    if (!c.event) continue
    check(file.suite, c.name, c.event.hash === keccak256(c.orderHash), 'another matching hash')
    const known = transactionsOf(c.order).map(t => Transaction.from(t.raw))
    for (const shown of c.event.txs ?? []) {
      const fits = known.some(tx => (!shown.hash || shown.hash === tx.hash) && (!shown.to || shown.to === tx.to?.toLowerCase()) &&
        (!shown.callData || shown.callData === tx.data) && (!shown.nonce || Number(shown.nonce) === tx.nonce) &&
        (!shown.from || shown.from === tx.from.toLowerCase()) && (!shown.value || BigInt(shown.value) === tx.value) &&
        (!shown.functionSelector || shown.functionSelector === tx.data.slice(0, 10).padEnd(10, '0')))
      check(file.suite, c.name, fits, 'what is shown is of no transaction of the order')
    }
    const plain = c.order.elements.every(e => e.tx)
    const secret = plain && !['calldata', 'full'].some(h => c.order.hints.includes(h)) && 
      known.some(tx => tx.data.length > 10 && JSON.stringify(c.event).includes(tx.data))
    check(file.suite, c.name, !secret, 'data is shown that is not shared')
  }
}

function transcripts(file) {
  for (const c of file.cases) {
    const events = []
    let last = ''
    const parser = createParser({onEvent: e => {
      last = e.id ?? last
      events.push({type: e.event ?? '', id: last, data: e.data})
    }})
    parser.feed(new TextDecoder().decode(getBytes(c.bytes)))
    check(file.suite, c.name, JSON.stringify(events) === JSON.stringify(c.events), `${JSON.stringify(events)}, expected ${JSON.stringify(c.events)}`)
  }
}

const readers = {
  'relay/submissions': file => submissions(file, 'Submission'), 'relay/header-submissions': file => submissions(file, 'HeaderSubmission'),
  'relay/registrations': registrations, 'relay/reveals': reveals, 'rpc/eth-send-bundle': bundles, 'rpc/mev-send-bundle': bundles,
  'rpc/replacements': bundles, 'rpc/signatures': signatures, 'stream/hints': hints, 'stream/transcripts': transcripts,
}

const manifest = documentOf('manifest.json')
for (const file of manifest.files) {
  const content = bytesOf(file.path)
  check('manifest', file.path, content.length === file.bytes && createHash('sha256').update(content).digest('hex') === file.sha256, 'other bytes')
  if (file.schema) {
    const document = JSON.parse(content.toString())
    const read = readers[document.suite]
    check('manifest', file.path, !!read, 'an unknown suite')
    read?.(document)
  }
}
for (const suite of Object.keys(manifest.cases)) check('manifest', suite, counts[suite] > 0, 'nothing was checked')
console.log(JSON.stringify({checks: counts, failures: failures.length}))
for (const failure of failures.slice(0, 50)) console.error(failure)
process.exitCode = failures.length ? 1 : 0
