/** Packets in one page: a second of frames of 20 ms. */
const PACKETS_PER_PAGE = 50
const GRANULES_PER_MS = 48
const HEADER_BYTES = 27
const MAX_SEGMENT = 255

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let crc = n << 24
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000_0000 ? (crc << 1) ^ 0x04c1_1db7 : crc << 1
  return crc >>> 0
})

/** RFC 3533 §6: polynomial 0x04c11db7, nothing inverted. */
function crcOf(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) crc = ((crc << 8) ^ CRC_TABLE[((crc >>> 24) ^ byte) & 0xff]!) >>> 0
  return crc
}

interface OggOpusOptions {
  channels: 1 | 2
  /** Sample rate of the input; players show it and always decode at 48 kHz. */
  sampleRateHz: number
  /** The encoder's look-ahead, which a player skips [ms]. */
  lookaheadMs: number
  /** Tells this stream from others in one file [32 bits]. */
  serial: number
}

/** Opus in Ogg (RFC 7845): gives pages as they are full. Pure. */
export class OggOpusWriter {
  readonly #options: OggOpusOptions
  readonly #preSkip: number
  #sequence = 0
  #packets: Uint8Array[] = []
  /** End of the last packet, in samples at 48 kHz. */
  #granule = 0

  constructor(options: OggOpusOptions) {
    this.#options = options
    this.#preSkip = Math.round(options.lookaheadMs * GRANULES_PER_MS)
  }

  /** The two pages that come first (§5.1, §5.2). */
  header(): Uint8Array {
    const { channels, sampleRateHz } = this.#options
    const head = Buffer.alloc(19)
    head.write('OpusHead', 'latin1')
    head.writeUInt8(1, 8)
    head.writeUInt8(channels, 9)
    head.writeUInt16LE(this.#preSkip, 10)
    head.writeUInt32LE(sampleRateHz, 12)
    const vendor = 'tandem'
    const tags = Buffer.alloc(8 + 4 + vendor.length + 4)
    tags.write('OpusTags', 'latin1')
    tags.writeUInt32LE(vendor.length, 8)
    tags.write(vendor, 12, 'latin1')
    return Buffer.concat([this.#page([head], 0n, 2), this.#page([tags], 0n, 0)])
  }

  /** A packet of `ms`; a page when it is full, else null. */
  packet(bytes: Uint8Array, ms: number): Uint8Array | null {
    this.#packets.push(bytes)
    this.#granule += ms * GRANULES_PER_MS
    return this.#packets.length < PACKETS_PER_PAGE ? null : this.#flush(BigInt(this.#granule), 0)
  }

  /** The last page; `lengthMs` of audio are played, what the last packet has beyond is not (§4.4). */
  end(lengthMs: number): Uint8Array {
    return this.#flush(BigInt(Math.round(lengthMs * GRANULES_PER_MS) + this.#preSkip), 4)
  }

  #flush(granule: bigint, flags: number): Uint8Array {
    return this.#page(this.#packets.splice(0), granule, flags)
  }

  /** RFC 3533 §6. */
  #page(packets: readonly Uint8Array[], granule: bigint, flags: number): Uint8Array {
    const lacing = packets.flatMap(({ length }) => [
      ...new Array<number>(Math.floor(length / MAX_SEGMENT)).fill(MAX_SEGMENT),
      length % MAX_SEGMENT,
    ])
    const header = Buffer.alloc(HEADER_BYTES + lacing.length)
    header.write('OggS', 'latin1')
    header.writeUInt8(flags, 5)
    header.writeBigUInt64LE(granule, 6)
    header.writeUInt32LE(this.#options.serial, 14)
    header.writeUInt32LE(this.#sequence++, 18)
    header.writeUInt8(lacing.length, 26)
    header.set(lacing, HEADER_BYTES)
    const page = Buffer.concat([header, ...packets])
    page.writeUInt32LE(crcOf(page), 22)
    return page
  }
}
