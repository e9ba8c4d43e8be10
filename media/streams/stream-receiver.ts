import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import type { Resampler } from '../../codecs/resample.ts'
import { RateLimit } from '../protocol.ts'
import { SaidAudio } from './said-audio.ts'
import { parseObject, readSaid } from './said-messages.ts'
import { markMessage, overflowMessage, type StreamIdentity } from './stream-messages.ts'
import { StreamVoice } from './stream-voice.ts'

/** A longer message of the receiver closes with 1009 [bytes]: some send a whole sentence at once. */
export const MAX_SAID_BYTES = 1024 * 1024
/** Live audio is 50 messages a second, a sentence comes at once; those beyond are ignored. */
const MESSAGES = { burst: 3000, perSecond: 300 }
/** Of them [bytes]: 60 s of `l16_16000`, which is what may wait, are 2.5 MiB; a second of it is 42 KiB. */
const BYTES = { burst: 8 * MAX_SAID_BYTES, perSecond: MAX_SAID_BYTES }
const FRAME_SAMPLES = NARROWBAND_HZ / 50

/** How the receiver is answered. */
export interface AnswerPorts {
  /** It can be answered now: there is a connection, and it reads. */
  maySay(): boolean
  /** Says something at once. */
  say(message: (sequence: number) => Buffer): void
}

interface ReceiverPorts {
  /** From 16 to 8 kHz; called for an `l16_16000` stream. */
  resampler(): Resampler
  /** Presses a key to the party; false: it takes none. */
  press(key: string): boolean
  /** Monotonic [ms]. */
  now(): number
}

/** The other direction of a bidirectional stream: plays its receiver's audio, and answers its marks. */
export class StreamReceiver {
  /** Audio that is played to the call. */
  readonly voice: StreamVoice
  readonly #streamId: string
  readonly #ports: ReceiverPorts
  readonly #audio: SaidAudio
  readonly #messages = new RateLimit(MESSAGES)
  readonly #bytes = new RateLimit(BYTES)
  readonly #answer: AnswerPorts
  /** It was told that there is no room, and there has been none since. */
  #isOverflowing = false
  #isClosed = false

  constructor(stream: StreamIdentity, ports: ReceiverPorts, answer: AnswerPorts) {
    this.#streamId = stream.streamId
    this.#ports = ports
    this.#answer = answer
    this.#audio = new SaidAudio(stream.format, stream.format === 'l16_16000' ? ports.resampler() : null, MAX_SAID_BYTES)
    this.voice = new StreamVoice(() => this.answer())
  }

  get framesReceived(): number {
    return Math.floor((this.voice.written + this.voice.refused) / FRAME_SAMPLES)
  }

  get framesRefused(): number {
    return Math.ceil(this.voice.refused / FRAME_SAMPLES)
  }

  /** One message; false: not one of ours, or there are too many. */
  hear(text: Buffer): boolean {
    if (this.#isClosed) return false
    if (!this.#isAllowed(text.length)) {
      this.#audio.restart()
      return false
    }
    const object = parseObject(text.toString('utf8'))
    const message = object === null ? null : readSaid(object, this.#streamId)
    switch (message?.event) {
      case 'media':
        return this.#media(message.payload)
      case 'mark':
        this.voice.mark(message.name)
        return true
      case 'clear':
        this.#audio.restart()
        this.voice.clear()
        return true
      case 'dtmf':
        return this.#ports.press(message.digit)
      case undefined:
        return false
    }
  }

  #isAllowed(bytes: number): boolean {
    const now = this.#ports.now()
    return this.#messages.allow(now) && this.#bytes.allow(now, bytes)
  }

  #media(payload: string): boolean {
    const samples = this.#audio.decode(payload)
    if (samples === null) return false
    if (this.voice.write(samples)) this.#isOverflowing = false
    else if (!this.#isOverflowing && this.#answer.maySay()) {
      this.#isOverflowing = true
      this.#answer.say(sequence => overflowMessage(this.#streamId, sequence, this.framesRefused))
    }
    return true
  }

  /** Another connection begins. */
  opened(): void {
    this.#audio.restart()
    this.answer()
  }

  /** Answers the marks that were reached, also while nobody was there, or read. */
  answer(): void {
    if (this.#isClosed || !this.#answer.maySay()) return
    for (const name of this.voice.takeReached()) {
      this.#answer.say(sequence => markMessage(this.#streamId, sequence, name))
    }
  }

  /** Idempotent. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.voice.clear()
    this.#audio.close()
  }
}
