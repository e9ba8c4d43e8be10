import type { Store } from '../../store.ts'
import { forTenant, type Tenant } from '../../tenancy.ts'
import { assistantSettings } from '../assistant-settings.ts'
import type { ActionOutcome, ActionScene } from '../flow-play.ts'
import { type HttpActionParts, postAction, scalarOf } from './http-action.ts'
import { type PaymentParts, payment } from './payment.ts'
import { transfer } from './transfer.ts'
import { voicemail } from './voicemail.ts'

export interface CallbackWish {
  source: 'ivr' | 'flow' | 'ai'
  phone: string
  callId: string
  queueId: string | null
  note: string | null
}

export interface ActParts extends HttpActionParts, PaymentParts {
  store: Store
  /** Books a callback as the API does; false: refused. */
  bookCallback: (tenant: Tenant, wish: CallbackWish) => Promise<boolean>
}

/** Does what an action node of a live call asks for. */
export const acting =
  (parts: ActParts) =>
  (scene: ActionScene): Promise<ActionOutcome> => {
    switch (scene.request.kind) {
      case 'api':
      case 'tool':
        return callServer(parts, scene)
      case 'transfer':
        return transfer(parts, scene)
      case 'voicemail':
        return voicemail(scene)
      case 'callback':
        return callback(parts, scene)
      case 'payment':
        return payment(parts, scene)
    }
  }

/** An action of kind `api` names its URL; a tool is one of the assistant's, by its name. */
async function callServer(
  parts: ActParts,
  { stage, request, assistantId, nextId }: ActionScene,
): Promise<ActionOutcome> {
  const { node, name, input } = request
  const tools = (await assistantSettings(parts.store.db, stage.tenant, assistantId))?.tools ?? []
  const url = node.action?.url ?? tools.find(tool => tool.name === name)?.url
  if (url === undefined) return { status: 'failed', outcome: 'failed', output: null }
  const key = `${stage.call.id}-${nextId('action')}`
  const result = await postAction(parts, { url, input, key, signal: stage.signal })
  if (result.outcome !== 'success') return { status: 'failed', outcome: result.outcome, output: null }
  return { status: 'succeeded', outcome: 'success', output: scalarOf(result.body) }
}

async function callback({ store, bookCallback }: ActParts, scene: ActionScene): Promise<ActionOutcome> {
  const { stage, request } = scene
  const { call } = stage
  const caller = call.direction === 'inbound' ? call.from_address : call.to_address
  const { phone = caller, note = null } = request.input
  const queueId = request.node.target?.type === 'queue' ? String(request.input.target_id) : null
  // It was deleted after the flow was made: a callback of no queue would be offered to nobody.
  const isGone = queueId !== null && (await forTenant(store.db, stage.tenant).find('queues', queueId)) === undefined
  if (isGone) return { status: 'failed', outcome: 'failed', output: null }
  const booked = await bookCallback(stage.tenant, {
    source: bookedBy(scene),
    phone: String(phone ?? caller),
    callId: call.id,
    queueId,
    note: note === null ? null : String(note),
  })
  return { status: booked ? 'succeeded' : 'failed', outcome: booked ? 'booked' : 'failed', output: null }
}

/** A phone menu is one whoever it belongs to; another flow may be what an assistant says. */
const bookedBy = ({ flowKind, assistantId }: ActionScene): CallbackWish['source'] =>
  flowKind === 'ivr' ? 'ivr' : assistantId === null ? 'flow' : 'ai'
