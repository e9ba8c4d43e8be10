import { int16Array, int32Array } from '../../codecs/arrays.ts'
import { type Frame, NARROWBAND_HZ } from '../../codecs/audio.ts'
import { AutoGain } from '../../codecs/auto-gain.ts'
import { CutOff } from '../../codecs/detectors/cut-off.ts'
import { levelDbov, SILENCE_DBOV } from '../../codecs/level.ts'
import { Limiter } from '../../codecs/limiter.ts'
import type { CreateNoiseSuppressor, NoiseSuppressor } from '../../codecs/noise-suppressor.ts'
import { OwnVoice } from '../../codecs/own-voice.ts'
import { SpeechState } from '../../codecs/speech-state.ts'
import type { CreateVoiceDetector, VoiceDetector } from '../../codecs/voice-activity.ts'

/** Processing of a party's audio. */
export interface SoundSettings {
  /** Louder or softer by this much, in addition to everything else [dB]. */
  gainDb: number
  /** Slowly adjusts to the level of others. */
  autoGain: boolean
  /** Removes steady noise, with 10 ms of delay. */
  noiseSuppression: boolean
  /** Reports whether it speaks, and how loud. */
  speechEvents: boolean
}

export const AS_IT_CAME: SoundSettings = Object.freeze({
  gainDb: 0,
  autoGain: false,
  noiseSuppression: false,
  speechEvents: false,
})

export const isAsItCame = ({ gainDb, autoGain, noiseSuppression, speechEvents }: SoundSettings): boolean =>
  gainDb === 0 && !autoGain && !noiseSuppression && !speechEvents

export interface SoundTools {
  createVoiceDetector: CreateVoiceDetector
  createNoiseSuppressor: CreateNoiseSuppressor
}

/** Smoothing factor of the displayed level [share of a frame]: some 200 ms. */
const LEVEL_FOLLOWING = 0.1

/**
 * Processing and analysis of one party's audio before anybody in its room hears it: noise suppression, gain, voice
 * activity. A leg that uses none of it has no instance.
 */
export class Sound {
  /** It speaks, and others hear it; known while `speechEvents` are enabled. */
  isSpeaking = false
  readonly #tools: SoundTools
  readonly #changed: (isSpeaking: boolean) => void
  #settings = AS_IT_CAME
  #detector: VoiceDetector | null = null
  #suppressor: NoiseSuppressor | null = null
  /** Suppression begins or ends with the next frame, which fades between plain and suppressed audio, without a click. */
  #fade: 'none' | 'in' | 'out' = 'none'
  #autoGain: AutoGain | null = null
  readonly #own = new OwnVoice()
  readonly #speech = new SpeechState()
  readonly #cutOff = new CutOff()
  /** Of the audio that others hear; full scale is 1. */
  #power = 0
  /** At the end of the last frame, linear. */
  #gain = 1
  readonly #limiter = new Limiter()
  readonly #sum: Int32Array
  readonly #out: Frame

  /** @param changed it has begun or stopped speaking */
  constructor(samples: number, tools: SoundTools, changed: (isSpeaking: boolean) => void) {
    this.#tools = tools
    this.#changed = changed
    this.#sum = int32Array(samples)
    this.#out = int16Array(samples)
  }

  get settings(): SoundSettings {
    return this.#settings
  }

  /** How loud others hear it, over the last 200 ms [dBov]. */
  get levelDbov(): number {
    return this.#power <= 0 ? SILENCE_DBOV : Math.max(SILENCE_DBOV, 10 * Math.log10(this.#power))
  }

  /** Functions that stay enabled keep what they have learnt. */
  set(settings: SoundSettings): void {
    const { autoGain, noiseSuppression, speechEvents } = settings
    this.#settings = settings
    if (autoGain || speechEvents) this.#detector ??= this.#tools.createVoiceDetector()
    else {
      this.#detector?.close()
      this.#detector = null
    }
    this.#useSuppression(noiseSuppression)
    this.#autoGain = autoGain ? (this.#autoGain ?? new AutoGain()) : null
    if (!speechEvents) this.#fallSilent()
  }

  /**
   * One frame of the party, null: it is silent. The result is borrowed until the next call.
   * @param isUnheard nobody hears it: muted, on hold, or in a card-payment pause. It then does not count as speaking
   * @param isComfort it is comfort noise, which is no voice, however much louder than what was there before
   * @param isMissing it is silent because nothing has come: who is cut off in a voice speaks on, for as long as a stall lasts
   */
  process(frame: Frame | null, isUnheard: boolean, isComfort: boolean, isMissing: boolean): Frame | null {
    if (isMissing) this.#cutOff.miss()
    const isHeld = isMissing && !isUnheard && this.#cutOff.isCutOff
    if (this.#detector !== null && !isHeld) this.#listen(this.#detector, frame, isUnheard, isComfort)
    const said = frame === null ? this.#rest() : this.#treat(frame)
    if (this.#settings.speechEvents) {
      const power = said === null ? 0 : 10 ** (levelDbov(said) / 10)
      this.#power = isUnheard ? 0 : this.#power + (power - this.#power) * LEVEL_FOLLOWING
      const isSpeaking = this.#speech.isSpeaking && !isUnheard
      if (isSpeaking !== this.isSpeaking) this.#tell(isSpeaking)
    }
    return said
  }

  /** It is no longer needed: its settings ask for nothing, and earlier suppression has faded out. */
  get isOver(): boolean {
    return this.#suppressor === null && this.#gain === 1 && isAsItCame(this.#settings)
  }

  /** In silence nothing has to fade, but the suppressor still holds audio from before. */
  #rest(): null {
    if (this.#fade === 'out') this.#endSuppression()
    else if (this.#suppressor !== null) this.#fade = 'in'
    if (this.#autoGain === null) this.#gain = 10 ** (this.#settings.gainDb / 20)
    return null
  }

  #listen(detector: VoiceDetector, frame: Frame | null, isUnheard: boolean, isComfort: boolean): void {
    const heard = frame === null ? 'none' : detector.hear(frame, this.#speech.isSpeaking && !isComfort)
    const isSaid = frame !== null && !isUnheard
    const level = isSaid ? levelDbov(frame) : SILENCE_DBOV
    const voice = isSaid && !isComfort ? this.#own.hear(level, heard) : 'none'
    if (frame !== null && !isComfort) this.#cutOff.hear(frame, heard !== 'none')
    this.#speech.hear(voice)
    if (isSaid) this.#autoGain?.hear(level, this.#own.isFar ? 'none' : voice, this.#own.levelDbov)
  }

  /** Noise suppression first, so that noise is not amplified; then the gain, in a ramp. */
  #treat(frame: Frame): Frame {
    const wanted = 10 ** ((this.#settings.gainDb + (this.#autoGain?.gainDb ?? 0)) / 20)
    const hasGain = wanted !== 1 || this.#gain !== 1
    if (this.#suppressor === null && !hasGain) return frame
    const out = this.#out
    out.set(frame)
    if (this.#suppressor !== null) this.#suppress(this.#suppressor, frame, out)
    if (hasGain) this.#amplify(out, wanted)
    return out
  }

  #useSuppression(wanted: boolean): void {
    if (wanted && this.#suppressor === null) {
      this.#suppressor = this.#tools.createNoiseSuppressor(NARROWBAND_HZ)
      this.#fade = 'in'
    } else if (wanted) this.#fade = this.#fade === 'in' ? 'in' : 'none'
    else if (this.#fade === 'in') this.#endSuppression()
    else this.#fade = 'out'
  }

  /** Its first 10 ms are empty, because of its delay; until then the plain audio continues. */
  #suppress(suppressor: NoiseSuppressor, frame: Frame, out: Frame): void {
    suppressor.process(out)
    const fade = this.#fade
    if (fade === 'none') return
    const half = out.length / 2
    for (let i = 0; i < out.length; i++) {
      const beyond = Math.max(0, i + 1 - half) / half
      const share = fade === 'in' ? beyond : 1 - (i + 1) / out.length
      out[i] = Math.round(frame[i]! + (out[i]! - frame[i]!) * share)
    }
    if (fade === 'out') this.#endSuppression()
    this.#fade = 'none'
  }

  #endSuppression(): void {
    this.#suppressor?.close()
    this.#suppressor = null
    this.#fade = 'none'
  }

  #amplify(out: Frame, wanted: number): void {
    const sum = this.#sum
    const step = (wanted - this.#gain) / out.length
    let gain = this.#gain
    for (let i = 0; i < out.length; i++) {
      gain += step
      sum[i] = Math.round(out[i]! * gain)
    }
    this.#gain = wanted
    this.#limiter.process(sum, null, out)
  }

  #tell(isSpeaking: boolean): void {
    this.isSpeaking = isSpeaking
    this.#changed(isSpeaking)
  }

  #fallSilent(): void {
    this.#power = 0
    if (this.isSpeaking) this.#tell(false)
  }

  /** Idempotent. */
  close(): void {
    this.#fallSilent()
    this.#detector?.close()
    this.#detector = null
    this.#endSuppression()
  }
}
