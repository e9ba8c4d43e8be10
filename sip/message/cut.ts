/**
 * The text, cut to at most `max` characters of UTF-16, and never within one that takes two of them: half of it is no text, and a reader of
 * strict JSON refuses all that it stands in.
 */
export const cutTo = (text: string, max: number): string => text.slice(0, max).replace(/[\ud800-\udbff]$/, '')
