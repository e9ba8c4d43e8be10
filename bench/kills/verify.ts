import { setTimeout as sleep } from 'node:timers/promises'
import type { WebhookReceiver } from '../../test/fakes/webhook-receiver.ts'
import type { Product } from '../product.ts'
import type { RestClient } from '../rest-client.ts'
import type { Callers } from './callers.ts'
import { KINDS } from './kinds.ts'
import { post, type Writers } from './writer.ts'

/** A delivery that a killed process had begun is due again when its lease expires; then a busy machine needs some more time [ms]. */
const WEBHOOK_PATIENCE_MS = 60_000
/** Interval of the checks for what is still missing [ms]. */
const LOOK_MS = 100
/** Below the rate limit. */
const REPLAYS_AT_ONCE = 4
const REPLAY_PACE_MS = 50

// biome-ignore lint/suspicious/noExplicitAny: REST answers of every shape
type Json = any

/** Checks that every acknowledged write is stored once, as it was acknowledged. */
export async function verifyWrites(product: Product, writers: Writers): Promise<string[]> {
  const problems: string[] = []
  for (const kind of KINDS) {
    const stored = new Map<string, Json[]>()
    for (const object of kind.stored?.(product) ?? (await product.all(kind.path))) {
      stored.set(kind.markOf(object), [...(stored.get(kind.markOf(object)) ?? []), object])
    }
    for (const { mark, answer } of writers.acknowledged.filter(write => write.kind === kind)) {
      const found = stored.get(mark) ?? []
      const id = kind.idOf(answer.body)
      const others = found.filter(object => object.id !== id && kind.isRefused?.(object) !== true)
      if (others.length === found.length) problems.push(`the acknowledged write of ${mark} is lost`)
      if (others.length > 0) problems.push(`${mark} was written ${others.length + 1} times`)
    }
  }
  return problems
}

/** Checks that a repeated request with each key gets the first answer. */
export async function verifyKeys(rest: RestClient, writers: Writers): Promise<string[]> {
  const problems: string[] = []
  const left = [...writers.acknowledged]
  const replay = async (): Promise<void> => {
    for (let write = left.pop(); write !== undefined; write = left.pop()) {
      const again = await post(rest, write)
      const isSame = JSON.stringify(again?.body) === JSON.stringify(write.answer.body)
      if (again?.status === 429) left.push(write)
      else if (again?.headers.get('idempotent-replayed') !== 'true')
        problems.push(`the key of ${write.mark} is forgotten`)
      else if (!isSame) problems.push(`the key of ${write.mark} gives another answer`)
      await sleep(REPLAY_PACE_MS)
    }
  }
  await Promise.all(Array.from({ length: REPLAYS_AT_ONCE }, replay))
  return problems
}

export interface WebhookCounts {
  events: number
  /** Deliveries beyond the first of an event. */
  repeated: number
}

/** Checks that every event arrived at the receiver in time. */
export async function verifyWebhooks(
  rest: RestClient,
  receiver: WebhookReceiver,
): Promise<{ counts: WebhookCounts; problems: string[] }> {
  const arrived = (): Set<string> => new Set(receiver.received.map(({ headers }) => String(headers['webhook-id'])))
  const events: Json[] = await rest.events()
  const missing = (): Json[] => {
    const seen = arrived()
    return events.filter(({ id }) => !seen.has(id))
  }
  const limit = performance.now() + WEBHOOK_PATIENCE_MS
  while (missing().length > 0 && performance.now() < limit) await sleep(LOOK_MS)
  const counts = { events: events.length, repeated: receiver.received.length - arrived().size }
  return { counts, problems: missing().map(({ id, type }) => `the webhook of ${type} ${id} never came`) }
}

/** Checks that every call has one row and each of its events once, and that the lasting calls were not disturbed. */
export async function verifyCalls(rest: RestClient, callers: Callers, lastingIds: string[]): Promise<string[]> {
  const problems: string[] = []
  const counts = new Map<string, number>()
  for (const { type, data } of await rest.events()) {
    if (data.object.object !== 'call') continue
    const name = `${data.object.id} ${type}`
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const calls: Json[] = await rest.all('/calls')
  for (const { id, answered_at, ended_at, status } of calls) {
    const expected = { created: 1, answered: answered_at === null ? 0 : 1, ended: ended_at === null ? 0 : 1 }
    for (const [type, count] of Object.entries(expected)) {
      const told = counts.get(`${id} call.${type}`) ?? 0
      if (told !== count) problems.push(`call.${type} of ${id} (${status}) was told ${told} times`)
    }
  }
  const answered = calls.filter(call => call.answered_at !== null).length
  const expected = callers.answered + lastingIds.length
  if (answered !== expected) problems.push(`${expected} calls were answered, REST shows ${answered}`)
  for (const id of lastingIds) {
    const call = calls.find(one => one.id === id)
    if (call?.status !== 'in_progress') problems.push(`the running call ${id} is ${call?.status ?? 'lost'}`)
  }
  return problems
}
