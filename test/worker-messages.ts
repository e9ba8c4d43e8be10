/** What the test command and its processes know of each other. */

/** Most of what tests run ends soon, so that V8 optimises only what runs fifteen times as often as it waits for by itself. */
export const OPTIMISES_LATE = '--interrupt-budget=1000000'

/** On the standard output, after all that a file wrote. */
export const END_OF_FILE = '\u0004'

/** In place of a URL. The process ends when nothing of a file is left that keeps it alive. */
export const NO_MORE_FILES = ''
