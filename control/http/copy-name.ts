const COPY = ' (copy)'
const MAX_NAME = 200

/** The default name of a copy. If it gets too long, the original's name is cut at a character boundary. */
export const copyName = (name: string): string => {
  const characters = [...name]
  return characters.slice(0, MAX_NAME - COPY.length).join('') + COPY
}
