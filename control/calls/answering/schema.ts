import Type, { type Static } from 'typebox'
import type { AnsweringSpec } from '../../../media/protocol.ts'
import { nullable, oneOf, partialInput } from '../../kernel/schema.ts'

/** Whether a person or a machine has answered an outbound call (docs/answering-machines.md). */

const ms = (minimum: number, maximum: number, byDefault: number, description: string) =>
  Type.Integer({ minimum, maximum, default: byDefault, description })

export const answeringFields = {
  mode: oneOf(['detect', 'detect_message_end'], {
    description:
      'detect: `call.answered_by` reports who answered. detect_message_end: `call.machine.message_ended` also reports when a message can be left.',
    default: 'detect',
  }),
  hold_until_detected: Type.Boolean({
    description:
      "true: the call's target starts once it is known who answered, after `total_ms` at most. false: it starts with the answer.",
    default: false,
  }),
  initial_silence_ms: ms(
    1000,
    10_000,
    4000,
    'If no voice is heard for this long after the answer, the result is `unknown`.',
  ),
  greeting_ms: ms(800, 6000, 2300, 'A voice that goes on for longer is a machine.'),
  after_greeting_silence_ms: ms(300, 3000, 800, 'This much silence after a shorter greeting means a person.'),
  max_words: ms(1, 30, 8, 'More words before that silence mean a machine.'),
  min_word_ms: ms(40, 500, 100, 'Shorter sounds are not counted as words.'),
  between_words_ms: ms(20, 500, 60, 'Silence that separates two words.'),
  total_ms: ms(2000, 30_000, 6000, 'Without a decision by then, the result is `unknown`.'),
  message_silence_ms: ms(
    800,
    5000,
    1800,
    "Silence that ends a machine's greeting if there is no beep; for detect_message_end.",
  ),
  message_ms: ms(
    5000,
    180_000,
    60_000,
    'Detection of the end of the greeting stops after this time; for detect_message_end.',
  ),
}

/** Input form: omitted fields have their defaults. */
export const answeringInput = nullable(partialInput(answeringFields))
type AnsweringInput = Static<typeof answeringInput>

export const answeringSchema = Type.Object(answeringFields)
export type AnsweringSettings = Static<typeof answeringSchema>

const DEFAULTS = Object.fromEntries(
  Object.entries(answeringFields).map(([name, field]) => [name, (field as { default?: unknown }).default]),
) as AnsweringSettings

/** All settings of a call with detection; null: no detection. */
export const answeringOf = (asked: AnsweringInput | undefined): AnsweringSettings | null =>
  asked == null ? null : { ...DEFAULTS, ...asked }

/** The message left on a machine: text, or an audio asset. */
export type LeftMessage = { text: string; voice: string | null; language: string | null } | { assetId: string }

/** What to do if a machine, a fax or an unknown party answers. Requires `hold_until_detected`. */
interface AnsweringPolicy {
  machine: 'hang_up' | 'leave_message' | 'connect'
  unknown: 'hang_up' | 'leave_message' | 'connect'
  /** For `leave_message`. */
  message: LeftMessage | null
}

/** JSON of `calls.answering`. */
export interface StoredAnswering extends AnsweringSettings {
  /** Absent: the call is led on, whoever answers. */
  policy?: AnsweringPolicy
  /** When the call was answered, while it is held for detection. */
  heldSince?: string
}

export const storedAnswering = ({ answering }: { answering: string | null }): StoredAnswering | null =>
  answering === null ? null : (JSON.parse(answering) as StoredAnswering)

export const shownAnswering = (row: { answering: string | null }): AnsweringSettings | null => {
  const stored = storedAnswering(row)
  if (stored === null) return null
  const { heldSince: _since, policy: _policy, ...settings } = stored
  return settings
}

/** The settings for media; undefined: none. */
export function answeringSpec(row: { answering: string | null }, legId: string): AnsweringSpec | undefined {
  const settings = storedAnswering(row)
  if (settings === null) return undefined
  return {
    legId,
    messageEnd: settings.mode === 'detect_message_end',
    ...(settings.policy?.unknown === 'leave_message' && { messageEndOfUnknown: true }),
    initialSilenceMs: settings.initial_silence_ms,
    greetingMs: settings.greeting_ms,
    afterGreetingSilenceMs: settings.after_greeting_silence_ms,
    maxWords: settings.max_words,
    minWordMs: settings.min_word_ms,
    betweenWordsMs: settings.between_words_ms,
    totalMs: settings.total_ms,
    messageSilenceMs: settings.message_silence_ms,
    messageMs: settings.message_ms,
  }
}

export const ANSWERED_BY = ['human', 'machine', 'fax', 'unknown'] as const
export type AnsweredBy = (typeof ANSWERED_BY)[number]

/** What to do with whoever has answered. A person is always led on; without a policy, so is a fax. */
export function actionFor(policy: AnsweringPolicy | undefined, by: AnsweredBy | null): AnsweringPolicy['machine'] {
  if (policy === undefined || by === 'human' || by === null) return 'connect'
  return by === 'fax' ? 'hang_up' : policy[by]
}

const whose = { call_id: Type.String(), participant_id: Type.String(), livemode: Type.Boolean() }

/** Who has answered a call, as the event `call.answered_by` shows it. */
export const callAnsweredBySchema = Type.Object({
  object: Type.Literal('call_answered_by'),
  ...whose,
  answered_by: oneOf([...ANSWERED_BY]),
  cause: oneOf(
    ['short_greeting', 'long_greeting', 'many_words', 'beep', 'network_tone', 'fax_tone', 'no_voice', 'undecided'],
    {
      description:
        'What decided the result. short_greeting: a short word, then silence. long_greeting, many_words: the greeting went on. beep: a beep after a voice. network_tone: the three rising tones of an intercept. no_voice: nobody spoke. undecided: `total_ms` had passed.',
    },
  ),
  ms: Type.Integer({ description: 'Since the answer.' }),
})
export type CallAnsweredBy = Static<typeof callAnsweredBySchema>

/** A machine's greeting is over, as the event `call.machine.message_ended` shows it. */
export const machineMessageSchema = Type.Object({
  object: Type.Literal('call_machine_message'),
  ...whose,
  ended: oneOf(['beep', 'silence', 'timeout'], {
    description:
      'timeout: the greeting did not end within `message_ms`, so it is unknown whether a message is being recorded.',
  }),
  ms: Type.Integer({ description: 'Since the answer.' }),
})
export type MachineMessage = Static<typeof machineMessageSchema>
