// @flashbots/mev-share-client, step by step.
import share from "@flashbots/mev-share-client"
import { Wallet } from "ethers"
import { connection, follow } from "../steps.mjs"

const { url, key, chainId } = connection
const MevShareClient = share.default ?? share
const client = new MevShareClient(new Wallet(key), { name: "test", chainId, streamUrl: url, apiUrl: url })

await follow({
    sendTransaction: async ({ tx, options }) => client.sendTransaction(tx, options),
    sendBundle: async ({ bundle }) => client.sendBundle(bundle),
    simulateBundle: async ({ bundle, options }) => client.simulateBundle(bundle, options),
})
