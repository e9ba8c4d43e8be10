import { FRAME_MS } from '../../codecs/audio.ts'
import type { SrtpKeys } from '../../sip/sdp/sdes.ts'
import { inTurns, isFailure, REHEARSED_CALLS, type RoomSpec } from '../protocol.ts'
import { NO_SPEECH_TO_TEXT } from '../speech/speech-engines.ts'
import { WarmStreams } from '../streams/warm-streams.ts'
import { Lateness, SLOTS } from './clock.ts'
import { Engine, type EngineOptions } from './engine.ts'
import { type Kind, WarmParty } from './warm-party.ts'

/** Frames of 20 ms, run at full speed for eight legs and three forks: about 400 ms of a core, enough to compile the packet path. */
const TICKS = 400
/**
 * Frames before these, with legs that then end. V8 compiles for the kinds of values that each field has held, and discards that code at the
 * first value of another kind, or at the first object made after it. So all kinds have to occur first.
 */
const FIRST_TICKS = 100
/** Number of callers who come and go in these first frames. */
const FIRST_VISITS = 3
/** Limits the delay of the start on a slow machine [ms]. */
const LIMIT_MS = 1500
/** A fraction, as of a real clock. */
const FIRST_MS = 1000.123
/** Some ticks are late by this much, as in reality. */
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

/** Two parties alone in a call, so that their packets are relayed. */
const PAIR: readonly Kind[] = [KINDS[0]!, KINDS[0]!]
const FIRST_CALLS: readonly (readonly Kind[])[] = [KINDS, PAIR]
const CALLS: readonly (readonly Kind[])[] = [KINDS, KINDS, PAIR]
/** The legs of this call have forks. */
const FORKED = 'warm_forked'
/** Their receiver reads every so many ticks, before the forks would wait for it. */
const READ_EVERY = 4

/**
 * Keeps the engine of the warm-up alive, with its legs, rooms and forks. Compiled code refers weakly to the hidden classes of objects: if
 * no object of a class were left after a pause without calls, its hidden class would be collected, and the code would look up each field
 * from then on (a third more CPU for a leg).
 */
const kept: (Engine | WarmStreams | null)[] = []

/**
 * Runs simulated calls through an engine of their own, with a clock of their own, so that the path of packets and frames is compiled before
 * the first call, and stays so. Otherwise the first minute of calls would be interpreted, many times slower. What the simulated calls leave
 * behind is inactive. @param together what is sent during `work` may be sent together, as in a slot of the clock @returns number of frames
 * run; `rehearse`: makes calls, beside real ones, so that what begins and ends a leg is compiled too
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

  /** Adds a party of each kind to each of these rooms. */
  async function enter(rooms: readonly (readonly [roomId: string, kinds: readonly Kind[]])[]): Promise<Party[]> {
    const parties: Party[] = []
    for (const [roomId, kinds] of rooms) {
      for (const kind of kinds) {
        const legId = `${roomId}_${parties.length}`
        opening = new WarmParty(kind, parties.length, datagramOf)
        parties.push({ legId, far: opening })
        const opened = await engine.do('leg.open', { legId, affinity: '', host: '' })
        if (!isFailure(opened)) opening.hears = opened.ssrc
        // Cloned, since objects from messages have the same hidden classes.
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

  /** A call to the echo, with an announcement, that hangs up. */
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
