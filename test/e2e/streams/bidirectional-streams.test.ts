import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { type WebSocket, WebSocketServer } from 'ws'
import { Phone } from '../../../bench/phone/phone.ts'
import { audibleSamples, levelAt } from '../../../bench/spectrum.ts'
import { noise, tone } from '../../../bench/voices.ts'
import { PCMU } from '../../../codecs/g711.ts'
import { sharpest } from '../../media/engine/party.ts'
import {
  callFrom,
  HEARD_DBOV,
  keep,
  leave,
  longestCopy,
  newRoom,
  octetsSent,
  type Seated,
  seat,
  seatOf,
  UNHEARD_DBOV,
} from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'

const SLOW = { timeoutMs: 60_000 }
const TOGETHER = { ...SLOW, together: true }
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SECOND = 8000

const test = sharedSuite('e2e/streams/bidirectional-streams')

test.before(async () => {
  await product.ok('PATCH', '/organisation', { pci: { enabled: true, mask_dtmf: true } })
})

/** The program of `docs/streams.md`, unchanged. */
class DocumentedBot {
  readonly lines: string[] = []
  readonly #child: ChildProcess

  constructor() {
    const text = readFileSync(new URL('../../../docs/streams.md', import.meta.url), 'utf8')
    const program = /```js\n([\s\S]*?)```/.exec(text)![1]!
    this.#child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      cwd: ROOT,
      env: { ...process.env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    createInterface(this.#child.stdout!).on('line', line => this.lines.push(line))
  }

  close(): void {
    this.#child.kill()
  }
}

interface Message {
  event: string
  streamSid?: string
  media?: { track: string; payload: string }
  mark?: { name: string }
  dtmf?: { digit: string }
}

/** A receiver that sends what the test says. */
class Receiver {
  readonly messages: Message[] = []
  /** Audio of its inbound track. */
  readonly heard: Int16Array[] = []
  readonly #server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  #ws: WebSocket | null = null

  constructor() {
    this.#server.on('connection', ws => {
      this.#ws = ws
      ws.on('message', data => this.#take(JSON.parse(String(data)) as Message))
    })
  }

  async url(): Promise<string> {
    if (this.#server.address() === null) await once(this.#server, 'listening')
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }

  get keys(): string {
    return this.messages.map(({ dtmf }) => dtmf?.digit ?? '').join('')
  }

  get marks(): string[] {
    return this.messages.flatMap(({ mark }) => mark?.name ?? [])
  }

  #take(message: Message): void {
    if (message.media === undefined) {
      this.messages.push(message)
      return
    }
    const octets = Buffer.from(message.media.payload, 'base64')
    const samples = new Int16Array(octets.length)
    PCMU.decode(octets, samples)
    this.heard.push(samples)
  }

  say(message: object): void {
    this.#ws!.send(JSON.stringify(message))
  }

  /** Sends a tone of this duration at once. */
  play(hz: number, seconds: number): void {
    const samples = Int16Array.from(
      { length: seconds * SECOND },
      (_, i) => 8000 * Math.sin((2 * Math.PI * hz * i) / SECOND),
    )
    const octets = new Uint8Array(samples.length)
    PCMU.encode(samples, octets)
    this.say({ event: 'media', media: { payload: Buffer.from(octets).toString('base64') } })
  }

  close(): void {
    for (const ws of this.#server.clients) ws.terminate()
    this.#server.close()
  }
}

/** How sharply a tone at this level bends where it is cut: more. Tone and music alone bend at most half as sharply. */
const CUT = 4500

const startStream = (callId: string, fields: object) =>
  product.ok('POST', `/calls/${callId}/streams`, { mode: 'bidirectional', ...fields })
const streamOf = (callId: string, id: string) => product.ok('GET', `/calls/${callId}/streams/${id}`)

const until = (what: string, fact: () => unknown): Promise<unknown> =>
  product.until(what, async () => (fact() ? true : null))

/** Puts a phone into a room alone, and connects a receiver to its call. */
async function joined(
  name: string,
  fields: object = {},
): Promise<{ anna: Seated; bot: Receiver; streamId: string; roomId: string }> {
  const room = await newRoom(product)
  const anna = await seat(product, room, name)
  const bot = keep(new Receiver())
  const { id } = await startStream(anna.callId, { url: await bot.url(), ...fields })
  await until('the stream begins', () => bot.heard.length > 0)
  return { anna, bot, streamId: id, roomId: room.roomId }
}

/** Waits until a whole half second is this tone, or has none of it. */
async function hears(call: Seated['call'], hz: number, isHeard: boolean): Promise<void> {
  await product.until(`${hz} Hz ${isHeard ? 'is' : 'is not'} heard`, async () => {
    const level = levelAt(hz, await call.heard.next(500))
    return (isHeard ? level > HEARD_DBOV : level < UNHEARD_DBOV) ? true : null
  })
}

test(
  'the program of docs/streams.md runs as it stands there: a caller hears itself by it, octet by octet, and its keys come back',
  async () => {
    const bot = keep(new DocumentedBot())
    await until('the program listens', () => bot.lines.length > 0)
    const anna = await seat(product, await newRoom(product), 'echo-a')
    anna.call.say(noise(5))
    const { id, mode } = await startStream(anna.callId, { url: bot.lines[0] })
    assert.is(mode, 'bidirectional')
    await until('its mark comes back', () => bot.lines.includes('the caller has heard: begun'))
    await product.until('a second is heard as it was said', async () => {
      await anna.call.heard.next(500)
      return longestCopy(anna.call.said.octets(), anna.call.heard.octets()) >= SECOND ? true : null
    })
    await anna.call.press('5')
    await until('the program tells the key', () => bot.lines.includes('pressed: 5'))
    await until('the key comes back', () => anna.call.keysHeard === '5')
    const shown = await streamOf(anna.callId, id)
    assert.equal([shown.status, shown.frames_refused], ['streaming', 0])
    assert.ok(shown.frames_received >= 100)
    await leave(anna)
  },
  TOGETHER,
)

test(
  'a mark comes back when what was sent before it was heard to the end; `clear` ends it before, and its marks come back',
  async () => {
    const { anna, bot } = await joined('marks-a')
    const from = anna.call.heard.length
    bot.play(1000, 1)
    bot.say({ event: 'mark', mark: { name: 'said' } })
    await until('the mark comes back', () => bot.marks.length === 1)
    const heard = anna.call.heard.samples(from)
    const seconds = heard.filter(sample => Math.abs(sample) > 1000).length / SECOND
    assert.ok(seconds > 0.7, `${seconds} s of loud samples were heard by then`)
    bot.play(440, 30)
    bot.say({ event: 'mark', mark: { name: 'cut' } })
    await hears(anna.call, 440, true)
    assert.equal(bot.marks, ['said'])
    bot.say({ event: 'clear' })
    await until('the mark of what was cut comes back', () => bot.marks.length === 2)
    await hears(anna.call, 440, false)
    await leave(anna)
  },
  TOGETHER,
)

test(
  'while the phone of a party holds, its receiver waits where it was: no mark says that somebody has heard what nobody did',
  async () => {
    const { anna, bot } = await joined('holds-a')
    await until('the sentence for the first is heard', () => sharpest(anna.call.heard.samples()) > CUT)
    bot.play(440, 4)
    bot.say({ event: 'mark', mark: { name: 'said' } })
    await hears(anna.call, 440, true)
    await anna.call.hold()
    const from = bot.heard.length
    await until('twice as long has passed', () => bot.heard.length > from + 400)
    assert.equal(bot.marks, [])
    await anna.call.resume()
    await hears(anna.call, 440, true)
    await until('the mark comes back', () => bot.marks.length === 1)
    await leave(anna)
  },
  TOGETHER,
)

test(
  'who is put on hold while a receiver speaks to it hears that end without a click, and go on so where it was',
  async () => {
    const { anna, bot, roomId } = await joined('held-a')
    const hold = (held: boolean) =>
      product.ok('PATCH', `/conference_rooms/${roomId}/participants/${anna.participantId}`, { held })
    // Who is first in a room is told so, on a busy machine late. Nothing else that is heard here bends as sharply.
    await until('the sentence for the first is heard', () => sharpest(anna.call.heard.samples()) > CUT)
    bot.play(415, 50)
    const whole = await product.until('nothing but that is heard', async () => {
      // The sentence has half a second without a sharp sound.
      const bend = sharpest(await anna.call.heard.next(1000))
      return bend > 0 && bend < CUT / 2 ? bend : null
    })
    const from = anna.call.packets.length
    for (let n = 0; n < 8; n++) {
      await hold(true)
      await hears(anna.call, 415, false)
      await hold(false)
      await hears(anna.call, 415, true)
    }
    const sent = octetsSent(anna.call, from)
    const samples = new Int16Array(sent.length)
    PCMU.decode(sent, samples)
    const most = sharpest(samples)
    assert.ok(most < CUT, `${most}, and ${whole} within the tone`)
    await leave(anna)
  },
  TOGETHER,
)

test(
  "a receiver of a party's stream is heard by that party alone, one of the session's by all",
  async () => {
    const room = await newRoom(product)
    const [anna, ben] = [await seat(product, room, 'alone-a'), await seat(product, room, 'alone-b')]
    const [forAnna, forAll] = [keep(new Receiver()), keep(new Receiver())]
    await startStream(anna.callId, { url: await forAnna.url() })
    await startStream(anna.sessionId, { url: await forAll.url() })
    await until('the streams begin', () => forAnna.heard.length > 0 && forAll.heard.length > 0)
    forAnna.play(1000, 30)
    forAll.play(440, 30)
    await hears(anna.call, 1000, true)
    await hears(anna.call, 440, true)
    await hears(ben.call, 440, true)
    await hears(ben.call, 1000, false)
    await leave(anna, ben)
  },
  TOGETHER,
)

test(
  'keys by RFC 4733, SIP INFO and as tones are told, and none of a card-payment pause, in which the receiver is heard and hears silence',
  async () => {
    const { anna, bot } = await joined('keys-a')
    const { anna: toned, bot: tonedBot } = await joined('keys-b')
    await anna.call.press('4', { as: 'rfc4733' })
    await until('the key of an event', () => bot.keys === '4')
    await anna.call.press('7', { as: 'info' })
    await until('the key by INFO', () => bot.keys === '47')
    await toned.call.press('9', { as: 'inband' })
    await until('the key as a tone', () => tonedBot.keys === '9')
    for (const [one, receiver] of [
      [anna, bot],
      [toned, tonedBot],
    ] as const) {
      await product.ok('POST', `/calls/${one.callId}/pci`, { action: 'pause', max_seconds: 60 })
      one.call.say(tone(330))
      receiver.play(1000, 20)
      await hears(one.call, 1000, true)
      const from = receiver.heard.length
      if (one === anna) {
        await one.call.press('36', { as: 'rfc4733' })
        await one.call.press('82', { as: 'info' })
      } else await one.call.press('3682', { as: 'inband' })
      await product.until('the keys of the pause are told, masked', async () => {
        const told = (await product.events()).filter(
          ({ type, data }) => type === 'call.dtmf' && data.object.call_id === one.callId && data.object.masked,
        )
        return told.length >= 4 ? true : null
      })
      assert.ok(receiver.heard.slice(from).every(frame => frame.every(sample => sample === 0)))
      await product.ok('POST', `/calls/${one.callId}/pci`, { action: 'resume' })
      // Audio after the pause proves that nothing of the pause was still in transit.
      await until('the party is heard again', () => levelAt(330, receiver.heard.at(-1)!) > HEARD_DBOV)
      assert.is(receiver.keys, one === anna ? '47' : '9')
    }
    await leave(anna, toned)
  },
  TOGETHER,
)

test(
  'a route that parks its callers gives each one a receiver of its own, and no music, until it is led elsewhere',
  async () => {
    const receivers = [keep(new Receiver()), keep(new Receiver())]
    const callers = []
    for (const [n, receiver] of receivers.entries()) {
      const route = { match: { to: `208${n}` }, target: { type: 'park' } }
      const streams = [{ url: await receiver.url(), mode: 'bidirectional' }]
      const made = await product.ok('POST', '/inbound_routes', { ...route, streams })
      assert.equal(made.target, { type: 'park', id: null })
      const phone = await Phone.open(`parked-${n}`)
      callers.push({ phone, call: await phone.call(`208${n}`, product.sip) })
      await until('the stream begins', () => receiver.heard.length > 0)
    }
    for (const { call } of callers) assert.is(audibleSamples(await call.heard.next(1500)), 0)
    receivers[0]!.play(1000, 30)
    receivers[1]!.play(440, 30)
    await hears(callers[0]!.call, 1000, true)
    await hears(callers[1]!.call, 440, true)
    await hears(callers[0]!.call, 440, false)
    const room = await newRoom(product)
    const { id } = await callFrom(product, 'parked-0')
    await product.ok('POST', `/calls/${id}/transfer`, { room_id: room.roomId })
    await seatOf(product, room, 'parked-0')
    await hears(callers[0]!.call, 1000, true)
    await leave(...callers)
  },
  TOGETHER,
)

test(
  'when control was killed the stream goes on both ways, and is known as it was',
  async () => {
    const { anna, bot, streamId } = await joined('kill-a')
    const before = product.pids.control
    process.kill(before, 'SIGKILL')
    bot.play(1000, 20)
    await hears(anna.call, 1000, true)
    await product.until('control is back', async () => (product.pids.control === before ? null : true))
    await product.ready()
    const shown = await product.until('the stream is known', async () => {
      const { status, body } = await product.api('GET', `/calls/${anna.callId}/streams/${streamId}`)
      return status === 200 ? body : null
    })
    assert.equal([shown.mode, shown.status, shown.frames_received], ['bidirectional', 'streaming', 1000])
    await leave(anna)
  },
  SLOW,
)

test.run()
