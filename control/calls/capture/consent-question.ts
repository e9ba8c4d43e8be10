import type { Commands, RoomCapture } from '../../../media/protocol.ts'
import { consentPhrase } from '../../kernel/phrases.ts'
import type { CallRow } from '../tables.ts'
import { agreedCapture, type CallCapture, callCaptureOf, type Later, NOTHING } from './call-capture.ts'

type Collect = Commands['leg.collect']['request']

/** The collection that announces the recording, or asks for consent. */
export const CONSENT = 'consent'

/** The same if no voice here can speak the text: it ends at once, and nothing is captured. */
export const UNHEARD = 'consent-unheard'

/** More keys than anybody presses during an announcement. */
const MAX_IDLE_KEYS = 1000

/** Media starts the capture itself: with the announcement, or with the key that agrees. */
export function consentCollect(call: CallRow, legId: string): Collect {
  const { later, ...capture } = callCaptureOf(call) ?? NOTHING
  const asked = later ?? capture
  const { consent } = asked
  return {
    legId,
    collectId: CONSENT,
    prompts: [question(asked)],
    // During a mere announcement, keys change nothing.
    maxDigits: consent === null ? MAX_IDLE_KEYS : 1,
    terminators: '',
    firstDigitTimeoutMs: consent === null ? 0 : consent.timeoutS * 1000,
    interDigitTimeoutMs: 0,
    sensitive: false,
    playThrough: consent === null,
    agreement: {
      digits: consent?.key ?? null,
      capture: later === undefined ? agreedCapture(call) : laterCapture(call, later),
    },
  }
}

/** Only what is new: earlier captures continue, or were stopped. */
const laterCapture = ({ id }: CallRow, { record, encrypted, transcribe, language }: Later): RoomCapture => ({
  recordingId: record ? id : null,
  ...(encrypted && { encrypted }),
  transcript: transcribe ? { transcriptId: id, language } : null,
})

/** The configured text, or our own, which is recorded in languages without a voice. */
function question({ announcement, consent, language }: Pick<CallCapture, 'announcement' | 'consent' | 'language'>) {
  const speaker = { voice: null, language }
  return announcement === '' && consent !== null
    ? consentPhrase(consent.key, speaker)
    : { kind: 'speech' as const, text: announcement, ...speaker }
}

export const unheardCollect = ({ agreement: _, ...collect }: Collect): Collect => ({
  ...collect,
  collectId: UNHEARD,
  prompts: [],
  firstDigitTimeoutMs: 0,
})
