/** Letters and digits alone, so that "Mm-hm." is "mm hm" is "mmhm". */
const bare = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')

/** Whether a text holds no words. */
export const isWordless = (text: string): boolean => bare(text) === ''

/** Whether a text is one of the words by which a listener only says that he listens. */
export function isBackChannel(text: string, backChannels: readonly string[]): boolean {
  const said = bare(text)
  return backChannels.some(word => bare(word) === said)
}
