import { elementsOf } from './der.ts'

/** 1.3.6.1.5.5.7.1.26 (RFC 8226 §9), as DER has it. */
const OID = Buffer.from([0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x1a])
const NOTHING = new Uint8Array()
const [SEQUENCE, OCTET_STRING] = [0x30, 0x04]
/** Tags of `TNEntry` and of the version, the fields before the extensions of a certificate. */
const [SPC, RANGE, ONE, EXTENSIONS] = [0xa0, 0xa1, 0xa2, 0xa3]

/** For which numbers a certificate may speak. */
export type TnAuthList =
  /** A provider by its code, which covers no particular numbers. */
  { kind: 'provider' } | { kind: 'numbers'; includes: (number: string) => boolean }

/** A certificate's TNAuthList; null: none. An unreadable one covers no number. */
export function tnAuthListOf(certificate: Uint8Array): TnAuthList | null {
  const list = extensionOf(certificate)
  if (list === null) return null
  const entries = elementsOf(list) ?? []
  if (entries.some(({ tag }) => tag === SPC)) return { kind: 'provider' }
  const tests = entries.flatMap(({ tag, content }) => {
    const [first, second] = elementsOf(content) ?? []
    if (tag === ONE && first !== undefined) return [(number: string) => number === digits(first.content)]
    if (tag !== RANGE) return []
    const [start, count] = [...(first?.tag === SEQUENCE ? (elementsOf(first.content) ?? []) : [first, second])]
    if (start === undefined || count === undefined) return []
    return [inRange(digits(start.content), integer(count.content))]
  })
  return { kind: 'numbers', includes: number => tests.some(test => test(number)) }
}

const digits = (content: Uint8Array): string => Buffer.from(content).toString('latin1').replace(/^\+/, '')
const integer = (content: Uint8Array): number => content.reduce((sum, byte) => sum * 256 + byte, 0)

const inRange =
  (start: string, count: number) =>
  (number: string): boolean =>
    /^[0-9]{1,15}$/.test(number) &&
    number.length === start.length &&
    Number(number) >= Number(start) &&
    Number(number) < Number(start) + count

/** The content of the extension's SEQUENCE OF TNEntry; null: the certificate has no such extension. */
function extensionOf(certificate: Uint8Array): Uint8Array | null {
  const whole = elementsOf(certificate)?.[0]
  const toBeSigned = whole === undefined ? undefined : elementsOf(whole.content)?.[0]
  const fields = toBeSigned === undefined ? null : elementsOf(toBeSigned.content)
  const wrapped = fields?.find(({ tag }) => tag === EXTENSIONS)
  const extensions = wrapped === undefined ? undefined : elementsOf(wrapped.content)?.[0]
  for (const { content } of extensions === undefined ? [] : (elementsOf(extensions.content) ?? [])) {
    if (OID.compare(content, 0, OID.length) !== 0) continue
    const value = elementsOf(content)?.findLast(({ tag }) => tag === OCTET_STRING)
    const list = value === undefined ? undefined : elementsOf(value.content)?.[0]
    return list?.tag === SEQUENCE ? list.content : NOTHING
  }
  return null
}
