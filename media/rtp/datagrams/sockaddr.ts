import { AF_INET, AF_INET6 } from './libc.ts'

export type Family = typeof AF_INET | typeof AF_INET6

/** `struct sockaddr_in`, `sockaddr_in6` [bytes]. */
export const SOCKADDR_BYTES = { [AF_INET]: 16, [AF_INET6]: 28 } as const
/** Offset of the address [bytes]. */
export const ADDRESS_AT = { [AF_INET]: 4, [AF_INET6]: 8 } as const
/** The larger of both. */
export const SOCKADDR_WORDS = 7
/** Offset of the IPv6 scope, the number of a link [words]. */
export const SCOPE_WORD = 6

/** Its first word: the family in native byte order, the port most significant byte first. */
export const familyAndPort = (family: Family, port: number): number =>
  family | ((port & 0xff) << 24) | ((port >>> 8) << 16)

export const portOf = (familyAndPort: number): number => (familyAndPort >>> 24) | ((familyAndPort >>> 8) & 0xff00)
