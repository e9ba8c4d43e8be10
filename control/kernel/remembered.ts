/** The same function, remembering at most `most` results of late. To note each use, as an LRU cache does, costs more than most of them. */
export function remembered<T extends {}>(most: number, make: (text: string) => T): (text: string) => T {
  let [recent, before] = [new Map<string, T>(), new Map<string, T>()]
  return text => {
    const known = recent.get(text)
    if (known !== undefined) return known
    const result = before.get(text) ?? make(text)
    // What was not asked for while half as many others came is forgotten.
    if (recent.size >= most / 2) [recent, before] = [new Map(), recent]
    recent.set(text, result)
    return result
  }
}
