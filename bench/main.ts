import { writeFileSync } from 'node:fs'
import { HELP, readOptions } from './options.ts'
import { startProduct } from './product-subject.ts'
import { recordRun } from './results.ts'
import { runBench } from './run.ts'
import { formatReport } from './tables.ts'

/** `npm run bench`: what a call and a stream cost, and how long their audio takes, on this machine. */
try {
  const options = readOptions(process.argv.slice(2))
  if (options === null) console.log(HELP)
  else {
    const report = await runBench(options, startProduct, line => console.error(line))
    console.log(formatReport(report))
    if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`)
    if (options.record) recordRun(report)
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
