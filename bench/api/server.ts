/**
 * The process that is measured: the API with a database on disk, without media, and bare Fastify routes. Its arguments are a folder for the databases
 * and the number of callbacks to create. It is bundled as the product is (`bundle.ts`).
 */
import { join } from 'node:path'
import { sql } from 'kysely'
import { pino } from 'pino'
import { insertParty } from '../../control/calls/records.ts'
import { newId } from '../../control/kernel/ids.ts'
import { openStore, type Store } from '../../control/kernel/store/store.ts'
import { forTenant, type Tenant } from '../../control/kernel/tenancy.ts'
import { vaultOf } from '../../control/kernel/vault.ts'
import { buildApp } from '../../control/wiring/app.ts'
import { addOrganisation } from '../../control/wiring/first-start.ts'
import type { AppParts } from '../../control/wiring/parts.ts'
import { bareServer } from './bare.ts'
import { type Copy, CPU, type Served } from './messages.ts'

const HOST = '127.0.0.1'
const CALLS = 10_000
const ROWS_AT_ONCE = 400
/** No rate limit, or nothing else would be measured. */
const UNLIMITED = { burst: 1e9, perSecond: 1e9 }
/** What media reports at the end of a leg. */
const QUALITY = JSON.stringify({
  ...{ codec: 'PCMU', packetsReceived: 3012, packetsSent: 3010, packetsLost: 2, packetsLate: 1, lossPct: 0.07 },
  ...{ concealedPct: 0.1, burstRatio: 1, jitterMs: 1.4, roundTripMs: 22, delayMs: 60, driftPpm: 8, mos: 4.3 },
})

const [folder, callbackCount] = process.argv.slice(2) as [string, string]
const callbacks = Number(callbackCount)
const now = (): Date => new Date()
const store = await openStore(join(folder, 'tandem.db'))
const { organisationId, keys } = await store.transaction(trx =>
  addOrganisation(trx, { name: 'Bench', pciEnabled: false, now: now() }),
)
const tenant: Tenant = { organisationId, livemode: true }
const media = {
  state: 'ready',
  counters: {},
  batchSizes: { bounds: [], counts: [], sum: 0, count: 0 },
  request: async () => ({ failure: 'not_found', message: 'no media here' }),
  settled: async () => {},
}
const config: AppParts['config'] = {
  ...{ allowPrivateUrls: [], dataDir: folder, httpHost: HOST, httpPort: 0, publicIps: [], sipHosts: [HOST] },
  maxObjects: 1000,
}
const parts = { store, media, config, vault: vaultOf(Buffer.alloc(32, 7)), now, log: pino({ level: 'silent' }) }
const app = await buildApp({ ...parts, rate: UNLIMITED } as unknown as AppParts)

/** Sends a request through the API, as a client would. */
async function ask(method: 'GET' | 'POST', path: string, body?: object) {
  const headers = { authorization: `Bearer ${keys.live}` }
  const response = await app.inject({ method, url: path, headers, ...(body && { payload: body }) })
  if (response.statusCode >= 300) throw new Error(`${method} ${path} answered ${response.payload}`)
  return response
}

const make = async (path: string, body: object): Promise<string> => (await ask('POST', `/v1${path}`, body)).json().id

/** Creates calls that have ended, as most have. */
async function makeCalls(store: Store): Promise<string[]> {
  const party = { direction: 'inbound', to: 'sip:1002@127.0.0.1', from: 'sip:alice@127.0.0.1', target: 'echo' } as const
  const rest = { roomId: null, connectionId: null, record: false, metadata: {}, role: 'member', muted: false } as const
  const at = now().toISOString()
  const ended = { status: 'completed', answered_at: at, ended_at: at, ended_reason: 'caller_hangup' } as const
  const ids = Array.from({ length: CALLS }, () => newId('call'))
  for (let from = 0; from < CALLS; from += ROWS_AT_ONCE) {
    await store.transaction(async trx => {
      const scoped = forTenant(trx, tenant)
      for (const callId of ids.slice(from, from + ROWS_AT_ONCE)) {
        await insertParty(trx, tenant, { ...party, ...rest, callId, legId: newId('participant') }, at)
        await scoped.update('calls').set(ended).where('id', '=', callId).execute()
        // Directly in the table: through the conductor, each would cause events.
        await sql`update participants set step = 'ended', joined_at = ${at}, left_at = ${at}, quality = ${QUALITY}
          where call_id = ${callId}`.execute(trx)
      }
    })
  }
  return ids
}

/** Creates callbacks that are closed, as most are after years: copies of one that was booked through the API. */
async function makeCallbacks(store: Store): Promise<object> {
  const id = await make('/callbacks', { phone: '+972501234567', name: 'Dana' })
  const scoped = forTenant(store.db, tenant)
  const row = await scoped.find('callbacks', id)
  if (row === undefined) throw new Error('the callback is not there')
  const closed = { ...row, open_phone: null, status: 'completed' as const, completed_at: row.created }
  await scoped.update('callbacks').set({ open_phone: null, status: 'completed' }).where('id', '=', id).execute()
  await store.transaction(async trx => {
    for (let made = 1; made < callbacks; made += ROWS_AT_ONCE) {
      const length = Math.min(ROWS_AT_ONCE, callbacks - made)
      const rows = Array.from({ length }, () => ({ ...closed, id: newId('callback') }))
      await trx.insertInto('callbacks').values(rows).execute()
    }
  })
  return row
}

const calls = await makeCalls(store)
const ids = {
  call: calls[CALLS / 2] as string,
  queue: await make('/queues', { name: 'Bench' }),
  assistant: await make('/assistants', { name: 'Bench' }),
}
const bare = await bareServer(join(folder, 'bare.db'), (await makeCallbacks(store)) as { id: string; phone: string })

const portOf = (address: string): number => Number(new URL(address).port)
const served: Served = {
  port: portOf(await app.listen({ host: HOST, port: 0 })),
  barePort: portOf(await bare.app.listen({ host: HOST, port: 0 })),
  key: keys.live,
  ids,
  calls,
  callbacks,
}
process.on('disconnect', () => process.exit(0))
process.on('message', async (asked: typeof CPU | Copy) => {
  if (asked === CPU) {
    const { user, system } = process.cpuUsage()
    process.send?.((user + system) / 1000)
    return
  }
  const { payload } = await ask('GET', asked.copy)
  bare.serve(JSON.parse(payload))
  process.send?.(Buffer.byteLength(payload))
})
process.send?.(served)
