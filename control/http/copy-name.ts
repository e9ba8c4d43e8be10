const COPY = ' (copy)'
const MAX_NAME = 200

/** The name of a copy whose name nobody chose; the original's is cut, between characters, where both would not fit. */
export const copyName = (name: string): string => {
  const characters = [...name]
  return characters.slice(0, MAX_NAME - COPY.length).join('') + COPY
}
