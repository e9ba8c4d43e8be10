import load, { type FvadModule } from '@echogarden/fvad-wasm'
import { type Frame, NARROWBAND_HZ, samplesPerFrame } from './audio.ts'
import { levelDbov } from './level.ts'

const FRAME_SAMPLES = samplesPerFrame(NARROWBAND_HZ)

/** Of WebRTC's detector, 0 to 3: how sure it must be. 2 takes words without taking breath and room noise. */
const MODE = 2

/** What is quieter is no voice, whatever its spectrum: line noise, and the echo of our own audio behind an echo canceller [dBov]. */
const FLOOR_DBOV = -50

/** Tells frames with a voice from those without. One per stream: it follows the stream's noise. */
export interface VoiceDetector {
  /** @param frame 160 samples at 8 kHz */
  isVoice(frame: Frame): boolean
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

/** One detector's state inside the shared WebAssembly memory. */
class FvadDetector implements VoiceDetector {
  readonly #fvad: FvadModule
  readonly #frame: number
  #state: number

  constructor(fvad: FvadModule) {
    this.#fvad = fvad
    this.#frame = fvad._malloc(FRAME_SAMPLES * Int16Array.BYTES_PER_ELEMENT)
    this.#state = fvad._fvad_new()
    this.#setUp()
  }

  isVoice(frame: Frame): boolean {
    if (this.#state === 0) return false
    this.#fvad.HEAP16.set(frame, this.#frame >> 1)
    const verdict = this.#fvad._fvad_process(this.#state, this.#frame, FRAME_SAMPLES)
    return verdict === 1 && levelDbov(frame) > FLOOR_DBOV
  }

  reset(): void {
    if (this.#state === 0) return
    this.#fvad._fvad_reset(this.#state)
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
