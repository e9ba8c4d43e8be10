/** What a caller has keyed in so far. */
export interface Entry {
  entry: string
  /** The keys after it: they answer the next question. */
  rest: string
  /** No further key could make it another one. */
  isWhole: boolean
}

/**
 * Takes the next entry from `keys`, for a question with these `options`: as much as distinguishes one option from the others
 * or, if keys are collected freely, everything up to `#`.
 */
export function takeEntry(keys: string, options: readonly string[]): Entry {
  if (options.length === 0) {
    const hash = keys.indexOf('#')
    return hash < 1 ? cut(keys, keys.length, false) : { ...cut(keys, hash, true), rest: keys.slice(hash + 1) }
  }
  let longest = 0
  for (let length = 1; length <= keys.length; length++) {
    const entry = keys.slice(0, length)
    if (options.includes(entry)) longest = length
    if (options.some(option => option.length > length && option.startsWith(entry))) continue
    return cut(keys, longest === 0 ? length : longest, true)
  }
  return cut(keys, longest === 0 ? keys.length : longest, false)
}

const cut = (keys: string, length: number, isWhole: boolean): Entry => ({
  entry: keys.slice(0, length),
  rest: keys.slice(length),
  isWhole,
})
