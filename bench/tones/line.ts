import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { clamp16, NARROWBAND_HZ, WIDEBAND_HZ } from '../../codecs/audio.ts'
import { AutoGain } from '../../codecs/auto-gain.ts'
import { type G711, PCMA, PCMU } from '../../codecs/g711.ts'
import { levelDbov } from '../../codecs/level.ts'
import { loadNoiseSuppressor } from '../../codecs/noise-suppressor.ts'
import { OwnVoice } from '../../codecs/own-voice.ts'
import { G722Packets } from '../../codecs/packets/g722-packets.ts'
import { OpusCodec } from '../../codecs/packets/opus.ts'
import type { PacketCodec } from '../../codecs/packets/packet-codec.ts'
import { PLAYED_FRAMES, PlayedFrames, Plc } from '../../codecs/plc.ts'
import { resampleAll } from '../../codecs/resample.ts'
import type { Random } from './synth.ts'

const FRAME = 160
/** Shares of packets that are lost. */
const LOSSES = [0, 0, 0.02, 0.05]
/** Levels at which sound enters a line [dB], and noise on it [dBov]. */
const GAINS_DB = [0, 0, -6, -12, -20]
const NOISES_DBOV = [-90, -90, -60, -50, -40]
const WAYS = ['PCMU', 'PCMA', 'both', 'G722', 'opus'] as const

const createSuppressor = await loadNoiseSuppressor(
  readFileSync(fileURLToPath(import.meta.resolve('@sapphi-red/speex-preprocess-wasm/speex.wasm'))),
)

/** Telephone lines as bad as they come: codecs one after the other, losses that are concealed, noise and its suppression, automatic gain. */
export class Lines {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  /** What arrives of the samples on one of the lines. */
  async carry(samples: Int16Array): Promise<Int16Array> {
    const way = this.#pick(WAYS)
    const loss = this.#pick(LOSSES)
    let heard = this.#mixed(samples, this.#pick(GAINS_DB), this.#pick(NOISES_DBOV))
    if (this.#random() < 0.25) suppress(heard)
    if (this.#random() < 0.25) level(heard)
    if (way === 'G722') heard = await this.#wideband(heard, new G722Packets(), loss)
    else if (way === 'opus') heard = await this.#wideband(heard, await OpusCodec.open(), loss)
    else this.#narrowband(heard, way === 'PCMA' ? PCMA : PCMU, loss)
    if (way === 'both') this.#narrowband(heard, PCMA, 0)
    return heard
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!
  }

  #mixed(samples: Int16Array, gainDb: number, noiseDbov: number): Int16Array {
    const gain = 10 ** (gainDb / 20)
    // Evenly distributed in ±a it has the power a²/3.
    const noise = 32_768 * 10 ** (noiseDbov / 20) * Math.sqrt(3)
    return samples.map(sample => clamp16(Math.round(gain * sample + noise * (2 * this.#random() - 1))))
  }

  #narrowband(samples: Int16Array, law: G711, loss: number): void {
    const codes = new Uint8Array(FRAME)
    this.#concealed(samples, FRAME, loss, frame => {
      law.encode(frame, codes)
      law.decode(codes, frame)
      return frame
    })
  }

  async #wideband(samples: Int16Array, codec: PacketCodec, loss: number): Promise<Int16Array> {
    const wide = await resampleAll(samples, NARROWBAND_HZ, WIDEBAND_HZ)
    const packet = new Uint8Array(codec.maxPacketBytes)
    this.#concealed(wide, 2 * FRAME, loss, (frame, isLost) => {
      const length = codec.encode(frame, packet)
      if (isLost && codec.conceal(frame) === 0) return null
      if (!isLost) codec.decode(packet.subarray(0, length), frame)
      return frame
    })
    codec.close()
    return resampleAll(wide, WIDEBAND_HZ, NARROWBAND_HZ)
  }

  /** Takes each frame over a codec, in place. A lost one of which the codec makes nothing is concealed. */
  #concealed(
    samples: Int16Array,
    size: number,
    loss: number,
    over: (frame: Int16Array, isLost: boolean) => Int16Array | null,
  ): void {
    const played = new PlayedFrames(size)
    const plc = new Plc(size)
    for (let at = 0; at + size <= samples.length; at += size) {
      const frame = samples.subarray(at, at + size)
      const isLost = this.#random() < loss
      played.at = (played.at + 1) % PLAYED_FRAMES
      const came = over(frame, isLost)
      const place = played.frames[played.at]!
      if (came === null || (isLost && size === FRAME)) plc.conceal(played)
      else {
        place.set(came)
        plc.good(place)
      }
      frame.set(place)
    }
  }
}

function suppress(samples: Int16Array): void {
  const suppressor = createSuppressor(NARROWBAND_HZ)
  for (let at = 0; at + FRAME <= samples.length; at += FRAME) suppressor.process(samples.subarray(at, at + FRAME))
  suppressor.close()
}

function level(samples: Int16Array): void {
  const gain = new AutoGain()
  const own = new OwnVoice()
  for (let at = 0; at + FRAME <= samples.length; at += FRAME) {
    const frame = samples.subarray(at, at + FRAME)
    const before = 10 ** (gain.gainDb / 20)
    const dbov = levelDbov(frame)
    gain.hear(dbov, own.hear(dbov, dbov > -45 ? 'voice' : 'none'), own.levelDbov)
    const after = 10 ** (gain.gainDb / 20)
    for (let i = 0; i < FRAME; i++) {
      frame[i] = clamp16(Math.round(frame[i]! * (before + ((after - before) * i) / FRAME)))
    }
  }
}
