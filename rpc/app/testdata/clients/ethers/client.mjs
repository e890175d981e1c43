// @flashbots/ethers-provider-bundle, step by step.
import provider from "@flashbots/ethers-provider-bundle"
import { ethers } from "ethers"
import { connection, follow } from "../steps.mjs"

const { url, execution, key, chainId } = connection
const network = { chainId, name: "test" }
const node = new ethers.providers.JsonRpcProvider(execution, network)
node.pollingInterval = 50
const connect = (to) => provider.FlashbotsBundleProvider.create(node, new ethers.Wallet(key), to, network)
const client = await connect(url)
const sent = new Map() // what can be waited for, by hash

const bundleEnds = provider.FlashbotsBundleResolution
const transactionEnds = provider.FlashbotsTransactionResolution

await follow({
    hash: async ({ txs }) => provider.FlashbotsBundleProvider.generateBundleHash(txs.map((tx) => ethers.utils.keccak256(tx))),
    simulate: async ({ txs, block }) => client.simulate(txs, block),
    sendBundle: async ({ txs, block, options }) => {
        const bundle = await client.sendRawBundle(txs, block, options)
        sent.set(bundle.bundleHash, bundle)
        return bundle
    },
    bundleEnd: async ({ hash }) => bundleEnds[await sent.get(hash).wait()],
    receipts: async ({ hash }) => sent.get(hash).receipts(),
    cancelBundles: async ({ uuid }) => client.cancelBundles(uuid),
    sendTransaction: async ({ tx, options }) => {
        const transaction = await client.sendPrivateTransaction({ signedTransaction: tx }, options)
        sent.set(transaction.transaction?.hash, transaction)
        return transaction
    },
    transactionEnd: async ({ hash }) => transactionEnds[await sent.get(hash).wait()],
    cancelTransaction: async ({ hash }) => client.cancelPrivateTransaction(hash),
    bundleStats: async ({ hash, block }) => client.getBundleStatsV2(hash, block),
    userStats: async () => client.getUserStatsV2(),
    // A signature that is not one.
    forge: async ({ tx, signature }) =>
        (await connect({ url, headers: { "X-Flashbots-Signature": signature } })).sendPrivateTransaction({ signedTransaction: tx }),
})
