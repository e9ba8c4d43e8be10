import { FRAME_MS, type Frame } from '../../codecs/audio.ts'
import { LAWS, type LawName } from '../../codecs/g711.ts'
import { dtmfTone } from '../../codecs/tones.ts'
import type { SrtpKeys } from '../../sip/sdp/sdes.ts'
import type { LegMedia } from '../legs/leg-media.ts'
import { inTurns, REHEARSED_CALLS, type RoomSpec } from '../protocol.ts'
import { LEG_SAMPLES } from '../rooms/leg.ts'
import type { PacketOut } from '../rtp/packet-out.ts'
import { RTP_HEADER_BYTES, RtpSender } from '../rtp/rtp.ts'
import type { RtpReceiver } from '../rtp/rtp-socket.ts'
import { NO_SPEECH_TO_TEXT } from '../speech/speech-engines.ts'
import { SrtpWire } from '../srtp/srtp-wire.ts'
import { WarmStreams } from '../streams/warm-streams.ts'
import { Lateness, SLOTS } from './clock.ts'
import { Engine, type EngineOptions } from './engine.ts'
import type { LegSocket } from './legs.ts'

/** Frames of 20 ms, for each of eight legs, at full speed, and three forks: some 400 ms of a core, enough to compile the packet path. */
const TICKS = 400
/** Limits the delay of the start on a slow machine [ms]. */
const LIMIT_MS = 1500
const HOST = '192.0.2.1'
const TELEPHONE_EVENT = 101
/** One of this many packets is lost. */
const LOST_EVERY = 40
/** Interval and duration of a key press [ticks]. */
const KEY_EVERY = 150
const KEY_TICKS = 6

interface Kind {
  codec: LawName
  telephoneEvent: boolean
  srtp: { ours: SrtpKeys; theirs: SrtpKeys } | null
}

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
const CALLS: readonly (readonly Kind[])[] = [KINDS, KINDS, PAIR]
/** The legs of this call have forks. */
const FORKED = 1
/** Their receiver reads after so many ticks: before they wait for it. */
const READ_EVERY = 4

/**
 * The engine of the warm-up, its legs, its rooms and their forks. What is compiled refers weakly to the layouts of objects: if none of a class
 * were alive after a pause without calls, the layout would go, and the compiled code would look each field up for the rest of the process (a
 * third more CPU for a leg).
 */
const kept: (Engine | WarmStreams | null)[] = []

/** The sockets of a leg together with its far end: consumes what the leg sends, and makes what it receives. */
class WarmParty implements LegSocket {
  readonly port = 4000
  readonly sendRtp: PacketOut['sendRtp'] = () => {}
  readonly sendRtcp: PacketOut['sendRtcp'] = () => {}
  readonly #kind: Kind
  readonly #place: number
  readonly #sender: RtpSender
  readonly #way: PacketOut
  readonly #sound: Frame
  readonly #tone: Frame
  #receiver: RtpReceiver | null = null
  #now = 0
  #eventBegan = 0

  constructor(kind: Kind, place: number) {
    this.#kind = kind
    this.#place = place
    this.#sender = new RtpSender({ ssrc: place + 1, sequence: 1, timestamp: 0, maxPayload: LEG_SAMPLES })
    const deliver = (bytes: Uint8Array, length: number): void =>
      // As from a socket: a Buffer that is overwritten later.
      this.#receiver?.rtp(Buffer.from(bytes.buffer, bytes.byteOffset, length), HOST, 4000, this.#now)
    const out: PacketOut = { sendRtp: deliver, sendRtcp: () => {} }
    this.#way = kind.srtp === null ? out : new SrtpWire(out, kind.srtp.theirs)
    this.#sound = Int16Array.from({ length: 64 * LEG_SAMPLES }, (_, i) =>
      Math.round(3000 * Math.sin(i * (0.05 + place * 0.02)) * Math.sin(i / 4000) + 40 * Math.sin(i * i)),
    )
    this.#tone = dtmfTone(String(place), KEY_TICKS * FRAME_MS)
  }

  listen(receiver: RtpReceiver): void {
    this.#receiver = receiver
  }

  close(): void {
    this.#receiver = null
  }

  speak(tick: number, now: number): void {
    this.#now = now + (tick % 3)
    const inKey = (tick + 40 * this.#place) % KEY_EVERY
    if ((tick + this.#place) % LOST_EVERY === 0) this.#sender.sequence = (this.#sender.sequence + 1) & 0xffff
    else if (inKey < KEY_TICKS && this.#kind.telephoneEvent) this.#press(inKey)
    else this.#say(inKey < KEY_TICKS ? this.#tone : this.#sound, inKey < KEY_TICKS ? inKey : tick % 64)
    this.#sender.advance(LEG_SAMPLES)
  }

  #say(sound: Frame, frame: number): void {
    const law = LAWS[this.#kind.codec]
    const at = frame * LEG_SAMPLES
    law.encode(sound.subarray(at, at + LEG_SAMPLES), this.#sender.packet.subarray(RTP_HEADER_BYTES))
    this.#send(law === LAWS.PCMU ? 0 : 8, LEG_SAMPLES)
  }

  #press(step: number): void {
    const { packet, timestamp } = this.#sender
    if (step === 0) this.#eventBegan = timestamp
    const units = (step + 1) * LEG_SAMPLES
    packet.set([this.#place, step === KEY_TICKS - 1 ? 0x8a : 0x0a, units >> 8, units & 0xff], RTP_HEADER_BYTES)
    this.#send(TELEPHONE_EVENT, 4, this.#eventBegan)
  }

  #send(payloadType: number, length: number, timestamp?: number): void {
    const packet = this.#sender.write(payloadType, length, timestamp)
    this.#way.sendRtp(packet, RTP_HEADER_BYTES + length, HOST, 4000)
  }

  get media(): LegMedia {
    const payloadType = this.#kind.codec === 'PCMU' ? 0 : 8
    const event = this.#kind.telephoneEvent ? TELEPHONE_EVENT : null
    const remote = { host: HOST, port: 4000, rtcpHost: HOST, rtcpPort: 4001, rtcpMux: false, signallingHost: null }
    return {
      codec: this.#kind.codec,
      payloadType,
      receivePayloadTypes: [payloadType],
      telephoneEvent: { send: event, receive: event },
      remote: { ...remote, isReachable: true, isRtcpReachable: true },
      direction: 'sendrecv',
      dtmf: 'auto',
      srtp: this.#kind.srtp?.ours ?? null,
      webrtc: null,
    }
  }
}

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
  let now = 0
  let opening: WarmParty | null = null
  const streams = await WarmStreams.open(roomOf(FORKED))
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
  const parties: WarmParty[] = []
  for (const [call, kinds] of CALLS.entries()) {
    for (const kind of kinds) {
      const legId = `warm_${parties.length}`
      opening = new WarmParty(kind, parties.length)
      parties.push(opening)
      await engine.do('leg.open', { legId, affinity: '', host: '' })
      engine.do('leg.connect', { legId, media: opening.media, enter: { ...ROOM, roomId: roomOf(call) } })
    }
  }
  await streams?.opened()
  const limit = options.now() + LIMIT_MS
  let tick = 0
  for (; tick < TICKS && options.now() < limit; tick++) {
    for (const party of parties) party.speak(tick, now)
    for (let slot = 0; slot < SLOTS; slot++) together(() => engine.tick(slot, now + 5))
    now += FRAME_MS
    if (tick % READ_EVERY === 0) await streams?.read()
  }
  await streams?.close()
  kept.splice(0, kept.length, engine, streams)

  const visitor = new WarmParty(KINDS[0]!, parties.length)

  /** Somebody calls to hear themselves, is told so, and hangs up. */
  async function visit(legId: string): Promise<void> {
    opening = visitor
    const begin = { media: visitor.media, enter: { ...ROOM, roomId: legId, kind: 'echo' as const } }
    await engine.do('leg.open', { legId, affinity: '', host: '', begin })
    const sources = [{ kind: 'prompt' as const, name: 'echo' as const }]
    engine.do('leg.play', { legId, playId: 'echo', sources, loop: false, hangupAfter: null })
    await engine.do('leg.close', { legId })
  }

  return { ticks: tick, rehearse: (calls = REHEARSED_CALLS) => inTurns(calls, visit) }
}

const roomOf = (call: number): string => `warm_${call}`
const ROOM: Omit<RoomSpec, 'roomId'> = { kind: 'conference', chimes: false, musicWhenAlone: false, maxMembers: 10 }
