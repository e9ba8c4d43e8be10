import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import * as assert from 'uvu/assert'
import { onTranscriptEvent } from '../../../control/calls/capture/transcripts.ts'
import { applyCapture } from '../../../control/calls/pci.ts'
import { CallLimit } from '../../../control/copilot/deep/call-limit.ts'
import { DeepPath } from '../../../control/copilot/deep/deep-path.ts'
import { Copilot } from '../../../control/copilot/sessions/copilot.ts'
import { Feed } from '../../../control/copilot/sessions/feed.ts'
import { newId } from '../../../control/kernel/ids.ts'
import { ONLY_NODE } from '../../../control/kernel/store/node.ts'
import { openStore } from '../../../control/kernel/store/store.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { passageSearch } from '../../../control/knowledge/passage-search.ts'
import { ModelMeter } from '../../../control/models/meter.ts'
import type { ChatModel, ChatPart } from '../../../control/models/model.ts'
import { wantReview } from '../../../control/quality/want-review.ts'
import { buildJobs } from '../../../control/wiring/background.ts'
import { NOT_PAUSED } from '../../../media/protocol.ts'
import { makeClock } from '../app-harness.ts'
import { makeCall } from '../conformance/objects.ts'
import { allRows } from '../conformance/rows.ts'
import { makeDatabase } from '../database.ts'
import { APP_CONFIG, makeWholeApp, VAULT, type WholeApp } from '../whole-app.ts'
import { PROFILE } from './profiles.ts'

interface Saying {
  isFinal?: boolean
  id?: string
  /** How long ago it was said when it is reported [ms]. */
  agoMs?: number
}

/** A call with a copilot and a transcript, which records everything that is sent or stored. */
export interface WatchedCall {
  world: WholeApp
  /** ID of the session. */
  id: string
  callId: string
  /** Says something; interim words are for the copilot only. */
  say: (party: 'agent' | 'customer', text: string, more?: Saying) => Promise<void>
  /** Begins or ends a card payment. */
  pause: (isPaused: boolean) => Promise<void>
  copilot: Copilot
  look: () => Promise<void>
  /** Ends the call and its transcript, and runs everything that follows. */
  end: (config?: object) => Promise<void>
  seen: string[]
  close: () => Promise<void>
}

export async function watchCall(): Promise<WatchedCall> {
  const database = await makeDatabase()
  const seen: string[] = []
  const log = pino({ level: 'trace' }, new Writable({ write: (line, _, done) => done(void seen.push(`log ${line}`)) }))
  const feed = new Feed()
  const config = { ...APP_CONFIG, allowPrivateUrls: ['127.0.0.0/8'] }
  const clock = makeClock()
  const opened = await openStore(database.target, ONLY_NODE, clock.steadyMs)
  const world = { ...(await makeWholeApp({ log, vault: VAULT, config, now: clock.now }, opened)), clock }
  const tenant = { organisationId: world.ours.organisationId, livemode: true }
  const { store } = world
  const at = (): string => clock.now().toISOString()
  const search = passageSearch(store.engine)
  const copilot = new Copilot({ store, now: clock.now, log, feed, search, vault: VAULT })
  const model: ChatModel = {
    name: 'listener',
    async *chat({ instructions, messages }): AsyncGenerator<ChatPart> {
      seen.push(`prompt ${instructions} ${JSON.stringify(messages)}`)
      yield { kind: 'text', text: '{"items":[],"fields":[],"objection":{"key":"","answer":""}}' }
    },
  }
  const models = { for: () => [model] }
  const deep = new DeepPath({
    store,
    now: clock.now,
    feed,
    log,
    models: models as never,
    limit: new CallLimit(),
    meter: new ModelMeter({ store, now: clock.now, log: { warn() {} } as never, prices: new Map() }),
    search,
  })
  feed.onTold((_row, messages) => void seen.push(`told ${JSON.stringify(messages)}`))
  const { id: callId = '', participant_id: agentLeg = '' } = await makeCall({
    ...{ world: world as never, tenant },
    ask: async () => ({}),
  })
  const profile = await world.live('POST /v1/copilot_profiles', { name: 'Sales', ...PROFILE })
  const started = await world.live(`POST /v1/calls/${callId}/copilot`, { profile_id: profile.body.id })
  assert.is(started.status, 201, started.text)
  const id = started.body.id
  const scoped = forTenant(store.db, tenant)
  const row = await scoped.find('participants', agentLeg)
  const customerLeg = 'part_01k9000000000000000000000z'
  await scoped.insert('participants', { ...row, id: customerLeg } as never)
  const rung = { role: 'agent', ring_id: newId('ring') } as const
  await scoped.update('participants').set(rung).where('id', '=', agentLeg).execute()
  const transcript = { id: callId, language: 'en', duration_ms: null, created: at(), failed_reason: null }
  await scoped.insert('transcripts', { ...transcript, status: 'running' })
  const began = clock.now().getTime()
  const written = { store, now: clock.now, vault: VAULT }
  let serial = 0
  return {
    ...{ world, id, callId, copilot, seen },
    say: async (party, text, { isFinal = true, id: utteranceId = `u${++serial}`, agoMs = 200 } = {}) => {
      clock.advance(1500)
      const legId = party === 'agent' ? agentLeg : customerLeg
      const body = { transcriptId: id, legId, utteranceId, text, isFinal, beganAgoMs: agoMs + 1000, endedAgoMs: agoMs }
      const event = { name: 'transcript.words', at: at(), body } as const
      await store.transaction(trx => copilot.on(trx, event))
      seen.push(`inputs ${(await allRows(store, ['copilot_inputs'])).get('copilot_inputs')}`)
      await copilot.deal(id)
      await deep.idle()
      if (!isFinal) return
      const nowMs = clock.now().getTime() - began
      const segment = {
        transcriptId: callId,
        legId,
        speaker: 'party',
        text,
        startMs: nowMs - agoMs - 1000,
        endMs: nowMs - agoMs,
      }
      const name = 'transcript.segment'
      await store.transaction(trx => onTranscriptEvent(written, trx, { name, at: at(), body: segment } as never))
    },
    pause: async isPaused => {
      const pausedAt = at()
      const on = { paused: true, reason: 'payment', pausedAt, resumesAt: null, destinationLegId: null }
      const state = (isPaused ? on : NOT_PAUSED) as never
      await store.transaction(async trx => {
        const call = await forTenant(trx, tenant).find('calls', callId)
        if (call !== undefined) await applyCapture(trx, call, { id: callId, state }, pausedAt)
      })
    },
    look: async () => {
      for (const [table, rows] of await allRows(store)) seen.push(`${table} ${withoutHex(rows)}`)
      seen.push((await world.live(`GET /v1/copilot_sessions/${id}`)).text)
      seen.push((await world.live(`GET /v1/copilot_sessions/${id}/stream`)).text)
      if (store.engine !== 'sqlite') return
      // The files also contain what was written and deleted.
      const dir = dirname(database.target)
      for (const file of readdirSync(dir)) seen.push(readFileSync(join(dir, file), 'latin1'))
    },
    end: async (more = {}) => {
      clock.advance(1000)
      await scoped.update('calls').set({ ended_at: at(), status: 'completed' }).where('id', '=', callId).execute()
      await copilot.tick()
      await copilot.idle()
      await deep.idle()
      const durationMs = clock.now().getTime() - began
      const ready = { name: 'transcript.ready', at: at(), body: { transcriptId: callId, durationMs } } as const
      await store.transaction(trx => onTranscriptEvent(written, trx, ready))
      await store.transaction(trx => wantReview(trx, tenant, callId, at()))
      const jobs = buildJobs({ store, config: { ...config, ...more }, vault: VAULT, now: clock.now, log })
      await jobs.runDue()
      await jobs.runDue()
      await jobs.close()
    },
    close: async () => {
      await copilot.idle()
      await deep.close()
      await world.close()
      await database.remove()
    },
  }
}

/** SQLite quotes bytes as X'…' in hex, in which digits look different, so they are decoded. */
const withoutHex = (rows: string): string =>
  rows.replaceAll(/X'([\dA-F]*)'/g, (_, hex: string) => Buffer.from(hex, 'hex').toString('latin1'))

/** ULIDs, UUIDs and SHA-256 digests, which in some runs contain the four digits by chance. */
const RANDOM = /01[a-z][\da-hjkmnp-tv-z]{23}|[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|[\da-f]{64}/gi

/** Times may contain them in their milliseconds. */
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g

/** Spaces and dots between digits. */
const GAPS = /(?<=\d)[ .-](?=\d)/g

/**
 * Asserts that none of these is in what was seen, also not with spaces or dots between the digits. Random text and times are looked for only where something
 * was found: what is not in the whole text is not in the rest of it either, and there are thousands of texts, many of them the same.
 */
export function hasNone(seen: readonly string[], digits: readonly string[]): void {
  for (const text of new Set(seen)) {
    if (!hasAny(text, digits)) continue
    const rest = text.replaceAll(RANDOM, '…').replaceAll(TIME, '…')
    assert.not.ok(hasAny(rest, digits), `one of ${digits} in ${text.slice(0, 300)}`)
  }
}

function hasAny(text: string, digits: readonly string[]): boolean {
  const plain = text.replaceAll(GAPS, '')
  return digits.some(piece => plain.includes(piece))
}
