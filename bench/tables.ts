import type { ApiReport } from './api/run.ts'
import type { BusyReport } from './busy/run.ts'
import type { Percentiles } from './load/histogram.ts'
import type { LoadResult } from './load/messages.ts'
import type { Machine } from './machine.ts'
import { type Figures, lostFrames, type Report, type RoomReport, type StreamReport } from './report.ts'
import type { TurnsReport } from './turns/run.ts'

/** The report as text, for a terminal and for bench/RESULTS.md. */
export function formatReport(report: Report): string {
  const { machine } = report
  const parts = [machineLine(report.commit, machine), ...report.notes.map(note => `note: ${note}`)]
  if (report.rooms.length > 0) parts.push('', ...roomTables(report.rooms))
  if (report.streams.length > 0) parts.push('', ...streamTables(report.streams))
  parts.push('', ...verdicts(report))
  return parts.join('\n')
}

/** The figures of the REST API as text. */
export function formatApiReport({ commit, machine, seconds, connections, operations, pages }: ApiReport): string {
  const rates = [
    ['', 'requests/s', 'bare', 'of bare', 'CPU [µs]', 'bare', 'of bare', 'answer [bytes]', 'p50 [ms]', 'p99', 'max'],
  ]
  for (const { name, perSecond, cpuUs, bare, ratio, cpuRatio, bytes, latencyMs } of operations) {
    const [p50, , p99, max] = latencyOf(latencyMs)
    rates.push([
      name,
      ...[perSecond.toFixed(0), bare.perSecond.toFixed(0), ratio.toFixed(2)],
      ...[cpuUs.toFixed(0), bare.cpuUs.toFixed(0), cpuRatio.toFixed(2)],
      ...[bytes === null ? '' : String(bytes), p50!, p99!, max!],
    ])
  }
  const places = [['', 'p50 [ms]', 'p99', 'max']]
  for (const place of ['first', 'middle', 'last'] as const) {
    const { p50, p99, max } = pages[place]
    places.push([place, p50.toFixed(2), p99.toFixed(2), max.toFixed(2)])
  }
  return [
    machineLine(commit, machine),
    '',
    `REST, ${connections} connections, ${seconds} s each and as long beside it, by turns; SQLite on disk, every write is synced before its answer`,
    ...table(rates),
    'bare GET: a Fastify route that returns the same body as an object. bare POST: a Fastify route that parses and validates the body of',
    'POST /callbacks and answers; "inserts": and keeps it by one INSERT of the same row, synced in the same way. CPU: of the server process.',
    'GET of the same path again and again, and nothing written meanwhile: the product gives its last answer again. "each another": it reads each.',
    '',
    `pages of ${pages.size} of a list of ${pages.callbacks} callbacks, ${pages.first.count} at each place`,
    ...table(places),
  ].join('\n')
}

/** The effect of REST load on audio, as text. */
export function formatBusyReport({ commit, machine, legs, loops, seconds, phases }: BusyReport): string {
  const rows = [['', 'RTP to RTP [ms] p50', 'p95', 'p99', 'max', 'gaps > 40 ms', 'slots', 'requests/s', 'refused']]
  for (const { name, audio, rest } of phases) {
    const { load, lateSlots } = audio
    rows.push([
      name,
      ...latencyOf(load.latencyMs),
      share(load.packetsAfterGap, load.packetsReceived),
      String(lateSlots),
      ...(rest === null ? ['', ''] : [rest.perSecond.toFixed(0), String(rest.refused)]),
    ])
  }
  return [
    machineLine(commit, machine),
    '',
    `${legs} legs in rooms of 3, ${seconds} s each, on all cores, with ${loops} clients that read and write as fast as they are answered`,
    ...table(rows),
    'gaps > 40 ms: packets that came so long after the one before; slots: late ones of the engine clock.',
    ...paceLine(phases.map(({ audio }) => audio.load)),
  ].join('\n')
}

/** The report of `--turns` as text. */
export function formatTurnsReport(report: TurnsReport): string {
  const rows = [['', 'p50 [ms]', 'p95', 'p99', 'max']]
  const add = (name: string, ms: Percentiles): number => rows.push([name, ...latencyOf(ms)])
  add('barge-in: voice declared to silence at the caller', report.bargeIn)
  add('transcript, from the end that was declared', report.transcribe)
  add('first sound of the answer, from the transcript', report.speak)
  add(`whole turn without a model, ${report.endOfSpeechMs} ms of silence in it`, report.turn)
  return [
    machineLine(report.commit, report.machine),
    '',
    `${report.turns} turns over SIP and RTP, offline engines; the first packet of each kind as it came to the caller`,
    ...table(rows),
    `understood as: ${report.texts.join(' | ')}`,
  ].join('\n')
}

/** The first line of a report. */
export const machineLine = (commit: string, { node, kernel, cores, cpu, memoryGb }: Machine): string =>
  `commit ${commit}, node ${node}, ${kernel}, ${cores} × ${cpu}, ${memoryGb} GB`

/** Whether the product meets its target: 300 legs in rooms of 3 on one core. */
function verdicts({ rooms }: Report): string[] {
  const room = rooms.find(({ roomSize, engine }) => roomSize === 3 && engine.legs >= 300)
  if (room === undefined) return ['The promise (300 legs in rooms of 3 on one core) was not put to the test.']
  const { load } = room.engine
  const say = (what: string, holds: boolean): string => `${holds ? 'holds' : 'FAILS'}  ${what}`
  const p99 = load.latencyMs?.p99 ?? Number.POSITIVE_INFINITY
  return [
    `${room.engine.legs} legs in rooms of 3 for ${load.seconds} s:`,
    say(`no loss: ${lostFrames(load)} of ${load.framesExpected} frames`, lostFrames(load) === 0),
    say(`p99 of the added latency below 60 ms: ${p99.toFixed(1)} ms`, p99 < 60),
    say(`none hears itself: ${load.framesOwn} frames`, load.framesOwn === 0),
  ]
}

function roomTables(rooms: RoomReport[]): string[] {
  const cost = [['', 'CPU [ms/s per leg]', 'user', 'system', 'of a core', 'its busiest thread', 'ratio']]
  const sound = [
    [
      '',
      'RTP to RTP [ms] p50',
      'p95',
      'p99',
      'max',
      'lost',
      'joint',
      'broken',
      'own',
      'stray',
      'late',
      'slots',
      'drift [ppm]',
    ],
  ]
  for (const { roomSize, engine, yardstick, ratio } of rooms) {
    cost.push([`rooms of ${roomSize}`, ...costOf(engine), ratio === null ? '' : ratio.toFixed(2)])
    if (yardstick !== null) cost.push(['  yardstick', ...costOf(yardstick), ''])
    sound.push([`rooms of ${roomSize}`, ...soundOf(engine)])
    if (yardstick !== null) sound.push(['  yardstick', ...soundOf(yardstick)])
  }
  const { seconds } = rooms[0]!.engine.load
  return [
    `${rooms[0]!.engine.legs} legs, ${seconds} s each`,
    ...table(cost),
    '',
    ...table(sound),
    'lost: frames that somebody should have heard and did not, of all said; joint: frames of which a part was left out or said twice, as',
    'the delay changed, and the rest is as it was said; broken: frames not as they were said in any other way; own: heard by',
    'their speaker; stray: heard in another room; late: packets 20 ms behind; slots: late ones of the engine clock.',
    ...paceLine(rooms.map(({ engine }) => engine.load)),
  ]
}

const costOf = ({ cpu, legs, busiestThread }: Figures): string[] => [
  (cpu.total / legs).toFixed(3),
  (cpu.user / legs).toFixed(3),
  (cpu.system / legs).toFixed(3),
  `${(cpu.total / 10).toFixed(1)} %`,
  busiestThread === null ? '' : `${(busiestThread / 10).toFixed(1)} %`,
]

function soundOf({ load, lateSlots }: Figures): string[] {
  return [
    ...latencyOf(load.latencyMs),
    share(lostFrames(load), load.framesExpected),
    String(load.framesJoint),
    String(load.framesBroken),
    String(load.framesOwn),
    String(load.framesStray),
    String(load.packetsLate),
    lateSlots === null ? '' : String(lateSlots),
    load.driftPpm === null ? '' : load.driftPpm.toFixed(1),
  ]
}

export const latencyOf = (ms: Percentiles | null): string[] =>
  ms === null ? ['', '', '', ''] : [ms.p50, ms.p95, ms.p99, ms.max].map(value => value.toFixed(1))

const share = (part: number, whole: number): string =>
  part === 0 || whole === 0 ? String(part) : `${part} (${((100 * part) / whole).toFixed(3)} %)`

function streamTables(streams: StreamReport[]): string[] {
  const rows = [
    [
      '',
      'CPU [ms/s per stream]',
      'user',
      'system',
      'leg',
      'RTP to WebSocket [ms] p50',
      'p95',
      'p99',
      'max',
      'past the slot p50',
      'p95',
      'p99',
      'max',
      'lost',
      'dropped',
    ],
  ]
  for (const { format, legs, cpuPerStream, without, with: figures } of streams) {
    const received = figures.load.streams
    if (received === null) continue
    rows.push([
      format,
      cpuPerStream.total.toFixed(3),
      cpuPerStream.user.toFixed(3),
      cpuPerStream.system.toFixed(3),
      (without.total / legs).toFixed(3),
      ...latencyOf(received.latencyMs),
      ...latencyOf(received.slotDelayMs),
      share(received.framesExpected - received.framesReceived, received.framesExpected),
      String(received.framesMissing),
    ])
  }
  return [
    `${streams[0]!.legs} streams of two tracks, one per leg, ${streams[0]!.with.load.seconds} s each`,
    ...table(rows),
    'CPU: of the media process, what it took beyond the same calls without streams, before or after, whichever was less (leg: what such a call took then); the receiver is another process.',
    'past the slot: from the tick that plays the frame to its arrival at the receiver, as seen by the frames that come first.',
    'lost: frames of the inbound track that did not come or not whole; dropped: gaps in chunk, both tracks.',
    ...paceLine(streams.map(report => report.with.load)),
  ]
}

const paceLine = (loads: LoadResult[]): string[] => {
  const most = (of: 'p99' | 'max'): string => Math.max(...loads.map(load => load.paceLagMs?.[of] ?? 0)).toFixed(1)
  return [
    `load: sent p99 ${most('p99')} ms behind its own plan at worst, a single packet ${most('max')} ms, ` +
      `read a packet ${Math.max(...loads.map(load => load.readLagMs)).toFixed(0)} ms after it had come, ` +
      `took ${Math.max(...loads.map(load => load.ownCpuMs / 10)).toFixed(0)} % of a core`,
  ]
}

/** Pads columns; the first is left-aligned, the others right. */
export function table(rows: string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  return rows.map(row =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('  '),
  )
}
