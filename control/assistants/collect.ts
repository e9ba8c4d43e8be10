import type { PlaySource, Request } from '../../media/protocol.ts'
import type { CallerInput } from '../flows/engine/conditions.ts'
import type { CollectRequest } from '../flows/engine/effects.ts'
import type { ProgramInput } from './input.ts'
import type { Stage } from './stage.ts'

const MAX_FREE_DIGITS = 64
const INTER_DIGIT_TIMEOUT_MS = 3000
const END_OF_SPEECH_MS = 700
const MAX_UTTERANCE_MS = 20_000
/** The caller's voice interrupts a prompt after this time [ms]. */
export const BARGE_IN_AFTER_MS = 200

/** The command for a flow's collection of keys and speech. */
export function collectCommand(
  { modes, timeoutMs, bargeIn, sensitive, options, ahead, hidesAhead }: CollectRequest,
  at: { legId: string; collectId: string; language: string | null; prompts: PlaySource[] },
): Request<'leg.collect'> {
  const { legId, collectId, language, prompts } = at
  return {
    legId,
    collectId,
    prompts,
    maxDigits: options.length === 0 ? MAX_FREE_DIGITS : Math.max(...options.map(option => option.length)),
    // `#` ends keys that are collected freely; among options it may be one of them.
    terminators: options.length === 0 ? '#' : '',
    options: [...new Set(options)],
    ...(ahead !== 'forget' && { ahead }),
    hidesAhead,
    firstDigitTimeoutMs: timeoutMs,
    interDigitTimeoutMs: INTER_DIGIT_TIMEOUT_MS,
    sensitive,
    playThrough: !bargeIn,
    speech: modes.includes('speech')
      ? {
          listenId: collectId,
          language,
          endOfSpeechMs: END_OF_SPEECH_MS,
          maxUtteranceMs: MAX_UTTERANCE_MS,
          bargeIn: bargeIn ? { afterMs: BARGE_IN_AFTER_MS, resume: true, backChannels: [] } : null,
        }
      : null,
  }
}

/** The caller's input, if this is the end of the collection; otherwise null. */
export function inputOf(input: ProgramInput, collectId: string): CallerInput | null {
  if (input.kind !== 'collected' || input.collectId !== collectId) return null
  const { digits, utterance } = input
  if (digits !== '') return { kind: 'dtmf', digits }
  const text = utterance?.text.trim() ?? ''
  return text === '' ? { kind: 'no_response' } : { kind: 'speech', text }
}

/** Plays sources and waits until they have been heard, or cannot be played. `again`: they may have been sent before a restart. */
export async function flushedOf(stage: Stage, playId: string, sources: PlaySource[], again: boolean): Promise<void> {
  if (sources.length === 0) return
  const isHeard = (input: ProgramInput) => (input.kind === 'played' && input.playId === playId ? true : null)
  if (again && (await stage.poll(isHeard)) !== null) return
  if (!(again && stage.resumed?.playing === true)) {
    const play = { legId: stage.legId, playId, sources, loop: false, hangupAfter: null }
    if ('failure' in (await stage.request('leg.play', play))) return
  }
  await stage.until(isHeard)
}
