import { readdirSync, readFileSync } from 'node:fs'
import type { Subject } from '../subject.ts'

/** The values that must not grow in hours; memory [bytes], and open files. */
export const WATCHED = [
  'media memory',
  'media main heap',
  'media main external',
  'engine heap',
  'engine external',
  'control memory',
  'control heap',
  'control external',
  'media files',
  'control files',
] as const
export type Watched = (typeof WATCHED)[number]

/** All values at one moment. */
export interface Sample {
  /** Time since the start [s]. */
  at: number
  values: Record<Watched, number>
  /** Counters of the engine's clock since the start. */
  slots: { all: number; behind: number; late: number; skipped: number }
  /** Number of slots that began at most `ms` late. */
  lateness: { ms: number; slots: number }[]
}

export async function takeSample(subject: Subject, startedAt: number): Promise<Sample> {
  const metrics = await subject.metrics()
  const of = (name: string): number => metrics.get(name) ?? Number.NaN
  return {
    at: (performance.now() - startedAt) / 1000,
    values: {
      'media memory': residentBytes(subject.mediaPid),
      'media main heap': of('media_main_heap_bytes'),
      'media main external': of('media_main_external_bytes'),
      'engine heap': of('media_engine_heap_bytes'),
      'engine external': of('media_engine_external_bytes'),
      'control memory': residentBytes(subject.controlPid),
      'control heap': of('control_heap_bytes'),
      'control external': of('control_external_bytes'),
      'media files': openFiles(subject.mediaPid),
      'control files': openFiles(subject.controlPid),
    },
    slots: {
      all: of('media_clock_slots_total'),
      behind: of('media_clock_behind_slots_total'),
      late: of('media_clock_late_slots_total'),
      skipped: of('media_clock_skipped_slots_total'),
    },
    lateness: latenessIn(metrics),
  }
}

function latenessIn(metrics: ReadonlyMap<string, number>): Sample['lateness'] {
  return [...metrics].flatMap(([name, slots]) => {
    const bound = /^media_clock_lateness_seconds_bucket\{le="(.+)"\}$/.exec(name)?.[1]
    return bound === undefined
      ? []
      : [{ ms: bound === '+Inf' ? Number.POSITIVE_INFINITY : 1000 * Number(bound), slots }]
  })
}

/** Resident memory: VmRSS of proc(5), which is in kB. */
export function residentBytes(pid: number): number {
  const kb = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return 1024 * Number(kb?.[1] ?? Number.NaN)
}

const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length
