import type { campaignSchema } from '../../../control/campaigns/schema.ts'
import type { AttemptRow, ContactRow } from '../../../control/campaigns/tables.ts'
import { forTenant } from '../../../control/kernel/tenancy.ts'
import { buildApp } from '../../../control/wiring/app.ts'
import { buildDialler } from '../../../control/wiring/background.ts'
import type { AppParts } from '../../../control/wiring/parts.ts'
import type { EndedReason } from '../../../media/protocol.ts'
import type { ModelLeg } from '../../fakes/media-model.ts'
import { type Answer, ask, silent } from '../app-harness.ts'
import { makeQueueWorld, type QueueWorld } from '../queues/queue-world.ts'
import { APP_CONFIG, DEAF_MEDIA, VAULT } from '../whole-app.ts'

/** A queue world with the API over it, a trunk, and the dialler. */
export interface CampaignWorld {
  world: QueueWorld
  /** A request with the live key of our organisation; fails unless it succeeds. */
  ask(line: string, body?: object): Promise<Answer['body']>
  /** A request with the live key, whatever its answer. */
  answer(line: string, body?: object): Promise<Answer>
  /** A running campaign of an assistant over these numbers. */
  start(numbers: readonly string[], settings?: object): Promise<string>
  /** Runs the dialler once. */
  look(isDraining?: boolean): Promise<void>
  /** Dials what is due, and lets everything that follows happen. */
  dial(): Promise<void>
  /** Lets time pass, and dials what is due then. */
  later(ms: number): Promise<void>
  /** The leg to a number that rings or talks. */
  leg(phone: string): ModelLeg | undefined
  end(phone: string, reason: EndedReason): Promise<void>
  contact(phone: string): Promise<ContactRow>
  attempts(): Promise<AttemptRow[]>
  dialled(): string[]
  close(): Promise<void>
}

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
/** Settings by which contacts are called at any time, without pauses. */
export const EAGER = {
  allowed_hours: null,
  calls_per_second: 50,
  caps: { per_number_per_day: null },
} satisfies Partial<Record<keyof (typeof campaignSchema)['properties'], unknown>>

export async function makeCampaignWorld(
  more: Parameters<typeof makeQueueWorld>[0] = {},
  livemode = true,
): Promise<CampaignWorld> {
  const world = await makeQueueWorld(more, livemode)
  const { store, clock, ours, tenant, media } = world
  const parts = { store, media: DEAF_MEDIA, config: APP_CONFIG, vault: VAULT, now: clock.now, log: silent }
  const app = await buildApp(parts as unknown as AppParts)
  const scoped = forTenant(store.db, tenant)
  const answer = (line: string, body?: object) =>
    ask(app, line, { key: livemode ? ours.keys.live : ours.keys.test, ...(body === undefined ? {} : { body }) })
  const succeed = async (line: string, body?: object) => {
    const answered = await answer(line, body)
    if (answered.status >= 300) throw new Error(`${line}: ${answered.text}`)
    return answered.body
  }
  await succeed('POST /v1/connections', { name: 'Trunk', kind: 'trunk', host: '93.184.216.34' })
  const { id: assistant_id } = await succeed('POST /v1/assistants', { name: 'Caller' })
  const dialler = buildDialler({ store, now: clock.now, log: silent })
  const dialled: string[] = []
  const { carryOut } = media
  media.carryOut = ((name: string, body: { target?: { uri?: string } }) => {
    const reply = carryOut.call(media, name as never, body as never)
    const phone = /\+\d+/.exec(body.target?.uri ?? '')?.[0]
    // Only contacts have a number; agents' phones have none.
    if (name === 'leg.dial' && !('failure' in reply) && phone !== undefined) dialled.push(phone)
    return reply
  }) as never
  const whole: CampaignWorld = {
    world,
    ask: succeed,
    answer,
    start: async (numbers, settings = {}) => {
      const led = 'queue_id' in settings ? {} : { assistant_id }
      const { id } = await succeed('POST /v1/campaigns', { name: 'Reminders', ...led, ...EAGER, ...settings })
      await succeed(`POST /v1/campaigns/${id}/contacts`, { contacts: numbers.map(phone => ({ phone })) })
      await succeed(`POST /v1/campaigns/${id}/start`)
      return id
    },
    look: (isDraining = false) => dialler.run({ state: 'ready', isDraining }),
    dial: async () => {
      await whole.look()
      await world.settle()
    },
    later: async ms => {
      await world.later(ms)
      await whole.dial()
    },
    leg: phone => [...media.legs.values()].find(leg => leg.dialled.includes(phone)),
    end: async (phone, reason) => {
      media.hangUp(whole.leg(phone)!.legId, reason)
      await world.settle()
    },
    contact: async phone => (await scoped.findBy('campaign_contacts', { phone }))!,
    attempts: () => scoped.select('campaign_attempts').selectAll().orderBy('id').execute(),
    dialled: () => dialled,
    close: async () => {
      await app.close()
      await world.close()
    },
  }
  return whole
}
