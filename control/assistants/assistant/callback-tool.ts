import { cutTo } from '../../../media/protocol.ts'
import { addressOf } from '../../calls/capture/demanded-consent.ts'
import { isProblem } from '../../http/errors.ts'
import type { ChatTool } from '../../models/model.ts'
import type { BookCallback, CallbackReturner } from '../actions/callback.ts'
import type { LiveSettings } from '../assistant-settings.ts'
import type { AssistantSettings } from '../schema.ts'
import type { Stage } from '../stage.ts'
import { BOOK_CALLBACK } from './tool-names.ts'
import { functionOf, type ToolResult } from './tools.ts'

const isShared = ({ kind }: { kind: string }): boolean => kind === BOOK_CALLBACK

/** Whether callbacks are offered to the model. A tool of the assistant's own with this name takes precedence. */
const isOffered = ({ callbacks, tools, shared }: LiveSettings): boolean =>
  (callbacks.enabled || shared.some(isShared)) && tools.every(({ name }) => name !== BOOK_CALLBACK)

export const callbackTool = (settings: LiveSettings): ChatTool[] =>
  isOffered(settings) ? [functionOf(BOOK_CALLBACK, settings.shared)] : []

/** Whether a tool call asks for a callback, and not for a tool of the assistant's own with that name. */
export const isCallbackCall = (settings: LiveSettings, name: string): boolean =>
  name === BOOK_CALLBACK && isOffered(settings)

/** Books a callback. A second one in the same call is the same callback. */
export async function bookByAssistant(
  bookCallback: BookCallback,
  stage: Stage,
  settings: AssistantSettings,
  input: Record<string, unknown>,
): Promise<ToolResult> {
  const { phone, note } = input
  const booked = await bookCallback(stage.tenant, {
    source: 'ai',
    phone: typeof phone === 'string' && phone.trim() !== '' ? phone : addressOf(stage.call),
    callId: stage.call.id,
    returner: returnerOf(settings),
    assistantId: stage.row.assistant_id,
    note: typeof note === 'string' && note.trim() !== '' ? cutTo(note, MAX_NOTE) : null,
  })
  return isProblem(booked)
    ? { status: 'failed', output: `failed: ${booked.message}` }
    : { status: 'succeeded', output: `booked: ${booked.phone} will be called back` }
}

const MAX_NOTE = 2000

function returnerOf({ callbacks, hand_overs: handOvers }: AssistantSettings): CallbackReturner | null {
  const id = callbacks.queue_id ?? handOvers.find(({ target }) => target.type === 'queue')?.target.id
  return id === undefined ? null : { type: 'queue', id }
}
