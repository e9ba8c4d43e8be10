/** Messages between the test command and its processes, and flags of V8 for them. */

/** V8 of Node 22 and later counts calls of a function, that of Node 20 bytes of its code. */
const countsCalls = Number.parseInt(process.versions.v8, 10) >= 12

/** Most test code runs only briefly, so V8 optimises only code that runs fifteen times as often as by default. */
export const OPTIMISES_LATE = countsCalls ? '--invocation-count-for-turbofan=45000' : '--interrupt-budget=1000000'

/**
 * For processes that give way: while both cores are busy, V8's helper threads for garbage collection mostly wait for each other, which
 * costs a tenth of the unit tests' CPU. Processes that judge audio keep them, since they shorten the longest pauses.
 */
export const COLLECTS_ALONE = '--single-threaded-gc'

/** Written to standard output after everything that a file wrote. */
export const END_OF_FILE = '\u0004'

/** Sent in place of a URL. The process then ends once no file's resources keep it alive. */
export const NO_MORE_FILES = ''
