import load, { type FvadModule } from '@echogarden/fvad-wasm'
import { type Frame, NARROWBAND_HZ, samplesPerFrame } from './audio.ts'
import { levelDbov } from './level.ts'
import { NoiseFloor } from './noise-floor.ts'

const FRAME_SAMPLES = samplesPerFrame(NARROWBAND_HZ)

/** Mode of WebRTC's detector, 0 to 3: how sure it must be. 2 detects words, but not breath and room noise. */
const MODE = 2

/** Quieter sound is no voice, whatever its spectrum. Even the soft sounds of a soft voice are louder [dBov]. */
const FLOOR_DBOV = -58

/**
 * A voice exceeds the noise by more than the noise itself varies, by this much; the model alone takes loud steady noise for a voice. A
 * hum hardly varies, so even a voice no louder than it is heard; people in the same room vary [dB].
 */
const ABOVE_SWAY_DB = 1.2
const ABOVE_NOISE_DB = { least: 2, most: 6 }
/** A sound that exceeds the noise by this much may be voice [dB]. */
const PERHAPS_ABOVE_SWAY_DB = 0.6
const PERHAPS_ABOVE_NOISE_DB = { least: 1.2, most: 4 }

/** `perhaps`: too soft to begin by, and no silence either. */
export type Voice = 'none' | 'perhaps' | 'voice'

/** Tells frames with a voice from those without. One per stream: it follows the stream's noise. */
export interface VoiceDetector {
  /**
   * @param frame 160 samples at 8 kHz
   * @param isSpeech somebody is speaking to us already, so that nothing of it is noise
   */
  hear(frame: Frame, isSpeech: boolean): Voice
  /** Recent "speech" was noise. */
  learnNoise(): void
  /** Another stream begins. */
  reset(): void
  /** Frees it; idempotent. Afterwards nothing is a voice. */
  close(): void
}

export type CreateVoiceDetector = () => VoiceDetector

let loading: Promise<CreateVoiceDetector> | undefined

/** Loads the WebAssembly module once per thread; what it resolves to makes detectors synchronously. */
export function loadVoiceDetector(): Promise<CreateVoiceDetector> {
  loading ??= load().then(fvad => () => new FvadDetector(fvad))
  return loading
}

const within = ({ least, most }: { least: number; most: number }, value: number): number =>
  Math.min(most, Math.max(least, value))

/** One detector's state inside the shared WebAssembly memory. */
class FvadDetector implements VoiceDetector {
  readonly #fvad: FvadModule
  readonly #frame: number
  readonly #noise = new NoiseFloor()
  #state: number

  constructor(fvad: FvadModule) {
    this.#fvad = fvad
    this.#frame = fvad._malloc(FRAME_SAMPLES * Int16Array.BYTES_PER_ELEMENT)
    this.#state = fvad._fvad_new()
    this.#setUp()
  }

  hear(frame: Frame, isSpeech: boolean): Voice {
    if (this.#state === 0) return 'none'
    this.#fvad.HEAP16.set(frame, this.#frame >> 1)
    const verdict = this.#fvad._fvad_process(this.#state, this.#frame, FRAME_SAMPLES)
    this.#noise.write(frame, isSpeech)
    const { aboveDb, swayDb } = this.#noise
    const perhapsDb = within(PERHAPS_ABOVE_NOISE_DB, swayDb + PERHAPS_ABOVE_SWAY_DB)
    if (verdict !== 1 || aboveDb <= perhapsDb || levelDbov(frame) <= FLOOR_DBOV) return 'none'
    return aboveDb > within(ABOVE_NOISE_DB, swayDb + ABOVE_SWAY_DB) ? 'voice' : 'perhaps'
  }

  learnNoise(): void {
    this.#noise.learn()
  }

  reset(): void {
    if (this.#state === 0) return
    this.#fvad._fvad_reset(this.#state)
    this.#noise.reset()
    this.#setUp()
  }

  close(): void {
    if (this.#state === 0) return
    this.#fvad._fvad_free(this.#state)
    this.#fvad._free(this.#frame)
    this.#state = 0
  }

  /** A reset puts mode and rate back to their defaults. */
  #setUp(): void {
    this.#fvad._fvad_set_sample_rate(this.#state, NARROWBAND_HZ)
    this.#fvad._fvad_set_mode(this.#state, MODE)
  }
}
