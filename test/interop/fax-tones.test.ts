// Sleeps most: it waits while machines speak. What is late on a busy machine counts as lost, and only what is there is compared.
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { type Member, memberNamed } from '../../bench/members.ts'
import { pacer } from '../../bench/phone/pacer.ts'
import { noise, type Voice } from '../../bench/voices.ts'
import { PCMU } from '../../codecs/g711.ts'
import { renderTone } from '../../codecs/tones.ts'
import { parseRtp, RTP_HEADER_BYTES, RtpPacket, RtpSender } from '../../media/rtp/rtp.ts'
import { newRoom, type TestRoom } from '../e2e/scene.ts'
import { product, sharedSuite } from '../e2e/shared-suite.ts'
import { inside, RawCalls } from './peers/raw-calls.ts'
import { audioAt, bodyOf, type Raw } from './peers/raw-peer.ts'

// A fax in the audio of a call: machines whose packets the test writes, two by two.

const test = sharedSuite('interop/fax-tones')
const LIMIT = { timeoutMs: 60_000 }

let calls: RawCalls
test.before(() => {
  calls = new RawCalls(product)
})
test.afterEach(async () => {
  for (const machine of machines.splice(0)) machine.close()
  await calls.leave()
})

const OCTETS = 160
const SILENT = new Uint8Array(OCTETS).fill(0xff)
const isSilent = (payload: Uint8Array): boolean => payload.every(octet => (octet & 0x7f) === 0x7f)

interface Heard {
  timestamp: number
  payload: Uint8Array
}

const machines: Machine[] = []

/** A fax machine in a room: it sends a packet every 20 ms, and keeps what it hears. */
class Machine {
  readonly heard: Heard[] = []
  member!: Member
  readonly #audio: Socket
  readonly #sender = new RtpSender({ ssrc: 5, sequence: 1, timestamp: 0, maxPayload: OCTETS })
  readonly #waiting: { payload: Uint8Array; isLost: boolean }[] = []
  #answer!: Raw
  #stop: () => void = () => {}

  private constructor(audio: Socket) {
    this.#audio = audio
    const packet = new RtpPacket()
    audio.on('message', bytes => {
      if (!parseRtp(bytes, packet) || packet.payloadType !== 0) return
      const { timestamp, payloadOffset, payloadLength } = packet
      this.heard.push({ timestamp, payload: bytes.subarray(payloadOffset, payloadOffset + payloadLength) })
    })
  }

  static async calls(room: TestRoom, name: string): Promise<Machine> {
    const audio = createSocket('udp4').bind(0, '127.0.0.1')
    await once(audio, 'listening')
    const machine = new Machine(audio)
    machines.push(machine)
    const peer = await calls.peer()
    const invite = calls.inviteFrom(peer, 'UDP', audioAt(audio.address().port))
    peer.send(
      invite.replace('sip:1002@', `sip:${room.number}@`).replace('<sip:far@', `<sip:${name}@`),
      product.sip.port,
    )
    machine.#answer = await peer.next('200')
    machine.#answer.reply(inside(machine.#answer, 'ACK', 1))
    machine.member = await memberNamed(product, room.roomId, name)
    const to = Number(/^m=audio (\d+)/m.exec(bodyOf(machine.#answer.text))![1])
    machine.#stop = pacer.join(() => machine.#tick(to))
    return machine
  }

  #tick(to: number): void {
    const { payload, isLost } = this.#waiting.shift() ?? { payload: SILENT, isLost: false }
    this.#sender.packet.set(payload, RTP_HEADER_BYTES)
    const packet = this.#sender.write(0, OCTETS)
    this.#sender.advance(OCTETS)
    if (!isLost) this.#audio.send(packet.slice(), to, '127.0.0.1')
  }

  /** Sends these frames, of which the network loses some. */
  say(frames: readonly Uint8Array[], isLost: (n: number) => boolean = () => false): void {
    this.#waiting.push(...frames.map((payload, n) => ({ payload, isLost: isLost(n) })))
  }

  get isSpeaking(): boolean {
    return this.#waiting.length > 0
  }

  close(): void {
    this.#stop()
    this.#answer.reply(inside(this.#answer, 'BYE', 2))
    this.#audio.close()
  }
}

function framesOf(samples: Int16Array): Uint8Array[] {
  const octets = new Uint8Array(samples.length)
  PCMU.encode(samples, octets)
  const count = Math.floor(octets.length / OCTETS)
  return Array.from({ length: count }, (_, n) => octets.subarray(n * OCTETS, (n + 1) * OCTETS))
}

function samplesFrom(voice: Voice, frames: number): Int16Array {
  const samples = new Int16Array(frames * OCTETS)
  for (let n = 0; n < frames; n++) voice(samples.subarray(n * OCTETS, (n + 1) * OCTETS))
  return samples
}

/** T.30 §4.3.3.1: the calling tone. */
const CNG = framesOf(renderTone({ segments: [{ hz: [1100], ms: 500, levelDb: -15 }] }, 8000))
/** T.30 §4.3.3.2: the answering tone. */
const CED = framesOf(renderTone({ segments: [{ hz: [2100], ms: 2600, levelDb: -15 }] }, 8000))

/** V.21, channel 2: 300 bits a second, 1650 Hz for 1 and 1850 Hz for 0, of continuous phase; what machines agree on before a page. */
function v21(frames: number, seed: number): Int16Array {
  let [phase, state, at] = [0, seed, 0]
  return samplesFrom(frame => {
    for (let i = 0; i < frame.length; i++, at++) {
      if (Math.floor((at * 300) / 8000) !== Math.floor(((at - 1) * 300) / 8000)) state = (state * 75 + 74) % 65_537
      phase += (2 * Math.PI * (state & 1 ? 1650 : 1850)) / 8000
      frame[i] = Math.round(6000 * Math.sin(phase))
    }
  }, frames)
}

/** Page data of V.17 and V.34 is scrambled: to the ear, noise. */
const page = (frames: number, seed: number): Int16Array => samplesFrom(noise(seed), frames)

const FRAMES = 100
/** Once in the signal of V.21, four times in the page, twice of these on both sides of one frame. */
const LOST = new Set([30, 110, 140, 142, 180])
const isLost = (n: number): boolean => LOST.has(n)

const detected = (machine: Machine) =>
  product.until(`${machine.member.address} is known for a machine`, async () =>
    (await product.all('/events?type=call.fax.detected')).find(
      ({ data }) => data.object.participant_id === machine.member.id,
    ),
  )

/** µ-law has two zeros, which are the same sample. */
function samplesIn(payload: Uint8Array): Buffer {
  const samples = new Int16Array(payload.length)
  PCMU.decode(payload, samples)
  return Buffer.from(samples.buffer)
}

/**
 * What a machine has heard of the other's frames since its packet `from`: each is whole, in its order, and nearly all come equally late; the rest is
 * silence. Where the machine that the test runs on stood still, the rest comes later by as much; nothing ever comes sooner.
 */
function assertExact(listener: Machine, from: number, frames: readonly Uint8Array[]): void {
  const said = frames.map(samplesIn)
  const delays: number[] = []
  let next = 0
  for (const { payload, timestamp } of listener.heard.slice(from)) {
    if (isSilent(payload)) continue
    const heard = samplesIn(payload)
    const at = said.findIndex((frame, n) => n >= next && frame.equals(heard))
    assert.ok(at >= 0, `what comes after ${next} frames was never said`)
    next = at + 1
    // RTP's clock turns over.
    delays.push((timestamp - at * OCTETS) | 0)
  }
  const arrived = frames.filter((_, n) => !isLost(n)).length
  const countOf = (delay: number): number => delays.filter(other => other === delay).length
  const most = Math.max(...[...new Set(delays)].map(countOf))
  assert.ok(most > 0.7 * arrived, `${most} of ${arrived} frames`)
  const changes = delays.slice(1).flatMap((delay, n) => (delay === delays[n] ? [] : [(delay - delays[n]!) | 0]))
  assert.ok(changes.length < 0.05 * arrived && changes.every(change => change > 0), `later by ${changes} samples`)
}

for (const [how, sound] of [
  ['relayed packet by packet', null],
  ['mixed, since gain and noise suppression were asked for', { gain_db: 6, noise_suppression: true }],
] as const) {
  test(
    `what fax machines send each other, ${how}, passes sample by sample, both ways; what is lost of it is silence, not concealed`,
    async () => {
      const room = await newRoom(product)
      const [calling, answering] = [await Machine.calls(room, 'calling'), await Machine.calls(room, 'answering')]
      if (sound !== null) {
        for (const { member } of [calling, answering])
          await product.ok('PATCH', `/calls/${member.session_call_id}/participants/${member.id}`, { audio: sound })
      }
      calling.say(CNG)
      answering.say(CED)
      await Promise.all([detected(calling), detected(answering)])
      await product.until('the tones are over', async () => (calling.isSpeaking || answering.isSpeaking ? null : true))
      for (const [n, [speaker, listener]] of [[answering, calling] as const, [calling, answering] as const].entries()) {
        const frames = [...framesOf(v21(FRAMES, n + 1)), ...framesOf(page(FRAMES, n + 1))]
        const from = listener.heard.length + 25
        speaker.say([...Array<Uint8Array>(50).fill(SILENT), ...frames], at => isLost(at - 50))
        await product.until('its last frame has passed', async () =>
          !speaker.isSpeaking && listener.heard.slice(-10).every(({ payload }) => isSilent(payload)) ? true : null,
        )
        assertExact(listener, from, frames)
      }
    },
    LIMIT,
  )
}

test.run()
