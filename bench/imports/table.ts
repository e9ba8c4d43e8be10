import { machineLine } from '../tables.ts'
import type { ImportsReport } from './run.ts'
import type { Beside } from './watch.ts'

const MB = 1024 * 1024
const mb = (bytes: number): string => `${(bytes / MB).toFixed(0)} MB`

const at = (ascending: number[], part: number): string => {
  const value = ascending[Math.min(ascending.length - 1, Math.floor(part * ascending.length))]
  return value === undefined ? '-' : value.toFixed(0)
}

const waits = (values: number[]): string =>
  `${at(values, 0.5)} / ${at(values, 0.99)} / ${at(values, 1)} (${values.length})`

const besideOf = ({ rest, calls }: Beside): string => `GET /calls ${waits(rest)}, call answered ${waits(calls)}`

/** The report as text. */
export function formatImportsReport(report: ImportsReport): string {
  const { commit, machine, rows, fileBytes, idleRss, diskBytes, quiet, imports, problems } = report
  return [
    machineLine(commit, machine),
    '',
    `imports of ${rows} rows (${mb(fileBytes)}) over HTTP, SQLite on disk, control killed with -9 on the way`,
    `waits beside it: p50 / p99 / max [ms] (how many); without an import: ${besideOf(quiet)}`,
    `control before: ${mb(idleRss)}; the database after all of them: ${mb(diskBytes)}`,
    ...imports.flatMap(one => [
      '',
      `${one.target}${one.isTrial ? ', dry run' : ''}: upload ${one.uploadS.toFixed(1)} s, ${one.seconds.toFixed(0)} s, ` +
        `${(one.rows.read / one.seconds).toFixed(0)} rows/s; ${one.kills} kills, after which it waited ${one.awayS.toFixed(0)} s in all`,
      `  ${one.rows.written} written, ${one.rows.duplicate} duplicates, ${one.rows.failed} with an error; ${one.progress} events of progress`,
      `  control at most ${mb(one.maxRss)}, WAL at most ${mb(one.maxWal)}`,
      `  ${besideOf(one.beside)}`,
    ]),
    '',
    ...(problems.length > 0
      ? problems
      : ['each good number is there exactly once, each line of the report is right, dry runs changed nothing']),
  ].join('\n')
}
