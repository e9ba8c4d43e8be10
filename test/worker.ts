/**
 * A process of the test command that runs test files: the one in its argument, or many, whose URLs it receives one after the other, so that
 * what they import is loaded once. After each of these it writes `END_OF_FILE` on a line of its own.
 */

import { END_OF_FILE, NO_MORE_FILES } from './worker-messages.ts'

// Processes that files start run for seconds, as those of their products do: the speech process most of all.
process.env.NODE_OPTIONS = process.env.TANDEM_TEST_NODE_OPTIONS

/** How long whatever the files left open may take to close, after the last test of the last file [ms]. */
const CLOSE_MS = 15_000

async function runFile(url: string): Promise<void> {
  // Makes uvu collect the suites that are imported next, instead of running them at once.
  Object.assign(globalThis, { UVU_DEFER: 1, UVU_INDEX: 0, UVU_QUEUE: [[null]] })
  try {
    await import(url)
    const { exec } = await import('uvu')
    await exec()
  } catch (error) {
    console.error(error)
    process.exitCode = 1
  }
}

/** Ends the process if something stays open. Otherwise a socket or timer that nobody closes would keep it until a much later deadline. */
function leave(): void {
  const giveUp = (): never => {
    const lines = [`left open, ${CLOSE_MS / 1000} s after the last test: ${leftOpen()}`, ...suspects]
    console.error(lines.join('\n  behind '))
    process.exit(1)
  }
  setTimeout(giveUp, CLOSE_MS).unref()
}

/** Number of each kind of resource that keeps the process alive; Node does not tell more. */
function leftOpen(): string {
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ')
}

async function runOne(url: string): Promise<void> {
  await runFile(url)
  leave()
}

/** Files after which something else was open than before, and what. */
const suspects: string[] = []
let openBefore = ''

async function runNext(url: string): Promise<void> {
  await runFile(url)
  const open = leftOpen()
  if (open !== openBefore) suspects.push(`${url.replace(/^.*\/test\//, '')}: ${open}`)
  openBefore = open
  process.exitCode = 0
  process.stdout.write(`\n${END_OF_FILE}\n`)
}

const only = process.argv[2]
if (only !== undefined) void runOne(only)
else if (process.send !== undefined) {
  process.on('message', message => {
    if (message === NO_MORE_FILES) process.disconnect()
    else void runNext(String(message))
  })
  // Also if the process that sent the files has died.
  process.once('disconnect', leave)
}
