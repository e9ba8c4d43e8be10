/** A missing packet is waited for as long as the mask of keypad tones looks ahead, so that no report of a key comes behind that [ms]. */
const WAIT_MS = 120
/** It is lost as well once so much has come that was sent later [units of 8 kHz, packets]: a stall lets everything come at once. */
const WAIT_UNITS = 8 * WAIT_MS
const MOST_PACKETS = 32

/** A packet of audio that has come before one that was sent before it. */
interface EarlyPacket {
  readonly sequence: number
  /** In units of 8 kHz, and how long it lasts. */
  readonly timestamp: number
  readonly length: number
  readonly payload: Uint8Array
  readonly at: number
}

/** Packets that have overtaken others, in the order of the sender, until those have come or count as lost. */
export class EarlyPackets {
  readonly #packets: EarlyPacket[] = []

  /** The one that was sent first; undefined: there is none. */
  get first(): EarlyPacket | undefined {
    return this.#packets[0]
  }

  /** @param payload is copied */
  add(sequence: number, timestamp: number, length: number, payload: Uint8Array, at: number): void {
    const packets = this.#packets
    let place = packets.length
    while (place > 0 && ((timestamp - packets[place - 1]!.timestamp) | 0) < 0) place--
    if (packets[place - 1]?.sequence === sequence) return
    packets.splice(place, 0, { sequence, timestamp, length, payload: payload.slice(), at })
  }

  /** What is missing before the first one counts as lost. */
  isDue(now: number): boolean {
    const packets = this.#packets
    const [first, last] = [packets[0], packets.at(-1)]
    if (first === undefined || last === undefined) return false
    if (packets.length >= MOST_PACKETS || ((last.timestamp - first.timestamp) | 0) >= WAIT_UNITS) return true
    return packets.some(({ at }) => now - at >= WAIT_MS)
  }

  /** Takes the first one out. */
  take(): EarlyPacket {
    return this.#packets.shift()!
  }
}
