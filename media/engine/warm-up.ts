import { FRAME_MS } from '../../codecs/audio.ts'
import type { SrtpKeys } from '../../sip/sdp/sdes.ts'
import { inTurns, isFailure, REHEARSED_CALLS, type RoomSpec } from '../protocol.ts'
import { NO_SPEECH_TO_TEXT } from '../speech/speech-engines.ts'
import { WarmStreams } from '../streams/warm-streams.ts'
import { Lateness, SLOTS } from './clock.ts'
import { Engine, type EngineOptions } from './engine.ts'
import { type Kind, WarmParty } from './warm-party.ts'

/** Frames of 20 ms, for each of eight legs, at full speed, and three forks: some 400 ms of a core, enough to compile the packet path. */
const TICKS = 400
/**
 * And so many before these, of legs that end then. V8 compiles for what each field of an object has held: the first value of another kind, or
 * the first object made after it, throws away all that was compiled for objects of that class. So all kinds have been there before.
 */
const FIRST_TICKS = 100
/** Visitors meanwhile. */
const FIRST_VISITS = 3
/** Limits the delay of the start on a slow machine [ms]. */
const LIMIT_MS = 1500
/** As a real clock: no integers. */
const FIRST_MS = 1000.123
/** As its ticks: some are later than others. */
const LATE_MS = 0.21

const KEYS = ['MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNk', 'YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3'] as const
const srtp = (sendKey: string, receiveKey: string): SrtpKeys => ({
  suite: 'AES_CM_128_HMAC_SHA1_80',
  sendKey,
  receiveKey,
})

/** The members of a room: each law, keys as events and as tones, encrypted and not. */
const KINDS: readonly Kind[] = [
  { codec: 'PCMU', telephoneEvent: true, srtp: null },
  { codec: 'PCMA', telephoneEvent: false, srtp: null },
  { codec: 'PCMU', telephoneEvent: true, srtp: { ours: srtp(KEYS[0], KEYS[1]), theirs: srtp(KEYS[1], KEYS[0]) } },
]

/** Two who hear nobody else: their packets are relayed. */
const PAIR: readonly Kind[] = [KINDS[0]!, KINDS[0]!]
const FIRST_CALLS: readonly (readonly Kind[])[] = [KINDS, PAIR]
const CALLS: readonly (readonly Kind[])[] = [KINDS, KINDS, PAIR]
/** The legs of this call have forks. */
const FORKED = 'warm_forked'
/** Their receiver reads after so many ticks: before they wait for it. */
const READ_EVERY = 4

/**
 * The engine of the warm-up, its legs, its rooms and their forks. What is compiled refers weakly to the layouts of objects: if none of a class
 * were alive after a pause without calls, the layout would go, and the compiled code would look each field up for the rest of the process (a
 * third more CPU for a leg).
 */
const kept: (Engine | WarmStreams | null)[] = []

/**
 * Runs simulated calls through an engine of their own, with a clock of their own, so that the path of packets and frames
 * is compiled before the first call, and stays so. Otherwise its first minute would be interpreted, many times slower. Nothing that they leave behind does anything.
 * @param together what is sent during `work` may be sent together, as in a slot of the clock
 * @returns number of frames run; `rehearse`: makes calls, beside real ones, so that what begins and ends a leg is compiled too
 */
export async function warmUp(
  options: EngineOptions,
  together: (work: () => void) => void = work => work(),
): Promise<{ ticks: number; rehearse: (calls?: number) => Promise<void> }> {
  let now = FIRST_MS
  let opening: WarmParty | null = null
  const streams = await WarmStreams.open(FORKED)
  const engine = new Engine({
    ...options,
    emit: () => {},
    emitOwn: () => {},
    over: () => {},
    end: () => {},
    sendKey: () => {},
    report: () => {},
    cross: () => {},
    attend: () => {},
    sinks: streams === null ? [] : [streams.noun],
    hearing: { ...options.hearing, stt: NO_SPEECH_TO_TEXT },
    clock: { late: 0, skipped: 0, slots: 0, behind: 0, lateness: new Lateness(), start: () => {}, stop: () => {} },
    openSocket: async () => opening,
    now: () => now,
  })
  /** Node's sockets deliver a Buffer, our own ones do not. */
  const datagramOf = (bytes: Uint8Array): Uint8Array =>
    options.connections ? Uint8Array.from(bytes) : Buffer.from(bytes)

  /** A party in each of these rooms for each of its kinds. */
  async function enter(rooms: readonly (readonly [roomId: string, kinds: readonly Kind[]])[]): Promise<Party[]> {
    const parties: Party[] = []
    for (const [roomId, kinds] of rooms) {
      for (const kind of kinds) {
        const legId = `${roomId}_${parties.length}`
        opening = new WarmParty(kind, parties.length, datagramOf)
        parties.push({ legId, far: opening })
        const opened = await engine.do('leg.open', { legId, affinity: '', host: '' })
        if (!isFailure(opened)) opening.hears = opened.ssrc
        // Objects as messages bring them.
        engine.do('leg.connect', structuredClone({ legId, media: opening.media, enter: { ...ROOM, roomId } }))
      }
    }
    return parties
  }

  const limit = options.now() + LIMIT_MS

  async function run(parties: readonly Party[], ticks: number): Promise<number> {
    let tick = 0
    for (; tick < ticks && options.now() < limit; tick++) {
      for (const { far } of parties) far.speak(tick, now)
      const at = now + 5 + (tick % 4) * LATE_MS
      for (let slot = 0; slot < SLOTS; slot++) together(() => engine.tick(slot, at))
      now += FRAME_MS
      if (tick % READ_EVERY === 0) await streams?.read()
    }
    return tick
  }

  const visitor = new WarmParty(KINDS[0]!, 0, datagramOf)

  /** Somebody calls to hear themselves, is told so, and hangs up. */
  async function visit(legId: string): Promise<void> {
    opening = visitor
    const begin = { media: visitor.media, enter: { ...ROOM, roomId: legId, kind: 'echo' as const } }
    await engine.do('leg.open', { legId, affinity: '', host: '', begin })
    const sources = [{ kind: 'prompt' as const, name: 'echo' as const }]
    engine.do('leg.play', { legId, playId: 'echo', sources, loop: false, hangupAfter: null })
    await engine.do('leg.close', { legId })
  }

  const first = await enter(FIRST_CALLS.map((kinds, i) => [`warm_first_${i}`, kinds]))
  for (const { legId } of first)
    engine.do('leg.update', { legId, muted: false, deaf: false, heardBy: null, hears: null })
  await run(first, FIRST_TICKS)
  for (let i = 0; i < FIRST_VISITS; i++) await visit(`warm_visit_${i}`)
  for (const { legId } of first) await engine.do('leg.close', { legId })
  const parties = await enter(CALLS.map((kinds, i) => [i === 1 ? FORKED : `warm_${i}`, kinds]))
  await streams?.opened()
  const ticks = await run(parties, TICKS)
  await streams?.close()
  kept.splice(0, kept.length, engine, streams)
  return { ticks, rehearse: (calls = REHEARSED_CALLS) => inTurns(calls, visit) }
}

interface Party {
  legId: string
  far: WarmParty
}

const ROOM: Omit<RoomSpec, 'roomId'> = { kind: 'conference', chimes: false, musicWhenAlone: true, maxMembers: 10 }
