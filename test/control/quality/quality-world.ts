import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { newId } from '../../../control/kernel/ids.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { wantReview } from '../../../control/quality/want-review.ts'
import { buildJobs } from '../../../control/wiring/background.ts'
import { askingBy } from '../../../control/wiring/wire-programs.ts'
import { silent } from '../app-harness.ts'
import { makeCall, makerOf } from '../conformance/objects.ts'
import { makeProduct, type ProductWorld } from '../conformance/product.ts'
import { APP_CONFIG, VAULT } from '../whole-app.ts'

export type Said =
  | ['agent' | 'customer' | 'product', string]
  | ['agent' | 'customer' | 'product', string, number, number]

/** The product with ended calls, whose words the test makes up. */
export interface QualityWorld extends ProductWorld {
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  api(line: string, body?: object): Promise<any>
  /** Creates a profile, and a queue that uses it; returns both IDs. */
  profile(settings: object): Promise<{ profileId: string; queueId: string }>
  /** Creates an ended call with its transcript, not yet reviewed. A line without times takes two seconds. */
  call(said: readonly Said[], more?: { queueId?: string; userId?: string; language?: string | null }): Promise<string>
  /** Runs the jobs that follow from an ended call. */
  review(callId: string, config?: object): Promise<void>
  /** Runs the jobs that are due. */
  runJobs(config?: object): Promise<void>
}

/** What a model was asked. */
export interface Asked {
  messages: { role: string; content: string }[]
}

/** A provider on a real socket that answers each request with this object, or with a status. */
export async function withModel(
  answer: () => object | number | Promise<object>,
  run: (config: object, asked: Asked[]) => Promise<void>,
): Promise<void> {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    asked.push(JSON.parse(text))
    const given = await answer()
    if (typeof given === 'number') return response.writeHead(given).end()
    const usage = { prompt_tokens: 1000, completion_tokens: 100 }
    response.end(JSON.stringify({ choices: [{ message: { content: JSON.stringify(given) } }], usage }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const modelUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  try {
    await run({ modelUrl, modelKey: 'key', modelName: 'm' }, asked)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const LINE_MS = 2000

export async function makeQualityWorld(): Promise<QualityWorld> {
  const world = await makeProduct()
  const maker = makerOf(world)
  const { store, clock, ours } = world
  const scoped = forTenant(store.db, maker.tenant)
  const api = async (line: string, body?: object) => {
    const answer = await world.ask(line, { key: ours.keys.live, ...(body && { body }) })
    if (answer.status >= 300) throw new Error(`${line}: ${answer.text}`)
    return answer.body
  }
  const runJobs = async (config: object = {}): Promise<void> => {
    const parts = { store, vault: VAULT, now: clock.now, log: silent }
    const app = { ...parts, config: { ...APP_CONFIG, dataDir: world.dataDir, ...config } }
    const asking = askingBy(app)
    const jobs = buildJobs({ ...app, asking })
    await jobs.runDue()
    await jobs.close()
    // The usage of models is stored after a job has ended.
    await asking.meter.idle()
  }
  return {
    ...world,
    api,
    profile: async settings => {
      const { id: profileId } = await api('POST /v1/copilot_profiles', { name: 'Profile', ...settings })
      const { id: queueId } = await api('POST /v1/queues', { name: 'Support', copilot_profile_id: profileId })
      return { profileId, queueId }
    },
    call: async (said, { queueId, userId, language = 'en' } = {}) => {
      const { id = '', participant_id: customer = '' } = await makeCall(maker, { ended: true })
      const at = clock.now().toISOString()
      const agent = newId('participant')
      const leg = await scoped.select('participants').selectAll().where('id', '=', customer).executeTakeFirstOrThrow()
      const { organisation_id: _o, livemode: _l, ...columns } = leg
      await scoped.insert('participants', { ...columns, id: agent, role: 'agent', ring_id: newId('ring') })
      const last = said.at(-1)
      const ended = last?.[3] ?? said.length * LINE_MS
      const of = { queue_id: queueId ?? null, user_id: userId ?? null, duration_ms: ended, created: at }
      await scoped.update('calls').set(of).where('id', '=', id).execute()
      const transcript = { id, language, duration_ms: ended, created: at, failed_reason: null }
      await scoped.insert('transcripts', { ...transcript, status: 'ready' })
      for (const [i, [side, text, from = i * LINE_MS, to = from + LINE_MS - 200]] of said.entries()) {
        await scoped.insert('transcript_segments', {
          id: newId('transcript_segment'),
          call_id: id,
          participant_id: side === 'agent' ? agent : customer,
          speaker: side === 'product' ? 'product' : 'participant',
          text,
          start_ms: from,
          end_ms: to,
        })
      }
      return id
    },
    review: async (callId, config) => {
      await store.transaction(trx => wantReview(trx, maker.tenant, callId, clock.now().toISOString()))
      await runJobs(config)
    },
    runJobs,
  }
}
