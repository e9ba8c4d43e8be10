/** Messages between the test command and its processes, and flags of V8 for them. */

/** Most test code runs only briefly, so V8 optimises only code that runs fifteen times as often as by default. */
export const OPTIMISES_LATE = '--interrupt-budget=1000000'

/**
 * For processes that give way: while both cores are busy, V8's helper threads for garbage collection mostly wait for each other, which
 * costs a tenth of the unit tests' CPU. Processes that judge audio keep them, since they shorten the longest pauses.
 */
export const COLLECTS_ALONE = '--single-threaded-gc'

/** Written to standard output after everything that a file wrote. */
export const END_OF_FILE = '\u0004'

/** Sent in place of a URL. The process then ends once no file's resources keep it alive. */
export const NO_MORE_FILES = ''
