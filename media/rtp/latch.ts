/** After this long without a packet from the latched source, another one may replace it [ms]. */
const RELATCH_AFTER_MS = 3000
/** Packets in sequence that the new source has to send first. */
const SEVERAL = 4
/** How long packets may still arrive that a party sent before it named another address [ms]. */
const UNDER_WAY_MS = 500
/** Two streams overlap if neither has paused for longer than this [ms]. */
const OVERLAP_MS = 60
const UNSPECIFIED = ['0.0.0.0', '::']

/** What signalling tells about the source of a leg's packets. */
export interface Described {
  host: string
  port: number
  /** The source of its signalling; behind a NAT its audio comes from there too. */
  signallingHost: string | null
  /** False: the address policy forbids sending there (a private address named by an outside party). */
  isReachable: boolean
}

/**
 * Where a leg's packets are sent, and from where they are accepted: "symmetric RTP" (RFC 4961).
 *
 * Media goes to the described address until the first packet arrives, and from then on to the real source of the packets, as
 * needed behind a NAT. The first packet must come from the described or the signalling host, so others who find the port are ignored. One
 * source holds the latch until it has been silent for three seconds or a new description names another address. Then another port of
 * those hosts may replace it, or another host that continues the same SSRC (a NAT has moved it); either needs several
 * packets in sequence. Packets of anyone else are refused; those of the described address never are.
 *
 * Another SSRC from there is the next stream of the party. Where the one before it goes on beside it for a while, what is left of that is refused:
 * to go back and forth would make both inaudible.
 *
 * After a new address was named, packets of the source before it are still under way: they are accepted, and latch nothing.
 */
export class SourceLatch {
  host = ''
  /** 0: nothing may be sent yet. */
  port = 0
  /** The host that holds the latch, with `port`; '': none. */
  source = ''
  /** When its last packet arrived [ms]. */
  heardAt = 0
  /** Packets refused because they are from strangers, or another source holds the latch. */
  refused = 0
  #described: Described = { host: '', port: 0, signallingHost: null, isReachable: true }
  /** Held the latch before the address that is described now, and has been heard last at `heardAt`. */
  readonly #former = { host: '', port: 0 }
  #ssrc = -1
  /** The previous stream, and when its last packet arrived [ms]. */
  readonly #earlier = { ssrc: -1, heardAt: Number.NEGATIVE_INFINITY }
  readonly #candidate = { host: '', port: 0, ssrc: -1, sequence: -1, inSequence: 0 }

  /** A description (SDP) named this address; repeating it changes nothing. */
  describe(described: Described): void {
    const before = this.#described
    // Hold as of old names no other address (RFC 2543): whoever resumes is where it was.
    if (before.port !== 0 && UNSPECIFIED.includes(described.host)) return
    this.#described = described
    if (described.host === before.host && described.port === before.port) return
    this.#former.host = this.source
    this.#former.port = this.port
    this.host = described.isReachable ? described.host : ''
    this.port = described.isReachable ? described.port : 0
    this.source = ''
  }

  /** Its source said goodbye: another one need not wait for the silence. */
  leave(): void {
    this.heardAt = Number.NEGATIVE_INFINITY
  }

  /** The address was determined otherwise (ICE); an empty host: it is unreachable. */
  hold(host: string, port: number): void {
    this.host = host
    this.port = host === '' ? 0 : port
    this.source = host
  }

  /** The party has proven to be there, before its first packet. */
  aim(host: string, port: number): void {
    if (this.source !== '') return
    this.host = host
    this.port = port
  }

  /** Nothing is sent to the described address until a packet comes, or this is called off: who named it may be somebody else. */
  withhold(isWithheld: boolean): void {
    if (this.source !== '') return
    const { host, port, isReachable } = this.#described
    const isOpen = isReachable && !isWithheld
    this.host = isOpen ? host : ''
    this.port = isOpen ? port : 0
  }

  /** Whether a host belongs to the party, as signalling and its audio have shown so far. */
  isParty(host: string): boolean {
    return (host !== '' && host === this.source) || this.#isNamed(host)
  }

  /** Whether a valid packet from this source is accepted; latches onto it if allowed. `now` [ms]. */
  accept(host: string, port: number, ssrc: number, sequence: number, now: number): boolean {
    if (this.#isUnderWay(host, port, now)) return true
    const isCurrent = port === this.port && host === this.source
    if (isCurrent ? this.#isRest(ssrc, now) : !this.#mayTake(host, port, ssrc, sequence, now)) {
      this.refused++
      return false
    }
    this.host = host
    this.port = port
    if (ssrc !== this.#ssrc) {
      this.#earlier.ssrc = this.#ssrc
      this.#earlier.heardAt = this.heardAt
    }
    this.#ssrc = ssrc
    this.source = host
    this.heardAt = now
    return true
  }

  /** Of the stream before this one, which has not paused since, nor has this one. */
  #isRest(ssrc: number, now: number): boolean {
    const earlier = this.#earlier
    if (ssrc !== earlier.ssrc || now - Math.min(earlier.heardAt, this.heardAt) >= OVERLAP_MS) return false
    earlier.heardAt = now
    return true
  }

  /** If nothing can be sent to the new address, the previous source is the only one that is known. */
  #isUnderWay(host: string, port: number, now: number): boolean {
    if (this.source !== '' || this.port === 0 || now - this.heardAt >= UNDER_WAY_MS) return false
    const { host: describedHost, port: describedPort } = this.#described
    const isDescribed = port === describedPort && isSame(host, describedHost)
    return !isDescribed && host === this.#former.host && port === this.#former.port
  }

  #mayTake(host: string, port: number, ssrc: number, sequence: number, now: number): boolean {
    const isNamed = this.#isNamed(host)
    const { isReachable, host: describedHost, port: describedPort } = this.#described
    if (isReachable && port === describedPort && isSame(host, describedHost)) return true
    if (this.source === '') return isNamed
    if (now - this.heardAt < RELATCH_AFTER_MS) return false
    if (!isNamed && host !== this.host && ssrc !== this.#ssrc) return false
    return this.#isSteady(host, port, ssrc, sequence)
  }

  /** Whether the candidate for the latch has sent several packets in sequence. */
  #isSteady(host: string, port: number, ssrc: number, sequence: number): boolean {
    const candidate = this.#candidate
    const goesOn =
      host === candidate.host &&
      port === candidate.port &&
      ssrc === candidate.ssrc &&
      sequence === ((candidate.sequence + 1) & 0xffff)
    candidate.inSequence = goesOn ? candidate.inSequence + 1 : 1
    candidate.host = host
    candidate.port = port
    candidate.ssrc = ssrc
    candidate.sequence = sequence
    return candidate.inSequence >= SEVERAL
  }

  #isNamed(host: string): boolean {
    const { host: describedHost, signallingHost, isReachable } = this.#described
    return (isReachable && isSame(host, describedHost)) || (signallingHost !== null && isSame(host, signallingHost))
  }
}

const MAPPED = '::ffff:'

/** IPv4 addresses come as IPv6 ones where a socket takes both. */
const isSame = (a: string, b: string): boolean =>
  a === b || (a.length === b.length + MAPPED.length ? isMapped(a, b) : isMapped(b, a))

const isMapped = (long: string, short: string): boolean =>
  long.length === short.length + MAPPED.length && long.startsWith(MAPPED) && long.endsWith(short)
