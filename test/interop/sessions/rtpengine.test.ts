import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { pacer } from '../../../bench/phone/pacer.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { PCMU } from '../../../codecs/g711.ts'
import { isRtcp, parseRtp, RtpPacket, RtpSender } from '../../../media/rtp/rtp.ts'
import { HEARD_DBOV } from '../../e2e/scene.ts'
import { product } from '../../e2e/shared-suite.ts'
import { missingPrograms } from '../../harness.ts'
import { inside, insideCalled } from '../peers/raw-calls.ts'
import { audioAt, bodyOf, type Raw, type RawPeer } from '../peers/raw-peer.ts'
import { calls, rawSuite } from '../peers/raw-suite.ts'
import { Rtpengine } from '../peers/rtpengine.ts'

const test = rawSuite('interop/sessions/rtpengine')
const missing = missingPrograms('rtpengine')
const [HZ, FRAME, SECOND] = [440, 160, 8000]
const EVENT = 101
const ENCRYPTED = { ICE: 'remove', 'rtcp-mux': ['offer'] }
const SEPARATE = { ICE: 'remove', 'rtcp-mux': ['demux'], 'transport-protocol': 'UDP/TLS/RTP/SAVP' }
const DTLS = { ...ENCRYPTED, 'transport-protocol': 'UDP/TLS/RTP/SAVP' }
const SDP = ['Content-Type: application/sdp']
const WITH_KEYS = [`a=rtpmap:${EVENT} telephone-event/8000`]

/** What a relay makes of a plain offer, and how our answer to it begins. */
const WAYS = {
  'keys by DTLS, and a path by ICE': [
    { ICE: 'force', 'transport-protocol': 'UDP/TLS/RTP/SAVPF', 'rtcp-mux': ['offer'] },
    /^m=audio \d+ UDP\/TLS\/RTP\/SAVPF 0 101\r$[\s\S]*^a=setup:passive\r$/m,
  ],
  'keys by DTLS': [DTLS, /^m=audio \d+ UDP\/TLS\/RTP\/SAVP 0 101\r$[\s\S]*^a=setup:passive\r$[\s\S]*^a=rtcp-mux\r$/m],
  'keys by DTLS, where it waits for us to begin': [
    DTLS,
    /^m=audio \d+ UDP\/TLS\/RTP\/SAVP 0 101\r$[\s\S]*^a=setup:active\r$/m,
    'passive',
  ],
  'keys by DTLS, RTCP on a port of its own': [
    SEPARATE,
    /^m=audio \d+ UDP\/TLS\/RTP\/SAVP 0 101\r$(?![\s\S]*rtcp-mux)[\s\S]*^a=setup:passive\r$/m,
  ],
  'keys in the description': [
    { ...ENCRYPTED, 'transport-protocol': 'RTP/SAVP' },
    /^m=audio \d+ RTP\/SAVP 0 101\r$[\s\S]*^a=crypto:\d+ \w+ inline:/m,
  ],
} as const

type Way = (typeof WAYS)[keyof typeof WAYS][0]

/** Another relay has another certificate. */
let [relay, other] = [null, null] as unknown as [Rtpengine, Rtpengine]
test.before(async () => {
  if (missing !== null) return
  await encrypt('optional')
  relay = await Rtpengine.start()
  other = await Rtpengine.start()
})
test.after(() => {
  relay?.stop()
  other?.stop()
})

async function encrypt(srtp: string): Promise<void> {
  for (const { id } of await product.all('/connections')) await product.ok('PATCH', `/connections/${id}`, { srtp })
}

/** Plain audio behind a relay: sends a tone, and keeps what it hears. */
class Speaker {
  heard: number[] = []
  /** Where the relay is for it; port 0: nowhere yet. */
  to = { host: '', port: 0 }
  readonly #socket: Socket
  readonly #sender = new RtpSender({ ssrc: 7, sequence: 1, timestamp: 1000, maxPayload: FRAME })
  readonly #leave: () => void
  #frame = 0

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('message', bytes => this.#hear(bytes))
    this.#leave = pacer.join(() => this.#speak())
  }

  static async open(): Promise<Speaker> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return new Speaker(socket)
  }

  get description(): string {
    return audioAt(this.#socket.address().port, `0 ${EVENT}`, WITH_KEYS)
  }

  #hear(bytes: Buffer): void {
    const packet = new RtpPacket()
    if (isRtcp(bytes) || !parseRtp(bytes, packet) || packet.payloadType !== 0) return
    const samples = new Int16Array(packet.payloadLength)
    PCMU.decode(bytes.subarray(packet.payloadOffset, packet.payloadOffset + packet.payloadLength), samples)
    this.heard.push(...samples)
  }

  #speak(): void {
    const from = FRAME * this.#frame++
    const tone = Int16Array.from({ length: FRAME }, (_, i) => 9000 * Math.sin((2 * Math.PI * HZ * (from + i)) / SECOND))
    PCMU.encode(tone, this.#sender.packet.subarray(12))
    const { host, port } = this.to
    if (port !== 0) this.#socket.send(this.#sender.write(0, FRAME).subarray(0, 12 + FRAME), port, host)
    this.#sender.advance(FRAME)
  }

  /** Presses a key of 100 ms (RFC 4733). */
  press(key: number): void {
    const { timestamp } = this.#sender
    for (const isEnd of [0, 0, 0x80, 0x80, 0x80]) {
      this.#sender.packet.set([key, isEnd | 10, 800 >> 8, 800 & 0xff], 12)
      this.#socket.send(this.#sender.write(EVENT, 4, timestamp).subarray(0, 16), this.to.port, this.to.host)
    }
  }

  /** Until what it has heard last is its tone, of after now. */
  async hears(what: string): Promise<void> {
    this.heard = []
    await product.until(what, async () => {
      const last = Int16Array.from(this.heard.slice(-SECOND / 2))
      return last.length === SECOND / 2 && levelAt(HZ, last) > HEARD_DBOV ? true : null
    })
  }

  close(): void {
    this.#leave()
    this.#socket.close()
  }
}

/** Where a relay takes plain audio. */
const plainSide = ({ host }: Rtpengine, sdp: string) => ({
  host,
  port: Number(/^m=audio (\d+) RTP\/AVP 0/m.exec(sdp)![1]),
})

async function withSpeaker(run: (speaker: Speaker) => Promise<void>): Promise<void> {
  const speaker = await Speaker.open()
  try {
    await run(speaker)
  } finally {
    speaker.close()
  }
}

/** Calls our echo through a relay. */
async function echoThrough(speaker: Speaker, far: RawPeer, as: Way, begins = 'actpass'): Promise<Raw> {
  const tags = { from: `relayed-${far.port}` }
  const body = await relay.passOn(speaker.description, tags, as)
  const answer = await calls.answered(far, { body: body.replace('a=setup:actpass', `a=setup:${begins}`) })
  speaker.to = plainSide(relay, await relay.passOn(bodyOf(answer.text), { ...tags, to: 'us' }))
  return answer
}

async function hangUp(far: RawPeer, answer: Raw): Promise<void> {
  answer.reply(inside(answer, 'BYE', 9))
  await far.next('200')
}

for (const [name, [as, answered, begins]] of Object.entries(WAYS)) {
  test(
    `through rtpengine, which speaks SRTP with us for a plain caller, the caller hears our echo: ${name}`,
    () =>
      withSpeaker(async speaker => {
        const far = await calls.peer()
        const answer = await echoThrough(speaker, far, as, begins)
        assert.match(bodyOf(answer.text), answered)
        await speaker.hears('the tone is back')
        await hangUp(far, answer)
      }),
    { missing },
  )
}

test(
  'RFC 5763 §6.6: a re-INVITE keeps the keys, or leads to another port or another certificate with new ones, and each time the caller hears our echo',
  () =>
    withSpeaker(async speaker => {
      const far = await calls.peer()
      const answer = await echoThrough(speaker, far, DTLS)
      await speaker.hears('the tone is back')
      let cseq = 2
      const change = async (by: Rtpengine, tag: string, begins = 'actpass'): Promise<void> => {
        const offer = await by.passOn(speaker.description, { from: tag }, DTLS)
        const body = offer.replace('a=setup:actpass', `a=setup:${begins}`)
        answer.reply(inside(answer, 'INVITE', cseq, [...SDP, `Contact: <sip:far@127.0.0.1:${far.port}>`], body))
        const changed = await far.next('200')
        answer.reply(inside(answer, 'ACK', cseq++))
        speaker.to = plainSide(by, await by.passOn(bodyOf(changed.text), { from: tag, to: 'us' }))
        assert.match(bodyOf(changed.text), /^m=audio \d+ UDP\/TLS\/RTP\/SAVP /m)
      }
      await change(relay, `relayed-${far.port}`)
      await speaker.hears('with the same keys')
      await change(relay, `moved-${far.port}`)
      await speaker.hears('at another port')
      await change(other, `other-${far.port}`)
      await speaker.hears('with another certificate')
      await change(relay, `waiting-${far.port}`, 'passive')
      await speaker.hears('where we begin')
      await hangUp(far, answer)
    }),
  { missing },
)

for (const role of ['active', 'passive']) {
  test(
    `a call over a connection with \`srtp\` dtls is offered so, hears and is heard, also after hold and resume: the far end is ${role}`,
    () =>
      withSpeaker(async speaker => {
        const far = await calls.peer()
        const id = await calls.callOver(far, { srtp: 'dtls' })
        const invite = await far.next('INVITE')
        const offer = bodyOf(invite.text)
        assert.match(offer, /^m=audio \d+ UDP\/TLS\/RTP\/SAVP 0 8 101\r$[\s\S]*^a=setup:actpass\r$/m)
        const tags = { from: `called-${far.port}` }
        const toCalled = await relay.passOn(offer, tags, { ICE: 'remove', 'transport-protocol': 'RTP/AVP', DTLS: role })
        speaker.to = plainSide(relay, toCalled)
        const answer = await relay.passOn(speaker.description, { ...tags, to: 'them' }, { DTLS: role })
        assert.match(answer, new RegExp(`^a=setup:${role}\\r$`, 'm'))
        const contact = `Contact: <sip:far@127.0.0.1:${far.port}>`
        const ok = invite.answer('200 OK', [...SDP, contact], answer)
        await far.next('ACK')
        await product.until('it is answered', async () =>
          (await product.ok('GET', `/calls/${id}`)).status === 'in_progress' ? true : null,
        )
        for (const action of ['hold', 'unhold']) {
          await product.ok('POST', `/calls/${id}/${action}`)
          const change = await far.next('INVITE')
          const plain = await relay.passOn(bodyOf(change.text), tags, {
            ICE: 'remove',
            'transport-protocol': 'RTP/AVP',
            DTLS: role,
          })
          assert.match(plain, /^m=audio/m)
          change.answer(
            '200 OK',
            [...SDP, contact],
            await relay.passOn(speaker.description, { ...tags, to: 'them' }, { DTLS: role }),
          )
          await far.next('ACK')
        }
        const received = async (): Promise<number> =>
          (await product.ok('GET', `/calls/${id}`)).quality[0]?.packets_received ?? 0
        const before = await received()
        await product.until('it is heard', async () => ((await received()) > before + 50 ? true : null))
        assert.ok(speaker.heard.length > SECOND, 'it hears')
        invite.reply(insideCalled(invite, ok, 'BYE', 2))
        await far.next('200')
        await calls.endOf(id)
      }),
    { missing },
  )
}

test(
  'a key that comes with keys by DTLS is masked in a payment pause, and not before',
  () =>
    withSpeaker(async speaker => {
      const far = await calls.peer()
      const answer = await echoThrough(speaker, far, DTLS)
      await speaker.hears('the tone is back')
      const call = (await product.all('/calls?status=in_progress')).at(-1)
      const digits = async (): Promise<string[]> =>
        (await product.all(`/events?type=call.dtmf`))
          // biome-ignore lint/suspicious/noExplicitAny: the API's object
          .filter((event: any) => event.data.object.call_id === call!.id)
          // biome-ignore lint/suspicious/noExplicitAny: the API's object
          .map((event: any) => event.data.object.digit)
      speaker.press(4)
      await product.until('a key', async () => ((await digits()).length === 1 ? true : null))
      await product.ok('POST', `/calls/${call!.id}/pci`, { action: 'pause', max_seconds: 60 })
      speaker.press(7)
      await product.until('another', async () => ((await digits()).length === 2 ? true : null))
      assert.equal((await digits()).sort(), ['*', '4'])
      await hangUp(far, answer)
    }),
  { missing },
)

test.run()
