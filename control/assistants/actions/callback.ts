import { addressOf } from '../../calls/capture/demanded-consent.ts'
import { isProblem, type Problem } from '../../http/errors.ts'
import type { Tenant } from '../../kernel/tenancy.ts'
import { type ActionOutcome, type ActionScene, failed } from '../flow-play.ts'

/** A callback that a flow or an assistant requests for its caller. */
export interface CallbackWish {
  source: 'ivr' | 'flow' | 'ai'
  phone: string
  callId: string
  /** Who returns it; null: the organisation's default route for callbacks. */
  returner: CallbackReturner | null
  /** The call's assistant; null: a flow alone leads it. */
  assistantId: string | null
  note: string | null
}

export interface CallbackReturner {
  type: 'queue' | 'user' | 'assistant'
  id: string
}

/** Books a callback as the API does. */
export type BookCallback = (tenant: Tenant, wish: CallbackWish) => Promise<{ phone: string } | Problem>

/** A callback node: its target returns the call. */
export async function callback(
  { bookCallback }: { bookCallback: BookCallback },
  scene: ActionScene,
): Promise<ActionOutcome> {
  const { stage, request, assistantId } = scene
  const caller = addressOf(stage.call)
  const { phone, note = null } = request.input
  const booked = await bookCallback(stage.tenant, {
    source: bookedBy(scene),
    phone: String(phone ?? caller),
    callId: stage.call.id,
    returner: returnerOf(scene),
    assistantId,
    note: note === null ? null : String(note),
  })
  return isProblem(booked) ? failed('failed') : { status: 'succeeded', outcome: 'booked', output: null }
}

/** The node's target, with its variables filled in. */
function returnerOf({ request: { node, input } }: ActionScene): CallbackReturner | null {
  const type = node.target?.type
  const isReturner = type === 'queue' || type === 'user' || type === 'assistant'
  return isReturner ? { type, id: String(input.target_id ?? '') } : null
}

/** The source shown for a callback. A phone menu is `ivr` even if it has an assistant; any other flow with one is `ai`. */
const bookedBy = ({ flowKind, assistantId }: ActionScene): CallbackWish['source'] =>
  flowKind === 'ivr' ? 'ivr' : assistantId === null ? 'flow' : 'ai'
