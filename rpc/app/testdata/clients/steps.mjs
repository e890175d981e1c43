// Who starts a client says where the service is by JSON in GAVEL_TEST, and drives it in steps: each line that comes in is
// {"step":name,"args":{…}}, each line that goes out {"result":…} or, if the client threw, {"thrown":{"name":…,"message":…,"body":…}}.
// Whatever a client prints itself goes to stderr.
import { createInterface } from "node:readline"

console.log = console.error

// Numbers that JSON has no place for become decimal text.
const plain = (_, value) =>
    typeof value === "bigint" ? value.toString() : value?.type === "BigNumber" ? BigInt(value.hex).toString() : value

export const connection = JSON.parse(process.env.GAVEL_TEST)

export async function follow(steps) {
    for await (const line of createInterface({ input: process.stdin })) {
        const { step, args } = JSON.parse(line)
        const answer = await steps[step](args).then(
            (result) => ({ result }),
            ({ name, message, body, response }) => ({ thrown: { name, message, body: body ?? response?.data } }))
        process.stdout.write(JSON.stringify(answer, plain) + "\n")
    }
    process.exit(0)
}
