import * as assert from 'uvu/assert'
import type { HeardPacket } from '../../bench/phone/phone-audio.ts'
import type { ProcessName, Product } from '../../bench/product.ts'

/** Checks that all packets arrived once and in order, each beginning where the one before it ends. */
export function assertGapless(packets: readonly HeardPacket[], label: string): void {
  assert.ok(packets.length > 0, `${label}: packets came`)
  for (let i = 1; i < packets.length; i++) {
    const [last, next] = [packets[i - 1]!, packets[i]!]
    assert.is(next.ssrc, last.ssrc, `${label}: one source`)
    assert.is(
      (next.sequence - last.sequence) & 0xffff,
      1,
      `${label}: sequence number after packet ${i} of ${packets.length}`,
    )
    // One octet of a law is one sample, however many are in a packet (RFC 3551 §4.2).
    const samples = last.payload.length
    assert.is((next.timestamp - last.timestamp) >>> 0, samples, `${label}: timestamp after packet ${i}`)
  }
}

/** Kills processes of the product with SIGKILL, and resolves when others have replaced them. */
export async function killAndWait(product: Product, ...names: Exclude<ProcessName, 'supervisor'>[]): Promise<void> {
  const before = product.pids
  for (const name of names) process.kill(before[name], 'SIGKILL')
  await product.until(`${names} run again`, async () =>
    names.every(name => product.pids[name] !== before[name] && product.pids[name] > 0) ? true : null,
  )
}

// biome-ignore lint/suspicious/noExplicitAny: events carry objects of every shape
type Event = any

/** Number of events of each type for each object: a call, a participant, a stream. */
export function countEvents(events: readonly Event[]): Map<string, Record<string, number>> {
  const counts = new Map<string, Record<string, number>>()
  for (const { type, data } of events) {
    const ofObject = counts.get(data.object.id) ?? {}
    ofObject[type] = (ofObject[type] ?? 0) + 1
    counts.set(data.object.id, ofObject)
  }
  return counts
}

/** Checks that no event came twice, and that events are listed in the order of their IDs. */
export function assertEventsOnce(events: readonly Event[]): void {
  const ids = events.map(({ id }) => id)
  assert.is(new Set(ids).size, ids.length, 'every event has an ID of its own')
  assert.equal(ids, [...ids].sort(), 'events stand in their order')
}
