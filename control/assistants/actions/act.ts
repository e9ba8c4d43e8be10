import type { Store } from '../../kernel/store/store.ts'
import { assistantSettings } from '../assistant-settings.ts'
import type { ActionOutcome, ActionScene } from '../flow-play.ts'
import { type BookCallback, callback } from './callback.ts'
import { type HttpActionParts, postAction, scalarOf } from './http-action.ts'
import { type PaymentParts, payment } from './payment.ts'
import { transfer } from './transfer.ts'
import { voicemail } from './voicemail.ts'

export interface ActParts extends HttpActionParts, PaymentParts {
  store: Store
  bookCallback: BookCallback
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
