/** Messages between the test command and its processes. */

/** On the standard output, after all that a file wrote. */
export const END_OF_FILE = '\u0004'

/** In place of a URL. The process ends when nothing of a file is left that keeps it alive. */
export const NO_MORE_FILES = ''
