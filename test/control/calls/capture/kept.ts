import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import type { LiveWorld } from '../../assistants/live-world.ts'

/** What is polled costs three requests each time. */
const POLL_MS = 10

/** All of what can be kept of a call is being kept. */
export const ALL = { recording: 'recording', transcript: 'running', streams: ['streaming'] }

/** What is kept of a call, by its rows. */
export async function kept(world: LiveWorld, callId: string) {
  const { body: streams } = await world.ask(`GET /v1/calls/${callId}/streams`)
  return {
    recording: (await world.ask(`GET /v1/calls/${callId}/recording`)).body.status ?? null,
    transcript: (await world.ask(`GET /v1/calls/${callId}/transcript`)).body.status ?? null,
    streams: streams.data.map(({ status }: { status: string }) => status),
  }
}

/** What is begun follows the commit that decides so: it is looked at until it is there. */
export async function isKept(world: LiveWorld, callId: string, expected: object, why?: string): Promise<void> {
  for (const deadline = Date.now() + 5000; ; ) {
    const found = await kept(world, callId)
    if (JSON.stringify(found) === JSON.stringify(expected)) return
    if (Date.now() > deadline) assert.equal(found, expected, why)
    await sleep(POLL_MS)
  }
}
