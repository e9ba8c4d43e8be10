/** After this long without a packet from the latched source another one may take its place [ms]. */
const RELATCH_AFTER_MS = 3000

/**
 * Where a leg's packets are sent, and from where they are accepted: "symmetric RTP" (RFC 4961).
 *
 * Media goes to the address of the description until the first packet comes; from then on to where packets really come
 * from, as behind a NAT. One source holds the latch until it has been silent for three seconds or a new description
 * names another address; packets of anyone else are refused. The described address itself is never refused: who
 * guessed the port and spoke first loses the latch to it.
 */
export class SourceLatch {
  host = ''
  port = 0
  /** Packets refused because another source holds the latch. */
  refused = 0
  #describedHost = ''
  #describedPort = 0
  #latchedAt = Number.NEGATIVE_INFINITY

  /** A description (SDP) named this address; the same one again changes nothing. */
  describe(host: string, port: number): void {
    if (host === this.#describedHost && port === this.#describedPort) return
    this.#describedHost = this.host = host
    this.#describedPort = this.port = port
    this.#latchedAt = Number.NEGATIVE_INFINITY
  }

  /** Whether a valid packet from this source is taken; latches onto it where allowed. `now` [ms]. */
  accept(host: string, port: number, now: number): boolean {
    const isCurrent = port === this.port && host === this.host
    const isDescribed = port === this.#describedPort && host === this.#describedHost
    if (!isCurrent && !isDescribed && now - this.#latchedAt < RELATCH_AFTER_MS) {
      this.refused++
      return false
    }
    this.host = host
    this.port = port
    this.#latchedAt = now
    return true
  }
}
