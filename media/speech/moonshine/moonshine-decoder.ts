import { type InferenceSession, Tensor } from 'onnxruntime-web'

/** Shape of the tiny model: layers of the decoder, heads, and their width. */
const LAYERS = 6
const HEADS = 8
const HEAD_WIDTH = 36
const START_TOKEN = 1
const END_TOKEN = 2
/**
 * The model takes many a short word for silence by a hair. Noise and tones it calls silence by more than this, words by less, as
 * measured on both; what comes here was held for a voice already.
 */
const SILENCE_MARGIN = 3
/** Of a draft so many tokens are checked at once. */
const MAX_CHECKED = 24
/** A draft that went another way is taken up again where the same token comes within so many. */
const REACH = 4
/** A draft that goes another way more often is of something else. */
const MAX_PARTINGS = 3

interface Decoded {
  /** Without the first and the last, which every text has. */
  tokens: number[]
  /** Mean log probability of the tokens that were chosen. */
  confidence: number
}

/** Keys and values of the tokens so far, and of the encoder. Float32, [1, heads, tokens, width]. */
type Past = Record<string, Tensor>

/**
 * Greedy decoding. One token costs nearly as much as a dozen that are fed at once, so what an earlier look at about the same has made of
 * it is a draft that is checked at once: the model's own choice after each of its tokens holds, as far as it is that of the draft
 * (speculative decoding).
 */
export class MoonshineDecoder {
  readonly #session: InferenceSession
  /** The encoder's half is computed once, with the first tokens. */
  readonly #renewed: string[]

  constructor(session: InferenceSession) {
    this.#session = session
    this.#renewed = session.outputNames.filter(name => !name.includes('.encoder.'))
  }

  /**
   * @param states of the encoder. @param limit of tokens. @param draft what they may be
   * @param isWanted when not, it stops where it is
   */
  async decode(
    states: Tensor,
    limit: number,
    draft: readonly number[] = [],
    isWanted = (): boolean => true,
  ): Promise<Decoded> {
    const guide = new Guide(draft)
    const tokens: number[] = []
    let sum = 0
    let past: Past | null = null
    for (let last = START_TOKEN; isWanted(); ) {
      const ahead = guide.ahead(limit - tokens.length)
      const step: Past = await this.#run([last, ...ahead], states, past)
      let isOver = false
      let agreed = 0
      for (;;) {
        const logits = rowOf(step.logits!, agreed)
        last = indexOfLargest(logits, tokens.length === 0 ? SILENCE_MARGIN : 0)
        sum += logProbability(logits, last)
        isOver = last === END_TOKEN
        if (isOver) break
        tokens.push(last)
        isOver = tokens.length >= limit
        if (isOver || ahead[agreed] !== last) break
        agreed++
      }
      if (isOver) return { tokens, confidence: sum / (tokens.length + (last === END_TOKEN ? 1 : 0)) }
      guide.goOn(agreed, last)
      past = grown(past, step, ahead.length - agreed)
    }
    return { tokens, confidence: Number.NEGATIVE_INFINITY }
  }

  #run(tokens: readonly number[], states: Tensor, past: Past | null): Promise<Past> {
    const feeds = {
      input_ids: new Tensor('int64', BigInt64Array.from(tokens, BigInt), [1, tokens.length]),
      encoder_hidden_states: states,
      use_cache_branch: new Tensor('bool', [past !== null]),
      ...(past ?? NO_PAST),
    }
    return (past === null ? this.#session.run(feeds) : this.#session.run(feeds, this.#renewed)) as Promise<Past>
  }
}

/** Where in the draft the decoding is. */
class Guide {
  readonly #draft: readonly number[]
  #at = 0
  /** Tokens since the draft went another way; 0: it goes the same. */
  #lost = 0
  #partings = 0

  constructor(draft: readonly number[]) {
    this.#draft = draft
  }

  /** What may follow. */
  ahead(most: number): readonly number[] {
    if (this.#lost > 0 || this.#partings > MAX_PARTINGS) return []
    return this.#draft.slice(this.#at, this.#at + Math.min(most, MAX_CHECKED))
  }

  /** So many of what it gave were right, and then came this one. */
  goOn(agreed: number, token: number): void {
    this.#at += agreed
    if (this.#at >= this.#draft.length) return
    const at = this.#draft.slice(this.#at, this.#at + REACH + this.#lost).indexOf(token)
    if (this.#lost === 0 && at !== 0) this.#partings++
    this.#lost = at < 0 ? this.#lost + 1 : 0
    if (at >= 0) this.#at += at + 1
  }
}

const NO_PAST: Past = Object.fromEntries(
  Array.from({ length: LAYERS }, (_, layer) =>
    ['decoder', 'encoder'].flatMap(half =>
      ['key', 'value'].map(part => [
        `past_key_values.${layer}.${half}.${part}`,
        new Tensor('float32', new Float32Array(0), [0, HEADS, 1, HEAD_WIDTH]),
      ]),
    ),
  ).flat(),
)

/** With what a step has added, but for its last `surplus` tokens. */
function grown(past: Past | null, step: Past, surplus: number): Past {
  const next: Past = {}
  for (const name of Object.keys(NO_PAST)) {
    const present = step[name.replace('past_key_values', 'present')]
    if (present === undefined) next[name] = past![name]!
    else next[name] = surplus > 0 && name.includes('.decoder.') ? shortened(present, surplus) : present
  }
  return next
}

function shortened({ data, dims }: Tensor, by: number): Tensor {
  const from = dims[2]!
  const to = from - by
  const kept = new Float32Array(HEADS * to * HEAD_WIDTH)
  for (let head = 0; head < HEADS; head++) {
    const row = (data as Float32Array).subarray(head * from * HEAD_WIDTH, (head * from + to) * HEAD_WIDTH)
    kept.set(row, head * to * HEAD_WIDTH)
  }
  return new Tensor('float32', kept, [1, HEADS, to, HEAD_WIDTH])
}

/** Of the token that follows the one at this place among those that were fed. */
function rowOf({ data, dims }: Tensor, place: number): Float32Array {
  const width = dims[2]!
  return (data as Float32Array).subarray(place * width, (place + 1) * width)
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
