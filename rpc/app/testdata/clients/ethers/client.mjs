// Drives a bundle RPC with @flashbots/ethers-provider-bundle. What to do comes as JSON in GAVEL_TEST, what came back goes out as JSON.
import bundle from "@flashbots/ethers-provider-bundle"
import { ethers } from "ethers"

const { url, execution, key, chainId, privateTx, bundleTxs, conflicting, block, uuid } = JSON.parse(process.env.GAVEL_TEST)
const node = new ethers.providers.JsonRpcProvider(execution, { chainId, name: "test" })
const flashbots = await bundle.FlashbotsBundleProvider.create(node, new ethers.Wallet(key), url, { chainId, name: "test" })
const text = (value) => JSON.parse(JSON.stringify(value, (_, v) => (v?.type === "BigNumber" ? ethers.BigNumber.from(v).toString() : v)))

const out = {}
out.simulation = text(await flashbots.simulate(bundleTxs, block))
out.conflict = await flashbots.simulate(conflicting, block)
const sent = await flashbots.sendRawBundle(bundleTxs, block, { replacementUuid: uuid })
out.bundleHash = sent.bundleHash ?? sent.error
out.localHash = bundle.FlashbotsBundleProvider.generateBundleHash(bundleTxs.map((tx) => ethers.utils.keccak256(tx)))
out.stats = await flashbots.getBundleStatsV2(out.bundleHash, block)
out.cancelled = await flashbots.cancelBundles(uuid)
const transaction = await flashbots.sendPrivateTransaction({ signedTransaction: privateTx }, { maxBlockNumber: block + 5 })
out.transaction = transaction.transaction?.hash ?? transaction.error
out.transactionCancelled = await flashbots.cancelPrivateTransaction(out.transaction)
out.user = await flashbots.getUserStatsV2()
console.log(JSON.stringify(out))
process.exit(0)
