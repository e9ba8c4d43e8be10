/** What the test command and its processes know of each other. */

/** Most of what tests run ends soon, so that V8 optimises only what runs fifteen times as often as it waits for by itself. */
export const OPTIMISES_LATE = '--interrupt-budget=1000000'

/**
 * Of who gives way: where both cores have work, threads that help to collect garbage mostly wait for each other (a tenth of the CPU of
 * units). Who listens to calls has them, for its longest pauses are shorter so.
 */
export const COLLECTS_ALONE = '--single-threaded-gc'

/** On the standard output, after all that a file wrote. */
export const END_OF_FILE = '\u0004'

/** In place of a URL. The process ends when nothing of a file is left that keeps it alive. */
export const NO_MORE_FILES = ''
