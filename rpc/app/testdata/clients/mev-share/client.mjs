// Drives a bundle RPC with @flashbots/mev-share-client. What to do comes as JSON in GAVEL_TEST, what came back goes out as JSON.
import client from "@flashbots/mev-share-client"
import { Wallet } from "ethers"

const { url, key, chainId, privateTx, bundleTxs, badTx, block } = JSON.parse(process.env.GAVEL_TEST)
const MevShareClient = client.default ?? client
const share = new MevShareClient(new Wallet(key), { name: "test", chainId, streamUrl: url, apiUrl: url })
const body = bundleTxs.map((tx) => ({ tx, canRevert: false }))
const text = (value) => JSON.parse(JSON.stringify(value, (_, v) => (typeof v === "bigint" ? v.toString() : v)))

const out = {}
out.transaction = await share.sendTransaction(privateTx, {
    hints: { calldata: true, logs: true, contractAddress: true }, maxBlockNumber: block + 10, builders: ["flashbots"],
})
out.bundle = await share.sendBundle({ inclusion: { block, maxBlock: block + 3 }, body })
out.simulation = text(await share.simulateBundle({ inclusion: { block }, body }, { parentBlock: block - 1 }))
out.failure = await share.simulateBundle({ inclusion: { block }, body: [{ tx: badTx, canRevert: false }] }).then(
    (result) => text(result), (error) => ({ thrown: error.message }))
out.refusal = await share.sendBundle({ inclusion: { block }, body: [{ hash: "0x" + "11".repeat(32) }, ...body] }).then(
    () => "taken", (error) => `${error.name}: ${error.message}`)
console.log(JSON.stringify(out))
