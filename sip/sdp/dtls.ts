/** One side of a medium whose keys come by DTLS (RFC 5763, RFC 8122 §5, RFC 8842 §5). */
export interface DtlsSide {
  /** Of its certificate. */
  fingerprint: { hash: string; value: string }
  /** Which side starts DTLS. */
  setup: Setup
  /** `a=tls-id`: another one asks for another association, though the certificate is the same; null: none. */
  tlsId: string | null
  /** User fragment and password (RFC 8839 §5.4); null: no ICE, so packets go to the address of the description. */
  ice: { ufrag: string; pwd: string } | null
  /** Only for us, with ICE: where checks find us, and the source of our packets. */
  own: { host: string; port: number; ssrc: number } | null
}

type Setup = 'actpass' | 'active' | 'passive' | 'holdconn'

/** Client or server of DTLS. */
export type DtlsRole = 'active' | 'passive'

/** Attributes that may occur at session and media level; the media level takes precedence. */
export interface SideLines {
  fingerprint?: DtlsSide['fingerprint']
  setup?: Setup
  tlsId?: string
  ufrag?: string
  pwd?: string
}

const SETUPS: ReadonlySet<string> = new Set(['actpass', 'active', 'passive', 'holdconn'])
/** The secure hash algorithms (RFC 8122 §5). */
const FINGERPRINT = /^(sha-(?:256|384|512)) ((?:[0-9A-F]{2}:){31,63}[0-9A-F]{2})$/i
const TLS_ID = /^[\w+/-]{20,255}$/
const ICE_CHARS = /^[A-Za-z0-9+/]+$/

/** Priority by RFC 8445 §5.1.2: a host candidate, the only one. */
const HOST_PRIORITY = 2_130_706_431

/** Reads an attribute, if it is one of these. */
export function readSideLine(name: string, value: string, into: SideLines): void {
  if (name === 'ice-ufrag' && value.length >= 4 && value.length <= 256 && ICE_CHARS.test(value)) into.ufrag = value
  else if (name === 'ice-pwd' && value.length >= 22 && value.length <= 256 && ICE_CHARS.test(value)) into.pwd = value
  else if (name === 'setup' && SETUPS.has(value)) into.setup = value as Setup
  else if (name === 'tls-id' && TLS_ID.test(value)) into.tlsId = value
  else if (name === 'fingerprint') {
    const match = FINGERPRINT.exec(value)
    if (match !== null) into.fingerprint ??= { hash: match[1]!.toLowerCase(), value: match[2]!.toUpperCase() }
  }
}

/** Null: incomplete. */
export function sideOf(own: SideLines, session: SideLines): DtlsSide | null {
  const { ufrag, pwd, fingerprint, setup = 'actpass', tlsId = null } = { ...session, ...own }
  if (fingerprint === undefined || (ufrag === undefined) !== (pwd === undefined)) return null
  const ice = ufrag === undefined || pwd === undefined ? null : { ufrag, pwd }
  return { fingerprint, setup, tlsId, ice, own: null }
}

/** Our role, given what the far end says; null: nobody would begin. `current`: as it was before, which keeps the keys. */
export function roleOf({ setup }: DtlsSide, isAnswer: boolean, current: DtlsRole | null): DtlsRole | null {
  if (setup === 'active') return 'passive'
  if (setup === 'passive') return 'active'
  return setup === 'actpass' && !isAnswer ? (current ?? 'passive') : null
}

/** A new `a=tls-id`, of 120 random bits. */
export const newTlsId = (random: (bytes: number) => Uint8Array): string => Buffer.from(random(15)).toString('base64')

export function pushSide({ fingerprint, setup, tlsId, ice, own }: DtlsSide, lines: string[]): void {
  if (ice !== null) lines.push(`a=ice-ufrag:${ice.ufrag}`, `a=ice-pwd:${ice.pwd}`)
  lines.push(`a=fingerprint:${fingerprint.hash} ${fingerprint.value}`, `a=setup:${setup}`)
  if (tlsId !== null) lines.push(`a=tls-id:${tlsId}`)
  if (own === null) return
  lines.push(`a=candidate:1 1 udp ${HOST_PRIORITY} ${own.host} ${own.port} typ host`, 'a=end-of-candidates')
  lines.push('a=msid:tandem audio', `a=ssrc:${own.ssrc} cname:tandem`)
}
