// @flashbots/mev-share-client, as its caller sees it. The stream's URL is in GAVEL_TEST. Each line that goes out is {"what":…,"value":…}: first what the
// history has, all of it in pages of two, then every event as it comes. Numbers that JSON has no place for become decimal text.
import share from "@flashbots/mev-share-client"
import { Wallet } from "ethers"

console.log = console.error
const plain = (_, value) => typeof value === "bigint" ? value.toString() : value
const say = (what, value) => process.stdout.write(JSON.stringify({ what, value }, plain) + "\n")

const url = process.env.GAVEL_TEST
const MevShareClient = share.default ?? share
const client = new MevShareClient(Wallet.createRandom(), { name: "test", chainId: 1, streamUrl: url, apiUrl: url })

const info = await client.getEventHistoryInfo()
say("info", info)
for (let offset = 0; offset < info.count; offset += 2) {
    say("page", await client.getEventHistory({ blockStart: info.minBlock, blockEnd: info.maxBlock, limit: 2, offset }))
}
client.on("transaction", (transaction) => say("transaction", transaction))
client.on("bundle", (bundle) => say("bundle", bundle))

process.stdin.resume()
process.stdin.on("end", () => process.exit(0))
