import { Flite } from '../../media/speech/flite.ts'
import { samplesOf } from '../voices.ts'
import type { Caller } from './cast.ts'

/** Pause after a line, so that everybody has received its end [ms]. */
const AFTER_LINE_MS = 500

/** A line that a caller has said. */
export interface Line {
  caller: Caller
  text: string
  samples: Int16Array
}

/** Lets the callers speak, each with its voice of flite. */
export class Speech {
  readonly #flite = new Flite(1)

  /** Says a line, and resolves when everybody has had time to hear it. Only one caller may speak at a time. */
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

/** Length of the part of a line that is searched for: a second of it differs from every other line [samples]. */
const CHUNK = 8000
/** Step of the first search: voices over a telephone are smooth enough for it [samples]. */
const COARSE = 4

/**
 * How much of what was said is in what was heard, at any place, from 0 to 1: the maximum normalised cross-correlation of a second from the middle
 * of the line.
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
