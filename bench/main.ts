import { writeFileSync } from 'node:fs'
import { HALVES } from './amd/greetings.ts'
import { benchAmd, formatAmd } from './amd/run.ts'
import { benchAnswers } from './answers/run.ts'
import { formatAnswersReport } from './answers/table.ts'
import { benchApi } from './api/run.ts'
import { benchBuffers, formatBuffersReport } from './buffers/run.ts'
import { benchBusy } from './busy/run.ts'
import { benchFlood, formatFloodReport } from './calls/flood-run.ts'
import { benchCalls } from './calls/run.ts'
import { formatCallsReport } from './calls/table.ts'
import { benchCampaign } from './campaign/run.ts'
import { formatCampaignReport } from './campaign/table.ts'
import { benchCapacity } from './capacity/run.ts'
import { formatCapacityReport } from './capacity/table.ts'
import { benchCopilot } from './copilot/run.ts'
import { formatCopilotReport } from './copilot/table.ts'
import { benchFuzz, formatFuzzReport } from './fuzz/run.ts'
import { benchLooks, formatLooks } from './hearing/looks-cost.ts'
import { benchHearing } from './hearing/run.ts'
import { formatHearing } from './hearing/table.ts'
import { benchVoices, formatVoices } from './hearing/voices.ts'
import { benchImports } from './imports/run.ts'
import { formatImportsReport } from './imports/table.ts'
import { describeKills, runKills } from './kills/run.ts'
import { thisCommit, thisMachine } from './machine.ts'
import { type BenchOptions, HELP, readOptions } from './options.ts'
import { startOnOneCore, startProduct } from './product-subject.ts'
import { runRaces } from './races/run.ts'
import { recordRun } from './results.ts'
import { runBench } from './run.ts'
import { benchSoak } from './soak/run.ts'
import { formatSoakReport } from './soak/table.ts'
import { formatApiReport, formatBusyReport, formatReport, formatTurnsReport, machineLine } from './tables.ts'
import { benchTones, formatTones } from './tones/run.ts'
import { benchTurns } from './turns/run.ts'

/** Maximum duration for REST requests: a longer one would show nothing more [s]. */
const API_SECONDS = 10

const say = (line: string): void => console.error(line)

function show({ record }: BenchOptions, startedAt: string, text: string): void {
  console.log(text)
  if (record) recordRun(startedAt, text)
}

/** Without such an option: what legs and streams cost, and the latency of their audio. */
async function benchAudio(options: BenchOptions): Promise<object> {
  const report = await runBench(options, () => startOnOneCore(options), say)
  show(options, report.startedAt, formatReport(report))
  return report
}

/** `--capacity`: how many legs of each kind one core holds. */
async function benchMost(options: BenchOptions): Promise<object> {
  const report = await benchCapacity(options, () => startOnOneCore(options), say)
  show(options, report.startedAt, formatCapacityReport(report))
  return report
}

/** `--buffers`: what jitter buffers lose, and by how much they delay audio. */
async function benchWaits(options: BenchOptions): Promise<object> {
  const report = await benchBuffers(options, say)
  show(options, report.startedAt, formatBuffersReport(report))
  return report
}

/** `--calls`: what a call costs, and how many per second are set up. */
async function benchSetUp(options: BenchOptions): Promise<object> {
  const report = await benchCalls(options, () => startProduct(options), say)
  show(options, report.startedAt, formatCallsReport(report))
  return report
}

/** `--flood`: how packets of unknown hosts affect calls and audio. */
async function benchStrangers(options: BenchOptions): Promise<object> {
  const report = await benchFlood(options, () => startProduct(options), say)
  show(options, report.startedAt, formatFloodReport(report))
  return report
}

/** `--fuzz`: how the product bears broken SIP messages; the exit code tells whether it had problems. */
async function benchBroken(options: BenchOptions): Promise<object> {
  // What holds and says nothing any more is missed by the session timer alone.
  const start = () => startProduct(options, [], { TANDEM_SIP_SESSION_SECONDS: '90' })
  const report = await benchFuzz(options.fuzz, start, say)
  show(options, report.startedAt, formatFuzzReport(report))
  if (report.problems.length > 0) process.exitCode = 1
  return report
}

/** `--soak`: what grows or drifts in hours of calls. */
async function benchLong(options: BenchOptions): Promise<object> {
  const report = await benchSoak(options, () => startOnOneCore(options), say)
  show(options, report.startedAt, formatSoakReport(report))
  return report
}

/** `--api`: requests per second of the REST API, compared with a bare route of the same framework. */
async function benchRest(options: BenchOptions): Promise<object> {
  const report = await benchApi(Math.min(options.seconds, API_SECONDS), say, options.only)
  show(options, report.startedAt, formatApiReport(report))
  return report
}

/** `--busy`: how REST requests on the same cores affect audio. */
async function benchTogether(options: BenchOptions): Promise<object> {
  const report = await benchBusy(options, () => startProduct(options), say)
  show(options, report.startedAt, formatBusyReport(report))
  return report
}

/** `--turns`: how soon barge-in and a whole turn happen, without a language model. */
async function benchTalk(options: BenchOptions): Promise<object> {
  const report = await benchTurns(options.turns, say)
  show(options, report.startedAt, formatTurnsReport(report))
  return report
}

/** `--hearing`: labelled calls of all wanted sets through the hearing chain. */
async function benchEar(options: BenchOptions): Promise<object> {
  const startedAt = new Date().toISOString()
  const reports = []
  const isWanted = ({ name }: { name: string }): boolean => options.only.test(name)
  for (const set of options.sets) reports.push(await benchHearing(set, options.hearing, say, isWanted))
  const costs = await benchLooks(options.sets[0]!, options.hearing, say, isWanted)
  const voices = options.only.source === '(?:)' ? await benchVoices(say) : []
  const head = machineLine(thisCommit(), thisMachine())
  const lines = [head, '', ...formatHearing(reports), '', ...formatLooks(costs), '', ...formatVoices(voices)]
  show(options, startedAt, lines.join('\n'))
  return { reports, costs, voices }
}

/** `--tones`: keys detected where none was pressed (talk-off); the exit code tells whether there were any. */
async function benchTalkOff(options: BenchOptions): Promise<object> {
  const startedAt = new Date().toISOString()
  const results = await benchTones(options.tones, options.recordings, say)
  show(options, startedAt, [machineLine(thisCommit(), thisMachine()), '', ...formatTones(results)].join('\n'))
  if (results.some(({ keys }) => keys.length > 0)) process.exitCode = 1
  return results
}

/** `--amd`: answering machine detection. */
async function benchWhoAnswers(options: BenchOptions): Promise<object> {
  const startedAt = new Date().toISOString()
  const halves = HALVES.filter(half => options.only.test(half))
  const results = await benchAmd(options.recordings ?? halves, say)
  show(options, startedAt, [machineLine(thisCommit(), thisMachine()), '', ...formatAmd(results)].join('\n'))
  return results
}

/** `--answers`: how an assistant without a language model answers questions. */
async function benchQuestions(options: BenchOptions): Promise<object> {
  const report = await benchAnswers(['seen', 'unseen'])
  show(options, report.startedAt, formatAnswersReport(report))
  return report
}

/** `--copilot`: how soon the copilot's messages come. */
async function benchBeside(options: BenchOptions): Promise<object> {
  const report = await benchCopilot(options, say)
  show(options, report.startedAt, formatCopilotReport(report))
  return report
}

/** `--kills`: what survives when control is killed; the exit code tells whether all did. */
async function benchKills(options: BenchOptions): Promise<object> {
  const startedAt = new Date().toISOString()
  const report = await runKills({ kills: options.kills, budgetMs: Number.POSITIVE_INFINITY, say })
  show(options, startedAt, [machineLine(thisCommit(), thisMachine()), '', ...describeKills(report)].join('\n'))
  if (report.problems.length > 0) process.exitCode = 1
  return report
}

/** `--races`: what contradicting requests, phones and kills at one moment leave; the exit code tells whether all was right. */
async function benchRaces({ races: rounds, seed, only }: BenchOptions): Promise<object> {
  const problems = await runRaces({ rounds, seed, only, say })
  console.log(
    `${rounds} rounds from seed ${seed}: ${problems.length === 0 ? 'nothing wrong' : `${problems.length} lines of problems`}`,
  )
  if (problems.length > 0) process.exitCode = 1
  return problems
}

/** `--imports`: large files, and kills while they are read; the exit code tells whether every row arrived. */
async function benchFiles(options: BenchOptions): Promise<object> {
  const report = await benchImports(options.imports, say)
  show(options, report.startedAt, formatImportsReport(report))
  if (report.problems.length > 0) process.exitCode = 1
  return report
}

/** `--campaign`: a campaign over SIP, and kills meanwhile; the exit code tells whether every contact was called as the rules allow. */
async function benchDialler(options: BenchOptions): Promise<object> {
  const { campaign: contacts, rate, only } = options
  const report = await benchCampaign({ contacts, rate, only }, say)
  show(options, report.startedAt, formatCampaignReport(report))
  if (report.runs.some(({ problems }) => problems.length > 0)) process.exitCode = 1
  return report
}

function benchOf(options: BenchOptions): (options: BenchOptions) => Promise<object> {
  const { kills, hearing, tones, turns, api, busy, answers, amd, copilot, capacity, soak, calls, flood, fuzz } = options
  if (options.buffers) return benchWaits
  if (options.imports > 0) return benchFiles
  if (options.campaign > 0) return benchDialler
  if (kills > 0) return benchKills
  if (options.races > 0) return benchRaces
  if (hearing > 0) return benchEar
  if (tones > 0) return benchTalkOff
  if (turns > 0) return benchTalk
  if (amd) return benchWhoAnswers
  if (answers) return benchQuestions
  if (copilot) return benchBeside
  if (api) return benchRest
  if (fuzz > 0) return benchBroken
  if (flood) return benchStrangers
  if (calls) return benchSetUp
  if (capacity) return benchMost
  if (soak > 0) return benchLong
  return busy ? benchTogether : benchAudio
}

try {
  const options = readOptions(process.argv.slice(2))
  if (options === null) console.log(HELP)
  else {
    const report = await benchOf(options)(options)
    if (options.json !== null) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`)
  }
} catch (error) {
  const { message, cause } = error as Error
  console.error(cause instanceof Error ? `${message}: ${cause.message}` : (message ?? error))
  // Resources opened before the failure would keep the process running.
  process.exit(1)
}
