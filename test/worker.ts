/**
 * A process of the test command that runs test files as their URLs come, one after the other: what they import is loaded once.
 * After each it writes `END_OF_FILE` on a line of its own.
 */

/** On the standard output, after all that a file wrote. */
export const END_OF_FILE = '\u0004'

/** In place of a URL. The process ends when nothing of a file is left that keeps it alive. */
export const NO_MORE_FILES = ''

async function runFile(url: string): Promise<void> {
  // uvu gathers the suites of what is imported here, and runs them when it is told to.
  Object.assign(globalThis, { UVU_DEFER: 1, UVU_INDEX: 0, UVU_QUEUE: [[null]] })
  try {
    await import(url)
    const { exec } = await import('uvu')
    await exec()
  } catch (error) {
    console.error(error)
  }
  process.exitCode = 0
  process.stdout.write(`\n${END_OF_FILE}\n`)
}

/** Whoever gave the files may be gone, and nobody there to kill what a file keeps alive. */
const ORPHAN_MS = 90_000

if (process.send !== undefined) {
  process.on('message', message => {
    if (message === NO_MORE_FILES) process.disconnect()
    else void runFile(String(message))
  })
  process.once('disconnect', () => setTimeout(() => process.exit(1), ORPHAN_MS).unref())
}
