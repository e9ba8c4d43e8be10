/**
 * A process of the test command that runs test files: the one of its argument, or many as their URLs come, one after the other, so
 * that what they import is loaded once; after each of these it writes `END_OF_FILE` on a line of its own.
 */

import { END_OF_FILE, NO_MORE_FILES } from './worker-messages.ts'

/** So long what files left open may take to close by itself, once the last test of the last one is judged. */
const CLOSE_MS = 15_000

async function runFile(url: string): Promise<void> {
  // uvu gathers the suites of what is imported here, and runs them when it is told to.
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

/** A socket or a timer that nobody closes would keep the process, and who waits for it, until a much later deadline. */
function leave(): void {
  const giveUp = (): never => {
    const lines = [`left open, ${CLOSE_MS / 1000} s after the last test: ${leftOpen()}`, ...suspects]
    console.error(lines.join('\n  behind '))
    process.exit(1)
  }
  setTimeout(giveUp, CLOSE_MS).unref()
}

/** What keeps the process alive, each kind with its number; Node does not tell more. */
function leftOpen(): string {
  const counts = new Map<string, number>()
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ')
}

async function runOne(url: string): Promise<void> {
  await runFile(url)
  leave()
}

/** Of files that this process has run: those behind which more was open than before, and what. */
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
  // Also when whoever gave the files is gone.
  process.once('disconnect', leave)
}
