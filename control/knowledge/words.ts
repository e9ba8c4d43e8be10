/** More words than a question has; each costs a look-up. */
const MAX_WORDS = 24

/** The words of a text, as both search engines cut it: letters and digits, in lower case. */
export const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? []

/** The distinct words of a question. */
export const questionWords = (question: string): string[] => [...new Set(wordsOf(question))].slice(0, MAX_WORDS)
