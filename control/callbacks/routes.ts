import type { Static } from 'typebox'
import type { Context } from '../http/context.ts'
import { isProblem, type Problem } from '../http/errors.ts'
import { mergedMetadata } from '../http/metadata.ts'
import { listRoute, plainOf, retrieveRoute } from '../http/plain-resource.ts'
import { operations, type Route } from '../http/route.ts'
import type { Trx } from '../kernel/store/store.ts'
import { book, type CallbackDeps, referencesProblem, returnerOf } from './booking.ts'
import {
  attemptsProblem,
  closedProblem,
  closing,
  nextStatus,
  planCallback,
  routeProblem,
  takenBack,
  withNote,
} from './callback.ts'
import { callbackListQuery, changeBody, completeBody, createBody } from './schema.ts'
import { type Callback, callbackSchema, toCallback } from './schema-callback.ts'
import { authorOf, saveCallback } from './store.ts'
import type { CallbackRow } from './tables.ts'

const api = operations('Callbacks', 'callbacks')
const write = { reply: callbackSchema, errors: [409] as number[] } as const

export function callbackRoutes(deps: CallbackDeps): Route[] {
  const plain = plainOf({ store: deps.store, table: 'callbacks', api, reply: callbackSchema, toObject: toCallback })
  return [
    api.post({
      ...write,
      path: '/callbacks',
      id: 'createCallback',
      summary: 'Book a callback',
      description:
        'A number has one open callback: a later request for it is merged into that one. A second request with the same `call_id` returns the callback of the first.',
      mode: 'live',
      body: createBody,
      handler: (context, { body }) => book(deps, context, body),
    }),
    listRoute(plain, { query: callbackListQuery, reads: ['callbacks'] }),
    retrieveRoute(plain),
    api.patch({
      ...write,
      path: '/callbacks/:id',
      id: 'updateCallback',
      summary: 'Change an open callback',
      description: 'Updates the fields sent; a note is added to the notes. 409 if the callback is closed.',
      body: changeBody,
      handler: (context, { params, body }) => change(deps, context, params.id, body),
    }),
    api.post({
      ...write,
      path: '/callbacks/:id/cancel',
      id: 'cancelCallback',
      summary: 'Cancel a callback',
      description: '409 while it is on a call, or if it is closed.',
      handler: (context, { params }) => close(deps, context, params.id, { trigger: 'cancel' }),
    }),
    api.post({
      ...write,
      path: '/callbacks/:id/complete',
      id: 'completeCallback',
      summary: 'Complete a callback',
      description:
        'Closes an open callback that was resolved in another way. 409 while it is on a call, or if it is closed.',
      mode: 'live',
      body: completeBody,
      handler: (context, { params, body }) => close(deps, context, params.id, { trigger: 'complete', note: body.note }),
    }),
  ]
}

async function change(
  deps: CallbackDeps,
  context: Context,
  id: string,
  body: Static<typeof changeBody>,
): Promise<Callback | Problem> {
  return context.withRow('callbacks', 'callback', id, async (trx, row) => {
    const refused =
      closedProblem(row) ??
      attemptsProblem(row, body.max_attempts) ??
      (await referencesProblem(deps, context, body, trx))
    if (refused !== null) return refused
    const { note, due_at, window_end, metadata, ...same } = body
    const plan = await replan(deps, trx, context, { row, due_at, window_end })
    if (isProblem(plan)) return plan
    const kept = mergedMetadata(row.metadata, metadata)
    if (isProblem(kept)) return kept
    const at = deps.now().toISOString()
    const author = await authorOf(trx, context)
    const changed = {
      ...same,
      ...(await returnerOf(trx, context, body, row)),
      ...plan,
      notes: withNote(row.notes, { text: note, at, author }),
      metadata: kept,
      updated: at,
    }
    const wrong = routeProblem({ ...row, ...changed })
    if (wrong !== null) return wrong
    return toCallback(await saveCallback(trx, context, row, { ...changed, ...takenBack(row, changed, at) }))
  })
}

/** A new plan, if one of the times was sent. */
async function replan(
  deps: CallbackDeps,
  trx: Trx,
  context: Context,
  { row, due_at, window_end }: { row: CallbackRow; due_at: string | undefined; window_end: string | null | undefined },
) {
  if (due_at === undefined && window_end === undefined) return {}
  const { businessHours, callbacks } = await deps.settings(trx, context)
  const asked = { due_at: due_at ?? row.due_at, window_end: window_end === undefined ? row.window_end : window_end }
  const plan = planCallback(asked, { hours: businessHours, slaMinutes: callbacks.sla_minutes, now: deps.now() })
  // Whoever waits has waited since it was due, however long it may take.
  return due_at !== undefined || isProblem(plan) ? plan : { window_end: plan.window_end }
}

async function close(
  deps: CallbackDeps,
  context: Context,
  id: string,
  { trigger, note }: { trigger: 'cancel' | 'complete'; note?: string | undefined },
): Promise<Callback | Problem> {
  return context.withRow('callbacks', 'callback', id, async (trx, row) => {
    const status = nextStatus(row.status, trigger)
    if (isProblem(status)) return status
    const at = deps.now().toISOString()
    const closed = {
      status,
      ...closing(row),
      notes: withNote(row.notes, { text: note, at, author: await authorOf(trx, context) }),
      ...(trigger === 'complete' ? { last_result: 'done-manually', completed_at: at } : {}),
      updated: at,
    }
    const type = trigger === 'complete' ? 'callback.completed' : 'callback.cancelled'
    return toCallback(await saveCallback(trx, context, row, closed, type))
  })
}
