import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import tokenizer from 'llama-tokenizer-js'
import { env, InferenceSession, Tensor } from 'onnxruntime-web'

/** Shape of the tiny model: layers of the decoder, heads, and their width. */
const LAYERS = 6
const HEADS = 8
const HEAD_WIDTH = 36
const START_TOKEN = 1
const END_TOKEN = 2
/** Speech has no more; a decoder that goes round in circles is stopped here. */
const TOKENS_PER_SECOND = 6.5
const SPARE_TOKENS = 4
/**
 * The model takes many a short word for silence by a hair. Noise and tones it calls silence by more than this, words by less, as
 * measured on both; what comes here was held for a voice already.
 */
const SILENCE_MARGIN = 3
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
  readonly #decoder: InferenceSession

  private constructor(encoder: InferenceSession, decoder: InferenceSession) {
    this.#encoder = encoder
    this.#decoder = decoder
  }

  /** Takes some seconds and some 400 MB. */
  static async load(): Promise<MoonshineModel> {
    env.wasm.numThreads = 1
    env.logLevel = 'error'
    const [encoder, decoder] = await Promise.all(['encoder_model.onnx', 'decoder_model_merged.onnx'].map(openModel))
    return new MoonshineModel(encoder!, decoder!)
  }

  /** @param samples mono at 16 kHz, -1 to 1 */
  async transcribe(samples: Float32Array): Promise<Transcription> {
    const audio = samples.length >= MIN_SAMPLES ? samples : new Float32Array(MIN_SAMPLES)
    if (audio !== samples) audio.set(samples)
    const { last_hidden_state: states } = await this.#encoder.run({
      input_values: new Tensor('float32', audio, [1, audio.length]),
    })
    const limit = Math.ceil((audio.length / MODEL_HZ) * TOKENS_PER_SECOND) + SPARE_TOKENS
    const { tokens, confidence } = await this.#decode(states!, limit)
    return { text: tokenizer.decode([START_TOKEN, ...tokens]).trim(), confidence }
  }

  async #decode(states: Tensor, limit: number): Promise<{ tokens: number[]; confidence: number }> {
    const tokens: number[] = []
    let [sum, steps] = [0, 0]
    const past = emptyPast()
    for (let last = START_TOKEN; tokens.length < limit; tokens.push(last)) {
      const isFirst = tokens.length === 0
      const step = await this.#decoder.run({
        input_ids: new Tensor('int64', BigInt64Array.of(BigInt(last)), [1, 1]),
        encoder_hidden_states: states,
        use_cache_branch: new Tensor('bool', [!isFirst]),
        ...past,
      })
      const logits = step.logits!.data as Float32Array
      last = indexOfLargest(logits, isFirst ? SILENCE_MARGIN : 0)
      sum += logProbability(logits, last)
      steps++
      if (last === END_TOKEN) break
      for (const name of Object.keys(past)) {
        // The encoder's half is computed once, with the first token.
        if (isFirst || name.includes('.decoder.')) past[name] = step[name.replace('past_key_values', 'present')]!
      }
    }
    return { tokens, confidence: sum / steps }
  }
}

const openModel = async (name: string): Promise<InferenceSession> => {
  const module = fileURLToPath(import.meta.resolve('@moonshine-ai/moonshine-js'))
  const bytes = await readFile(join(module, '..', 'model', 'tiny', 'quantized', name))
  return InferenceSession.create(bytes, { executionProviders: ['wasm'] })
}

function emptyPast(): Record<string, Tensor> {
  const past: Record<string, Tensor> = {}
  for (let layer = 0; layer < LAYERS; layer++) {
    for (const half of ['decoder', 'encoder']) {
      for (const part of ['key', 'value']) {
        const empty = new Tensor('float32', new Float32Array(0), [0, HEADS, 1, HEAD_WIDTH])
        past[`past_key_values.${layer}.${half}.${part}`] = empty
      }
    }
  }
  return past
}

/** Of one token among all. */
function logProbability(logits: Float32Array, token: number): number {
  let largest = Number.NEGATIVE_INFINITY
  for (let i = 0; i < logits.length; i++) if (logits[i]! > largest) largest = logits[i]!
  let sum = 0
  for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i]! - largest)
  return logits[token]! - largest - Math.log(sum)
}

/** The end is taken only when it leads by more than `endMargin`. */
function indexOfLargest(logits: Float32Array, endMargin: number): number {
  let largest = 0
  for (let i = 1; i < logits.length; i++) if (i !== END_TOKEN && logits[i]! > logits[largest]!) largest = i
  return logits[END_TOKEN]! - logits[largest]! > endMargin ? END_TOKEN : largest
}
