import { Flite } from '../../media/speech/flite.ts'
import { samplesOf } from '../voices.ts'
import type { Caller } from './cast.ts'

/** Behind a line, so that the last of it has come to everybody [ms]. */
const AFTER_LINE_MS = 500

/** One thing that one of them says. */
export interface Line {
  caller: Caller
  text: string
  samples: Int16Array
}

/** Lets the callers speak, each with a voice of flite's. */
export class Speech {
  readonly #flite = new Flite(1)

  /** Says it, and resolves when everybody has had the time to hear it. `who` may not speak at the same time as others. */
  async say(caller: Caller, text: string): Promise<Line> {
    const spoken = await this.#flite.speak(text, caller.voice, null)
    if ('error' in spoken) throw new Error(spoken.error)
    const samples = Int16Array.from(spoken.samples)
    caller.call.say(samplesOf(samples))
    await caller.call.heard.next(samples.length / 8 + AFTER_LINE_MS)
    return { caller, text, samples }
  }

  close(): Promise<void> {
    return this.#flite.close()
  }
}

/** So much of a line is looked for [samples]: a second of it tells it from any other. */
const CHUNK = 8000
/** Voices of a telephone are smooth enough to be looked for so [samples]. */
const COARSE = 4

/**
 * How much of what was said is in what was heard, wherever it begins: 1 all of it, as it was, 0 nothing (the greatest normalised
 * cross-correlation of a second from the middle).
 */
export function likeness(said: Int16Array, heard: Int16Array): number {
  const from = Math.max(0, Math.floor((said.length - CHUNK) / 2))
  const chunk = said.subarray(from, from + CHUNK)
  let best = 0
  let bestAt = 0
  const look = (at: number, step: number): void => {
    const found = correlation(chunk, heard, at, step)
    if (found <= best) return
    best = found
    bestAt = at
  }
  for (let at = 0; at + chunk.length <= heard.length; at += 2) look(at, COARSE)
  best = 0
  for (let at = Math.max(0, bestAt - 4), to = bestAt + 4; at <= to; at++) look(at, 1)
  return best
}

function correlation(chunk: Int16Array, heard: Int16Array, at: number, step: number): number {
  let product = 0
  let mine = 0
  let theirs = 0
  for (let i = 0; i < chunk.length; i += step) {
    const said = chunk[i]!
    const sample = heard[at + i] ?? 0
    product += said * sample
    mine += said * said
    theirs += sample * sample
  }
  return product / Math.sqrt(Math.max(1, mine * theirs))
}
