import type { DialTarget, EndedReason, LegSnapshot, PlaySource, SipParty } from '../../media/protocol.ts'
import type { Db, Trx } from '../kernel/store/store.ts'
import type { MediaPort } from '../media-link/events.ts'
import { CODECS } from '../trunks/codecs.ts'
import type { Of } from './steps/event-handler.ts'
import { follow } from './steps/follow.ts'

/** How long `+15005550004` lets it ring [ms]. */
const SLOW_ANSWER_MS = 10_000
const SHORT_CALL_MS = 3000

type Behaviour =
  | {
      kind: 'answer'
      echo?: boolean
      sources?: PlaySource[]
      loop?: boolean
      hangupAfter?: EndedReason
      afterMs?: number
    }
  | { kind: 'reject'; sipCode: number; reason: EndedReason }
  | { kind: 'ring' }

const prompt = (name: string): PlaySource => ({ kind: 'prompt', name })

/** Behaviour of the sandbox numbers. */
const SANDBOX_NUMBERS: Readonly<Record<string, Behaviour>> = {
  '+15005550001': { kind: 'reject', sipCode: 486, reason: 'busy' },
  '+15005550002': { kind: 'ring' },
  '+15005550003': { kind: 'reject', sipCode: 603, reason: 'rejected' },
  '+15005550004': { kind: 'answer', echo: true, afterMs: SLOW_ANSWER_MS },
  '+15005550005': { kind: 'answer', sources: [{ kind: 'silence', ms: SHORT_CALL_MS }], hangupAfter: 'agent_hangup' },
  '+15005550006': { kind: 'answer', echo: true },
  '+15005550007': { kind: 'answer', sources: [prompt('announcement'), { kind: 'silence', ms: 1000 }], loop: true },
}

const behaviourOf = (number: string): Behaviour | undefined =>
  Object.hasOwn(SANDBOX_NUMBERS, number) ? SANDBOX_NUMBERS[number] : undefined

export const isSandboxNumber = (number: string): boolean => behaviourOf(number) !== undefined

/** A sandbox number is reached at our own SIP address. The caller is identified by its leg, so nobody else can call it. */
export const sandboxTarget = (number: string, legId: string, sip: { host: string; port: number }): DialTarget => ({
  uri: `sip:${number}@${sip.host}:${sip.port}`,
  from: { uri: `sip:${legId}@${sip.host}` },
  hosts: [],
  publicOnly: false,
  credentials: null,
  codecs: CODECS,
})

/** Whether an inbound leg is the far end of our own test call to a sandbox number. */
async function isOurs(db: Db, to: SipParty, from: SipParty): Promise<boolean> {
  if (!isSandboxNumber(to.user)) return false
  const caller = await db
    .selectFrom('participants')
    .innerJoin('calls', 'calls.id', 'participants.call_id')
    .select(['participants.address', 'calls.to_address'])
    .where('participants.id', '=', from.user)
    .where('calls.livemode', '=', 0)
    .where('calls.ended_at', 'is', null)
    .executeTakeFirst()
  // A party that is rung for a call, for example by a transfer, has an address of its own.
  return (caller?.address ?? caller?.to_address) === to.user
}

/** Answers a test call as the sandbox number does; false: it is none. Such a leg has no rows: it belongs to the engine. */
export async function onSandboxCall(trx: Trx, { body }: Of<'leg.incoming'>): Promise<boolean> {
  const { legId, to, from } = body
  const behaviour = (await isOurs(trx, to, from)) ? behaviourOf(to.user) : undefined
  if (behaviour === undefined) return false
  follow(trx, legId, ({ media }) => behave(media, legId, behaviour))
  return true
}

/** After a reconnect: whether this leg is a sandbox number's. If it still has to answer, it does. */
export async function resumeSandboxLeg(leg: LegSnapshot, media: MediaPort): Promise<boolean> {
  const behaviour = leg.direction === 'inbound' ? behaviourOf(leg.to.user) : undefined
  if (behaviour === undefined) return false
  if (leg.state === 'incoming') await behave(media, leg.legId, behaviour)
  return true
}

async function behave(media: MediaPort, legId: string, behaviour: Behaviour): Promise<void> {
  if (behaviour.kind === 'ring') await media.request('leg.ring', { legId })
  else if (behaviour.kind === 'reject') {
    const { sipCode, reason } = behaviour
    await media.request('leg.reject', { legId, sipCode, reason })
  } else if (behaviour.afterMs === undefined) await answer(media, legId, behaviour)
  else {
    await media.request('leg.ring', { legId })
    setTimeout(() => void answer(media, legId, behaviour), behaviour.afterMs).unref()
  }
}

async function answer(media: MediaPort, legId: string, behaviour: Behaviour & { kind: 'answer' }): Promise<void> {
  const { echo = false, sources, loop = false, hangupAfter = null } = behaviour
  const room = { roomId: legId, kind: echo ? ('echo' as const) : ('call' as const), chimes: false }
  const reply = await media.request('leg.answer', {
    legId,
    room: { ...room, musicWhenAlone: false, maxMembers: 1 },
    affinity: legId,
    codecs: CODECS,
  })
  if ('failure' in reply || sources === undefined) return
  await media.request('leg.play', { legId, playId: 'sandbox', sources, loop, hangupAfter })
}
