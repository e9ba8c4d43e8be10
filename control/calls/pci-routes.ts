import Type, { type Static } from 'typebox'
import { type CaptureState, type Failure, isFailure } from '../../media/protocol.ts'
import type { Context } from '../http/context.ts'
import { conflict, invalid, isProblem, missing, type Problem, problem } from '../http/errors.ts'
import { operations, type Route } from '../http/route.ts'
import { input, oneOf } from '../kernel/schema.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { MediaPort } from '../media-link/events.ts'
import type { PciOf, PciSettings } from '../organisation/pci.ts'
import { isBeingAsked } from './capture/call-capture.ts'
import { mediaUnavailable } from './dial.ts'
import {
  type CallPci,
  callPciSchema,
  isOnPaymentNumber,
  participantsOf,
  pausesOf,
  paymentLineOf,
  targetId,
  targetOf,
  toCallPci,
} from './pci.ts'
import { hasEnded, notRunning } from './running-call.ts'
import type { CallRow } from './tables.ts'

const api = operations('Card payments', 'pci')

interface PciDeps {
  store: Store
  media: MediaPort
  /** The organisation's card-payment settings. */
  pciOf: PciOf
}

const pciBody = input({
  action: oneOf(['pause', 'resume']),
  destination_participant_id: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        "The participant that is the payment line. It alone hears the caller's keys. With `pci.payment_numbers_only` of the organisation it must be on a payment number. Absent: whoever we have called at a payment number, also one who comes into the pause.",
    }),
  ),
  max_seconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 2_147_483_647,
      description: "The pause ends by itself after this time. The organisation's maximum is the limit and the default.",
    }),
  ),
  reason: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'Shown with the pause. Default: `payment`.' }),
  ),
})

export function pciRoutes(deps: PciDeps): Route[] {
  return [
    api.post({
      path: '/calls/:id/pci',
      id: 'setCallPci',
      summary: 'Pause or resume capture for a card payment',
      description:
        'During the pause, recordings and streams get silence and keys are masked. Whatever waits for keys in the call (a PIN, a menu, a flow) waits for the end of the pause. A pause requires `pci.enabled` of the organisation. `resume` accepts no other field than `action`. 409 with `details.reason` `already_paused`, `not_paused`, or `payment_in_progress`: a payment line that a flow has called ends its own pause.',
      body: pciBody,
      reply: callPciSchema,
      errors: [409, 503],
      handler: (context, { params, body }) => setPci(deps, context, params.id, body),
    }),
  ]
}

/** What `resume` has no use for. */
const PAUSE_ALONE = ['destination_participant_id', 'max_seconds', 'reason'] as const

async function setPci(
  deps: PciDeps,
  context: Context,
  callId: string,
  body: Static<typeof pciBody>,
): Promise<CallPci | Problem> {
  const { store, media } = deps
  const ofPause = PAUSE_ALONE.find(name => body[name] !== undefined)
  if (body.action === 'resume' && ofPause !== undefined) return invalid(ofPause, `Only a pause takes ${ofPause}.`)
  const call = await forTenant(store.db, context).find('calls', callId)
  if (call === undefined) return missing('call', callId)
  const settings = await deps.pciOf(store.db, context)
  if (!settings.enabled && body.action === 'pause')
    return problem('pci_not_enabled', 'Card-payment mode of the organisation is switched off.')
  const target = await targetOf(store.db, call)
  const isConnected = call.ended_at === null && (call.answered_at !== null || isBeingAsked(call))
  if (!isConnected || target === null) return notRunning(call) ?? hasEnded()
  const others = (await pausesOf(store.db, context, call.id)).filter(({ id }) => id !== targetId(target))
  const request = { requestId: context.requestId, idempotencyKey: context.idempotencyKey }
  if (body.action === 'resume') {
    const reply = await media.request('capture.resume', { target, request })
    // A flow's payment ends its own pause.
    if (!isFailure(reply) && others[0] !== undefined) return toCallPci(call.id, context.livemode, others[0])
    if (others[0] !== undefined && isFailure(reply) && reply.failure === 'conflict' && !context.isResumed) {
      return conflict('payment_in_progress', 'A payment line is in the call for a flow: the pause ends with it.')
    }
    return answer(deps, context, call, reply, 'not_paused')
  }
  if (others.length > 0) return conflict('already_paused', 'The call is paused already.')
  const asked = { named: body.destination_participant_id, payer: targetId(target), settings }
  const destination = await destinationOf(store.db, context, call, asked)
  if (isProblem(destination)) return destination
  const maxSeconds = Math.min(body.max_seconds ?? settings.maxSeconds, settings.maxSeconds)
  const reply = await media.request('capture.pause', {
    target,
    maxSeconds,
    reason: body.reason ?? 'payment',
    maskDtmf: settings.maskDtmf,
    destinationLegId: destination,
    request,
  })
  return answer(deps, context, call, reply, 'already_paused')
}

async function answer(
  deps: PciDeps,
  context: Context,
  call: CallRow,
  reply: CaptureState | Failure,
  conflictReason: 'already_paused' | 'not_paused',
): Promise<CallPci | Problem> {
  if (!isFailure(reply)) {
    const pause = {
      organisation_id: call.organisation_id,
      livemode: call.livemode,
      call_id: call.id,
      reason: reply.reason,
      paused_at: reply.pausedAt,
      resumes_at: reply.resumesAt,
      destination_participant_id: reply.destinationLegId,
    }
    return toCallPci(call.id, context.livemode, reply.paused ? pause : null)
  }
  switch (reply.failure) {
    case 'conflict':
      // The interrupted attempt has done it.
      if (context.isResumed) return asItIs(deps, context, call)
      return conflict(
        conflictReason,
        conflictReason === 'already_paused' ? 'The call is paused already.' : 'The call is not paused.',
      )
    case 'unavailable':
    case 'unanswered':
      return mediaUnavailable(reply.message)
    default:
      return hasEnded()
  }
}

async function asItIs({ store, media }: PciDeps, context: Context, call: CallRow): Promise<CallPci> {
  await media.settled()
  const [pause = null] = await pausesOf(store.db, context, call.id)
  return toCallPci(call.id, context.livemode, pause)
}

/** The payment line: the named one, which must be in the call; else whoever is at one of the organisation's payment numbers. */
async function destinationOf(
  db: Db,
  tenant: Tenant,
  call: CallRow,
  { named, payer, settings }: { named: string | undefined; payer: string; settings: PciSettings },
): Promise<string | null | Problem> {
  const present = await participantsOf(db, tenant, call)
  if (named !== undefined) {
    const line = present.find(participant => participant.id === named)
    if (line === undefined) return unfit('No participant of this call has this ID.')
    if (await isOnPaymentNumber(db, tenant, line)) return named
    if (settings.numbersOnly) return unfit('The organisation accepts payments only on its `payment_line` numbers.')
    return named === payer ? unfit('This is the party who pays. Name the one who is to receive its keys.') : named
  }
  return (await paymentLineOf(db, tenant, present))?.id ?? null
}

const unfit = (message: string): Problem => invalid('destination_participant_id', message)
