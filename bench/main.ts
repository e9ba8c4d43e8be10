import { writeFileSync } from 'node:fs'
import { describeKills, runKills } from './kills/run.ts'
import { type BenchOptions, HELP, readOptions } from './options.ts'
import { startProduct } from './product-subject.ts'
import { recordRun } from './results.ts'
import { runBench } from './run.ts'
import { formatReport } from './tables.ts'

const say = (line: string): void => console.error(line)

/** `npm run bench`: what a call and a stream cost, and how long their audio takes, on this machine. */
async function benchAudio(options: BenchOptions): Promise<object> {
  const report = await runBench(options, startProduct, say)
  console.log(formatReport(report))
  if (options.record) recordRun(report)
  return report
}

/** `--kills`: what survives when control dies; the exit code says whether all did. */
async function benchKills({ kills }: BenchOptions): Promise<object> {
  const report = await runKills({ kills, budgetMs: Number.POSITIVE_INFINITY, say })
  console.log(describeKills(report).join('\n'))
  if (report.problems.length > 0) process.exitCode = 1
  return report
}

try {
  const options = readOptions(process.argv.slice(2))
  if (options === null) console.log(HELP)
  else {
    const report = options.kills > 0 ? await benchKills(options) : await benchAudio(options)
    if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`)
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
