import { isLaw } from '../../codecs/g711.ts'
import type { OpusCodec } from '../../codecs/packets/opus.ts'
import type { RtpSender } from '../rtp/rtp.ts'
import { LawAudio, type StreamListener } from './law-audio.ts'
import type { LegMedia } from './leg-media.ts'
import { PACKET_CODECS, PacketAudio } from './packet-audio.ts'
import type { WireAudio } from './wire-audio.ts'

/** Makes what codes a leg's audio. */
export class LegCodecs {
  readonly #sender: RtpSender
  readonly #ear: StreamListener
  #opus: OpusCodec | null = null

  /** @param ear hears what comes in */
  constructor(sender: RtpSender, ear: StreamListener) {
    this.#sender = sender
    this.#ear = ear
  }

  /** Makes Opus available to `next`. */
  useOpus(codec: OpusCodec): void {
    this.#opus = codec
  }

  get hasOpus(): boolean {
    return this.#opus !== null
  }

  /** A codec other than the last one was agreed on. @returns what codes it; null: nothing here does */
  next({ codec }: LegMedia): WireAudio | null {
    if (isLaw(codec)) return new LawAudio(this.#sender, codec, this.#ear)
    const coder = codec === 'opus' ? this.#opus : PACKET_CODECS[codec]()
    return coder === null ? null : new PacketAudio(this.#sender, codec, coder, this.#ear)
  }

  close(): void {
    this.#opus?.close()
  }
}
