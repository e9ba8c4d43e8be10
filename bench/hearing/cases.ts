import { NARROWBAND_HZ } from '../../codecs/audio.ts'
import type { Heard } from './chain.ts'
import type { LabelledCall } from './labelled-calls.ts'
import type { Difference } from './score.ts'

const SAMPLES_PER_MS = NARROWBAND_HZ / 1000
/** A missing part this short does not change a word: the closed lips before a "b", or the air after an "s" [ms]. */
const PART_OF_WORD = 60

/** How much of the voice is missing before and after the utterances; 0 for a call that was not heard at all [ms]. */
export function cutOf(call: LabelledCall, { utterances }: Heard): { beginMs: number; endMs: number } {
  const reached = reachedOf(call, utterances)
  if (reached === null) return { beginMs: 0, endMs: 0 }
  return { beginMs: Math.max(0, reached.beginMs), endMs: Math.max(0, -reached.endMs) }
}

/** From the beginning of the voice to that of the audio that reached the recogniser, and likewise at their ends [ms]. */
function reachedOf({ from, to }: LabelledCall, utterances: Heard['utterances']) {
  const over = utterances.filter(utterance => utterance.from < to && utterance.to > from)
  if (over.length === 0) return null
  return { beginMs: (over[0]!.from - from) / SAMPLES_PER_MS, endMs: (over.at(-1)!.to - to) / SAMPLES_PER_MS }
}

/** Number of wrong words between the first and the last word that was heard right. */
export const insideOf = ({ errors, missingAtBegin, missingAtEnd }: Difference): number =>
  Math.max(0, errors - missingAtBegin - missingAtEnd)

/** A line about a call that was not heard as it was said: what went wrong, and how much of the audio reached the recogniser. */
export function caseLine(
  { call, heard, byHand }: { call: LabelledCall; heard: Heard; byHand: string },
  byChain: Difference,
): string | null {
  const cut = cutOf(call, heard)
  const faults = [
    cut.beginMs > PART_OF_WORD || cut.endMs > PART_OF_WORD ? `cut ${cut.beginMs}+${cut.endMs} ms` : '',
    countOf('gone', byChain.goneAtBegin + byChain.goneAtEnd),
    countOf(
      'misheard at an edge',
      byChain.missingAtBegin + byChain.missingAtEnd - byChain.goneAtBegin - byChain.goneAtEnd,
    ),
    countOf('wrong inside', insideOf(byChain)),
  ].filter(fault => fault !== '')
  if (faults.length === 0) return null
  const reached = reachedOf(call, heard.utterances)
  const audio = reached === null ? 'no audio' : `audio from ${reached.beginMs} to ${reached.endMs} ms of the voice`
  return `${faults.join(', ')}: said "${call.text}", heard "${heard.text}", by hand "${byHand}", ${audio}`
}

const countOf = (what: string, count: number): string => (count > 0 ? `${count} ${what}` : '')
