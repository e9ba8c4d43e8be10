/** One side of a medium that uses ICE and DTLS (RFC 8839 §5.4, RFC 8122 §5, RFC 8842 §5). */
export interface WebRtcSide {
  ufrag: string
  pwd: string
  /** Of its certificate. */
  fingerprint: { hash: string; value: string }
  /** Which side starts DTLS. */
  setup: Setup
  /** Only for us: where checks find us, and the source of our packets. */
  own: { host: string; port: number; ssrc: number } | null
}

type Setup = 'actpass' | 'active' | 'passive' | 'holdconn'

/** Attributes that may occur at session and media level; the media level takes precedence. */
export type SideLines = Partial<Omit<WebRtcSide, 'own'>>

const SETUPS: ReadonlySet<string> = new Set(['actpass', 'active', 'passive', 'holdconn'])
/** The secure hash algorithms (RFC 8122 §5). */
const FINGERPRINT = /^(sha-(?:256|384|512)) ((?:[0-9A-F]{2}:){31,63}[0-9A-F]{2})$/i
const ICE_CHARS = /^[A-Za-z0-9+/]+$/

/** Priority by RFC 8445 §5.1.2: a host candidate, the only one. */
const HOST_PRIORITY = 2_130_706_431

/** Reads an attribute, if it is one of these. */
export function readSideLine(name: string, value: string, into: SideLines): void {
  if (name === 'ice-ufrag' && value.length >= 4 && value.length <= 256 && ICE_CHARS.test(value)) into.ufrag = value
  else if (name === 'ice-pwd' && value.length >= 22 && value.length <= 256 && ICE_CHARS.test(value)) into.pwd = value
  else if (name === 'setup' && SETUPS.has(value)) into.setup = value as Setup
  else if (name === 'fingerprint') {
    const match = FINGERPRINT.exec(value)
    if (match !== null) into.fingerprint ??= { hash: match[1]!.toLowerCase(), value: match[2]!.toUpperCase() }
  }
}

/** Null: incomplete. */
export function sideOf(own: SideLines, session: SideLines): WebRtcSide | null {
  const { ufrag, pwd, fingerprint, setup = 'actpass' } = { ...session, ...own }
  if (ufrag === undefined || pwd === undefined || fingerprint === undefined) return null
  return { ufrag, pwd, fingerprint, setup, own: null }
}

export function pushSide({ ufrag, pwd, fingerprint, setup, own }: WebRtcSide, lines: string[]): void {
  lines.push(`a=ice-ufrag:${ufrag}`, `a=ice-pwd:${pwd}`)
  lines.push(`a=fingerprint:${fingerprint.hash} ${fingerprint.value}`, `a=setup:${setup}`)
  if (own === null) return
  lines.push(`a=candidate:1 1 udp ${HOST_PRIORITY} ${own.host} ${own.port} typ host`, 'a=end-of-candidates')
  lines.push('a=msid:tandem audio', `a=ssrc:${own.ssrc} cname:tandem`)
}
