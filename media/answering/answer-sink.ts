import { FRAME_MS, type Frame } from '../../codecs/audio.ts'
import { type Answer, AnswerDetector } from '../../codecs/detectors/answer-detector.ts'
import { CutOff, MOST_STALL_MS } from '../../codecs/detectors/cut-off.ts'
import { MessageEnd } from '../../codecs/detectors/message-end.ts'
import { NearVoice } from '../../codecs/detectors/near-voice.ts'
import type { VoiceDetector } from '../../codecs/voice-activity.ts'
import type { AnsweringSpec, Events } from '../protocol.ts'
import type { Sink, Track } from '../rooms/sink.ts'

interface AnswerHooks {
  answered(answer: Answer): void
  ended(by: Events['leg.message_ended']['ended'], ms: number): void
}

/** Hears what a leg says after its answer until it is known who that is, and of a machine until it can be spoken to. Then it costs nothing. */
export class AnswerSink implements Sink {
  readonly onPause = 'nothing'
  readonly hearsPlain = true
  readonly #spec: AnsweringSpec
  readonly #voices: VoiceDetector
  readonly #hooks: AnswerHooks
  readonly #near: NearVoice
  readonly #cutOff = new CutOff()
  #detector: AnswerDetector | null
  #end: MessageEnd | null = null
  #frames = 0

  constructor(spec: AnsweringSpec, voices: VoiceDetector, hooks: AnswerHooks) {
    this.#spec = spec
    this.#voices = voices
    this.#hooks = hooks
    this.#near = new NearVoice(voices)
    this.#detector = new AnswerDetector(spec, this.#near)
  }

  get isDone(): boolean {
    return this.#detector === null && this.#end === null
  }

  write(track: Track, frame: Frame, isComfort = false, isMissing = false): void {
    if (track !== 'inbound' || this.isDone) return
    this.#frames++
    if (isMissing) this.#cutOff.miss()
    const isLeftOut = isMissing && this.#isStall
    if (this.#detector !== null) {
      this.#answer(isLeftOut ? this.#detector.leaveOut() : this.#detector.write(frame, isComfort))
    } else if (this.#end !== null) this.#ended(isLeftOut ? this.#end.leaveOut() : this.#end.write(frame, isComfort))
    if (!isMissing && !isComfort) this.#cutOff.hear(frame, this.#near.isVoice)
  }

  /** What does not come is no silence, in which a greeting would end, unless that lasts and came after some: some phones send nothing in silence. */
  get #isStall(): boolean {
    return this.#cutOff.isInVoice || this.#cutOff.missingMs <= MOST_STALL_MS
  }

  #answer(answer: Answer | null): void {
    if (answer === null) return
    this.#detector = null
    const { messageEnd, messageEndOfUnknown } = this.#spec
    const { answeredBy, cause } = answer
    const isAwaited = answeredBy === 'machine' ? messageEnd : answeredBy === 'unknown' && messageEndOfUnknown === true
    const isOver = isAwaited && cause === 'beep'
    if (isAwaited && !isOver) this.#end = new MessageEnd(this.#spec, this.#near)
    else this.close()
    this.#hooks.answered(answer)
    if (isOver) this.#ended('beep')
  }

  #ended(by: Events['leg.message_ended']['ended'] | null): void {
    if (by === null) return
    this.close()
    this.#hooks.ended(by, this.#frames * FRAME_MS)
  }

  /** Idempotent. */
  close(): void {
    this.#detector = null
    this.#end = null
    this.#voices.close()
  }
}
