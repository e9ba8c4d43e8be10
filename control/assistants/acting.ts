import type { Store } from '../kernel/store/store.ts'
import { type HttpActionResult, postAction, scalarOf } from '../tools/http-action.ts'
import { type ToolParts, type UseResult, useHttp } from '../tools/use-http.ts'
import { type BookCallback, callback } from './actions/callback.ts'
import { type PaymentParts, payment } from './actions/payment.ts'
import { transfer } from './actions/transfer.ts'
import { httpTool } from './assistant/tools.ts'
import { assistantSettings } from './assistant-settings.ts'
import { type ActionOutcome, type ActionScene, failed } from './flow-play.ts'
import { partiesOf } from './parties.ts'
import { voicemail } from './voicemail/message.ts'

interface ActParts extends ToolParts, PaymentParts {
  store: Store
  bookCallback: BookCallback
}

/** Performs an action that a flow or an assistant requests in a live call. */
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

/** Calls a server. An action of kind `api` has its own URL; one of kind `tool` names a tool of the assistant. */
async function callServer(
  parts: ActParts,
  { stage, request, assistantId, nextId }: ActionScene,
): Promise<ActionOutcome> {
  const { node, name, input } = request
  const key = `${stage.call.id}-${nextId('action')}`
  const use = { tenant: stage.tenant, input, call: partiesOf(stage.call), key, signal: stage.signal }
  const url = node.action?.url
  if (url !== undefined) return outcomeOf(await postAction(parts, { ...use, url }))
  const settings = await assistantSettings(parts.store.db, stage.tenant, assistantId)
  const tool = settings === null ? undefined : httpTool(settings, name)
  if (tool === undefined) return failed('failed')
  return outcomeOf(await useHttp(parts, tool.http, use))
}

function outcomeOf(result: HttpActionResult | UseResult): ActionOutcome {
  if (result.outcome !== 'success') return failed(result.outcome)
  return { status: 'succeeded', outcome: 'success', output: scalarOf(result.body) }
}
