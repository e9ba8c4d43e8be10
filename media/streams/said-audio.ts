import { PCMU } from '../../codecs/g711.ts'
import { readL16le } from '../../codecs/l16.ts'
import type { Resampler } from '../../codecs/resample.ts'
import type { StreamFormat } from '../protocol.ts'

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const NOTHING = Buffer.alloc(0)
/** Longer than the filter of the resampler is: 20 ms at 16 kHz. */
const FLUSH = new Int16Array(320)

/** The payloads of `media` messages that come to us, as samples at 8 kHz. They may be cut anywhere, also within a sample. */
export class SaidAudio {
  /** Payloads that were no audio. */
  refused = 0
  readonly #format: StreamFormat
  readonly #resampler: Resampler | null
  readonly #longest: number
  #samples = new Int16Array(0)
  /** The first octet of a sample whose second one comes with the next payload. */
  #half = NOTHING
  /** The resampler holds nothing but silence. */
  #isFlushed = true

  /** `resampler`: from 16 to 8 kHz for `l16_16000`, else null; closed with it. `longest` payload [characters]. */
  constructor(format: StreamFormat, resampler: Resampler | null, longest: number) {
    this.#format = format
    this.#resampler = resampler
    this.#longest = longest
  }

  /** Null: it is no audio. Borrowed until the next call. */
  decode(payload: string): Int16Array | null {
    if (payload.length > this.#longest || payload.length === 0 || !BASE64.test(payload)) {
      this.refused++
      return null
    }
    const bytes = this.#behindHalf(Buffer.from(payload, 'base64'))
    const count = this.#format === 'mulaw_8000' ? bytes.length : bytes.length >> 1
    if (this.#samples.length < count) this.#samples = new Int16Array(count)
    const samples = this.#samples.subarray(0, count)
    if (this.#format === 'mulaw_8000') PCMU.decode(bytes, samples)
    else readL16le(bytes, samples)
    this.#isFlushed = false
    return this.#resampler === null ? samples : this.#resampler.process(samples)
  }

  #behindHalf(bytes: Buffer): Buffer {
    if (this.#format === 'mulaw_8000') return bytes
    const all = this.#half.length === 0 ? bytes : Buffer.concat([this.#half, bytes])
    // A copy of the octet alone.
    this.#half = all.length % 2 === 0 ? NOTHING : Buffer.from([all.at(-1)!])
    return all
  }

  /** The next payload begins with a whole sample, and nothing before it is heard any more. */
  restart(): void {
    this.#half = NOTHING
    if (this.#isFlushed) return
    this.#isFlushed = true
    this.#resampler?.process(FLUSH)
  }

  close(): void {
    this.#resampler?.close()
  }
}
