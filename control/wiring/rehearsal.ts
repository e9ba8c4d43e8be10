import pino from 'pino'
import {
  type CommandName,
  type EventName,
  type Events,
  inTurns,
  type MediaEvent,
  REHEARSED_CALLS,
} from '../../media/protocol.ts'
import { newId } from '../kernel/ids.ts'
import { openStore, type Trx } from '../kernel/store/store.ts'
import { forTenant } from '../kernel/tenancy.ts'
import { CURRENT_VERSION } from '../kernel/versions/current.ts'
import { passageSearch } from '../knowledge/passage-search.ts'
import { type EventSource, MediaEvents, type MediaPort } from '../media-link/events.ts'
import { WebhookDispatcher } from '../webhooks/dispatcher.ts'
import type { Post } from '../webhooks/http-post.ts'
import { newSigningKey } from '../webhooks/sign.ts'
import { buildDriver } from './background.ts'
import { seedDemo } from './demo.ts'
import { addOrganisation } from './first-start.ts'
import type { AppParts } from './parts.ts'

const party = (user: string) => ({ uri: `sip:${user}@127.0.0.1`, user, host: '127.0.0.1' })
const QUALITY = {
  ...{ codec: 'PCMU' as const, packetsReceived: 50, packetsSent: 50, packetsLost: 0, packetsLate: 0, lossPct: 0 },
  ...{ concealedPct: 0, burstRatio: 1, jitterMs: 0, roundTripMs: null, delayMs: 20, driftPpm: 0, mos: 4.4 },
}

/** Simulates media, with callers who hear themselves and hang up. */
class Callers implements MediaPort {
  readonly waitingSince = null
  readonly isDraining = false
  readonly #events: MediaEvents
  readonly #source: EventSource = { isOpen: () => true, acknowledge: () => {}, fail: () => {} }
  readonly #calling: string[] = []
  #seq = 0

  constructor(parts: Parameters<typeof buildDriver>[0]) {
    this.#events = new MediaEvents(buildDriver(parts), this, parts.log, '')
  }

  async call(legId: string): Promise<void> {
    const [to, from] = [party('1002'), party('+4930123456')]
    this.#tell('leg.incoming', { legId, to, from, source: { host: to.host }, sipCallId: legId, digest: null })
    this.#calling.push(legId)
  }

  /** Resolves once all have hung up. */
  async end(): Promise<void> {
    await this.#dealWith()
    for (const legId of this.#calling.splice(0))
      this.#tell('leg.ended', { legId, reason: 'caller_hangup', sipCode: null, quality: QUALITY })
    await this.#dealWith()
  }

  /** Every command succeeds. */
  async request(name: CommandName, body: object): Promise<never> {
    const { legId } = body as { legId: string }
    if (name === 'leg.answer') this.#tell('leg.answered', { legId })
    return { legId, state: 'answered', quality: QUALITY } as never
  }

  async settled(): Promise<void> {}

  isEnding(): boolean {
    return false
  }

  #tell<N extends EventName>(name: N, body: Events[N]): void {
    this.#events.push({ seq: ++this.#seq, event: { name, at: new Date().toISOString(), body } as MediaEvent })
  }

  async #dealWith(): Promise<void> {
    while (!this.#events.isEmpty) {
      await this.#events.drain(this.#source)
      await this.#events.idle()
    }
  }
}

/**
 * Makes calls with a database in memory, so that V8 compiles what a call and its webhooks need before real callers come. Otherwise the
 * first second of many calls runs interpreted while they wait.
 */
export async function rehearse(
  given: Pick<AppParts, 'config' | 'vault' | 'now'>,
  calls = REHEARSED_CALLS,
  post: Post = async () => ({ status: 204, body: '', retryAfter: undefined, isFromPublic: true }),
): Promise<void> {
  const parts = { ...given, store: await openStore(':memory:'), log: pino({ level: 'silent' }) }
  const { store, vault, now } = parts
  const at = now().toISOString()

  async function seed(trx: Trx): Promise<void> {
    const { organisationId } = await addOrganisation(trx, { name: 'Rehearsal', pciEnabled: true, now: now() })
    const tenant = { organisationId, livemode: true }
    const pins = { pinHash: '', moderatorPinHash: '' }
    await seedDemo(trx, tenant, { pins, search: passageSearch(store.engine), at })
    const id = newId('webhook_endpoint')
    const { algorithm, secret, publicKey } = newSigningKey('hmac')
    await forTenant(trx, tenant).insert('webhook_endpoints', {
      ...{ id, url: 'https://127.0.0.1/', description: null, status: 'enabled', event_types: '["*"]', metadata: '{}' },
      ...{ api_version: CURRENT_VERSION, algorithm, signing_key: vault.seal(secret, id), public_key: publicKey },
      ...{ created: at, updated: at },
    })
  }

  await store.transaction(seed)
  const dispatcher = new WebhookDispatcher({ ...parts, post, allowedNetworks: [], random: Math.random })
  dispatcher.start()
  const callers = new Callers(parts)
  try {
    await inTurns(
      calls,
      legId => callers.call(legId),
      () => callers.end(),
    )
  } finally {
    await dispatcher.close()
    await store.close()
  }
}
