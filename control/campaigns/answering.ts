import Type, { type Static } from 'typebox'
import { answeringFields, answeringOf, type LeftMessage, type StoredAnswering } from '../calls/answering/schema.ts'
import { invalid, needed, type Problem } from '../http/errors.ts'
import { merge } from '../http/merge.ts'
import { languageTag, nullable, oneOf, partialInput } from '../kernel/schema.ts'

/** Answering machine detection in a campaign's calls, and what is done with those that no person answers. */

const ACTIONS = ['hang_up', 'leave_message', 'connect'] as const

const messageFields = {
  text: nullable(
    Type.String({
      minLength: 1,
      maxLength: 3000,
      description: 'Text that is spoken; null: `audio_asset_id` is played.',
    }),
  ),
  voice: nullable(Type.String({ minLength: 1, maxLength: 100, description: 'Null: the default of the language.' })),
  language: nullable(languageTag('BCP 47; null: English.')),
  audio_asset_id: nullable(
    Type.String({ minLength: 1, maxLength: 200, description: 'Recording that is played; null: `text` is spoken.' }),
  ),
}

const fields = {
  ...answeringFields,
  mode: oneOf(['detect', 'detect_message_end'], {
    description:
      "detect_message_end: the end of a machine's greeting is detected too, so a message can be left after it.",
    default: 'detect_message_end',
  }),
  hold_until_detected: Type.Literal(true, {
    description: 'A campaign always waits for the result of the detection.',
  }),
  on_machine: oneOf([...ACTIONS], {
    description:
      'leave_message: `message` is played after the beep or the silence that ends the greeting. A person is always connected; a fax is always hung up.',
    default: 'hang_up',
  }),
  on_unknown: oneOf([...ACTIONS], {
    description: 'leave_message: once nobody has spoken for `message_silence_ms`, or after a beep.',
    default: 'connect',
  }),
}

export const campaignAnswering = Type.Object({ ...fields, message: nullable(Type.Object(messageFields)) })
type CampaignAnswering = Static<typeof campaignAnswering>

export const campaignAnsweringInput = partialInput({ ...fields, message: nullable(partialInput(messageFields)) })
type Sent = Static<typeof campaignAnsweringInput>

const NO_MESSAGE = { text: null, voice: null, language: null, audio_asset_id: null }

const byDefault = (): CampaignAnswering => ({
  ...answeringOf({})!,
  mode: 'detect_message_end',
  hold_until_detected: true,
  on_machine: 'hang_up',
  on_unknown: 'connect',
  message: null,
})

/** The settings with the sent fields merged in. */
export function changedAnswering(stored: CampaignAnswering | null, sent: Sent | null): CampaignAnswering | null {
  if (sent === null) return null
  const before = stored ?? byDefault()
  const { message } = sent
  const changed = merge(before, sent)
  return message == null ? changed : { ...changed, message: merge(before.message ?? NO_MESSAGE, message) }
}

const leavesMessage = ({ on_machine, on_unknown }: CampaignAnswering): boolean =>
  [on_machine, on_unknown].includes('leave_message')

const PARAM = 'answering_machine_detection'

/** Why these settings are invalid: something is missing, or would have no effect. */
export function answeringProblem(answering: CampaignAnswering | null): Problem | null {
  if (answering === null) return null
  const { message, mode } = answering
  if (!leavesMessage(answering)) {
    const refused = 'message is used only if on_machine or on_unknown is `leave_message`.'
    return message === null ? null : invalid(`${PARAM}.message`, refused)
  }
  if (mode !== 'detect_message_end') {
    const refused = 'leave_message needs the mode `detect_message_end`.'
    return invalid(`${PARAM}.mode`, refused)
  }
  const { text = null, voice = null, language = null, audio_asset_id = null } = message ?? NO_MESSAGE
  if (text === null && audio_asset_id === null) {
    return needed(`${PARAM}.message`, 'leave_message needs a text or an audio asset.')
  }
  const unspoken = audio_asset_id !== null && [text, voice, language].some(said => said !== null)
  return unspoken
    ? invalid(`${PARAM}.message.audio_asset_id`, 'A message has either a text or an audio asset, not both.')
    : null
}

/** The settings in the form that calls store. */
export function listeningOf(answering: CampaignAnswering | null): StoredAnswering | null {
  if (answering === null) return null
  const { on_machine, on_unknown, message, ...settings } = answering
  return { ...settings, policy: { machine: on_machine, unknown: on_unknown, message: leftMessage(message) } }
}

function leftMessage(message: CampaignAnswering['message']): LeftMessage | null {
  if (message === null) return null
  const { text, voice, language, audio_asset_id: assetId } = message
  return assetId !== null ? { assetId } : text === null ? null : { text, voice, language }
}
