// Compiles the contracts of the folder above and writes, for each one that is deployed, its ABI and the code that runs.
const fs = require('fs')
const path = require('path')
const solc = require('solc')

const folder = path.join(__dirname, '..')
const sources = {}
for (const file of fs.readdirSync(folder).filter((name) => name.endsWith('.sol'))) {
  sources[file] = { content: fs.readFileSync(path.join(folder, file), 'utf8') }
}
const output = JSON.parse(
  solc.compile(
    JSON.stringify({
      language: 'Solidity',
      sources,
      settings: {
        evmVersion: 'paris', // the oldest fork that a devnet begins with
        optimizer: { enabled: true, runs: 1000 },
        metadata: { appendCBOR: false, bytecodeHash: 'none' },
        outputSelection: { '*': { '*': ['abi', 'evm.deployedBytecode.object'] } },
      },
    }),
  ),
)
for (const error of output.errors ?? []) {
  console.error(error.formattedMessage)
}
if ((output.errors ?? []).some((error) => error.severity === 'error')) {
  process.exit(1)
}
const target = process.argv[2] ?? folder
for (const name of ['Token', 'WrappedEther', 'Pool', 'Router', 'Backrun']) {
  const contract = output.contracts[`${name}.sol`][name]
  const compiled = { abi: contract.abi, code: '0x' + contract.evm.deployedBytecode.object }
  fs.writeFileSync(path.join(target, `${name}.json`), JSON.stringify(compiled, null, 1) + '\n')
}
