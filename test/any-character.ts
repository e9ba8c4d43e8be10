import fc from 'fast-check'

const [SURROGATES, AFTER, LAST] = [0xd800, 0xe000, 0x10ffff]

/** Any character, as a unit of `fc.string`. Its own unit `binary` makes a map of all of them, which takes a second of a core. */
export const anyCharacter: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: LAST - (AFTER - SURROGATES) })
  .map(n => String.fromCodePoint(n < SURROGATES ? n : n + AFTER - SURROGATES))
