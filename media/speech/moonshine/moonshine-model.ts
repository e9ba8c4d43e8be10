import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import tokenizer from 'llama-tokenizer-js'
import { env, InferenceSession, Tensor } from 'onnxruntime-web'
import { MoonshineDecoder } from './moonshine-decoder.ts'

/** Speech has no more; a decoder that goes round in circles is stopped here. */
const TOKENS_PER_SECOND = 6.5
const SPARE_TOKENS = 4
export const MODEL_HZ = 16_000
/** The encoder's first layers swallow this much; shorter audio is filled up with silence [samples]. */
const MIN_SAMPLES = MODEL_HZ / 2

/** What the model made of it. */
export interface Transcription {
  /** Empty when there are no words. */
  text: string
  /** How sure it was of each of its tokens, on the average: their log probability, 0 at the most. */
  confidence: number
}

/** Moonshine tiny (English), quantised to 8 bits, on the WebAssembly runtime of ONNX: one thread, greedy decoding. */
export class MoonshineModel {
  readonly #encoder: InferenceSession
  readonly #decoder: MoonshineDecoder

  private constructor(encoder: InferenceSession, decoder: MoonshineDecoder) {
    this.#encoder = encoder
    this.#decoder = decoder
  }

  /** Takes some seconds and some 400 MB. */
  static async load(): Promise<MoonshineModel> {
    env.wasm.numThreads = 1
    env.logLevel = 'error'
    const [encoder, decoder] = await Promise.all(['encoder_model.onnx', 'decoder_model_merged.onnx'].map(openModel))
    return new MoonshineModel(encoder!, new MoonshineDecoder(decoder!))
  }

  /**
   * @param samples mono at 16 kHz, -1 to 1
   * @param draft what it may be, as of an earlier look at about the same: it takes less time then
   * @param isWanted asked now and then: when not, it stops, and what it gives means nothing
   */
  async transcribe(samples: Float32Array, draft = '', isWanted = (): boolean => true): Promise<Transcription> {
    const audio = samples.length >= MIN_SAMPLES ? samples : new Float32Array(MIN_SAMPLES)
    if (audio !== samples) audio.set(samples)
    const { last_hidden_state: states } = await this.#encoder.run({
      input_values: new Tensor('float32', audio, [1, audio.length]),
    })
    const limit = Math.ceil((audio.length / MODEL_HZ) * TOKENS_PER_SECOND) + SPARE_TOKENS
    const guess = draft === '' ? [] : tokenizer.encode(draft, false)
    const { tokens, confidence } = await this.#decoder.decode(states!, limit, guess, isWanted)
    return { text: tokenizer.decode(tokens, false).trim(), confidence }
  }
}

const openModel = async (name: string): Promise<InferenceSession> => {
  const module = fileURLToPath(import.meta.resolve('@moonshine-ai/moonshine-js'))
  const bytes = await readFile(join(module, '..', 'model', 'tiny', 'quantized', name))
  return InferenceSession.create(bytes, { executionProviders: ['wasm'] })
}
