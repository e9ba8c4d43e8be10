import { isProblem } from '../../http/errors.ts'
import type { ChatTool } from '../../models/model.ts'
import { type BookCallback, type CallbackReturner, otherParty } from '../actions/callback.ts'
import type { AssistantSettings } from '../assistant-settings.ts'
import type { Stage } from '../stage.ts'
import { BOOK_CALLBACK } from './tool-names.ts'
import type { ToolResult } from './tools.ts'

const TOOL: ChatTool = {
  name: BOOK_CALLBACK,
  description:
    'Books a call back to the caller, who has asked for it or agreed to it. Tell him afterwards whether it is booked.',
  parameters: {
    type: 'object',
    properties: {
      phone: {
        type: 'string',
        description: 'The number to call, in E.164, where it is not the one that the caller calls from.',
      },
      note: { type: 'string', description: 'What it is about, for who calls back.' },
    },
    additionalProperties: false,
  },
}

/** One of the assistant's own of this name is meant instead. */
const isOffered = ({ callbacks, tools }: AssistantSettings): boolean =>
  callbacks?.enabled !== false && tools.every(({ name }) => name !== BOOK_CALLBACK)

export const callbackTool = (settings: AssistantSettings): ChatTool[] => (isOffered(settings) ? [TOOL] : [])

/** Whether the model asks for a callback, and not for a tool of the assistant's own. */
export const isCallbackCall = (settings: AssistantSettings, name: string): boolean =>
  name === BOOK_CALLBACK && isOffered(settings)

/** Books it; a second time in the same call it is the same one. */
export async function bookByAssistant(
  bookCallback: BookCallback,
  stage: Stage,
  settings: AssistantSettings,
  input: Record<string, unknown>,
): Promise<ToolResult> {
  const { phone, note } = input
  const booked = await bookCallback(stage.tenant, {
    source: 'ai',
    phone: typeof phone === 'string' && phone.trim() !== '' ? phone : otherParty(stage),
    callId: stage.call.id,
    returner: returnerOf(settings),
    assistantId: stage.row.assistant_id,
    note: typeof note === 'string' && note.trim() !== '' ? note.slice(0, MAX_NOTE) : null,
  })
  return isProblem(booked)
    ? { status: 'failed', output: `failed: ${booked.message}` }
    : { status: 'succeeded', output: `booked: ${booked.phone} will be called back` }
}

const MAX_NOTE = 2000

function returnerOf({ callbacks, hand_overs: handOvers = [] }: AssistantSettings): CallbackReturner | null {
  const id = callbacks?.queue_id ?? handOvers.find(({ target }) => target.type === 'queue')?.target.id
  return id === undefined ? null : { type: 'queue', id }
}
