import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { pacer } from '../../../bench/phone/pacer.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { PCMU } from '../../../codecs/g711.ts'
import { isRtcp, parseRtp, RtpPacket, RtpSender } from '../../../media/rtp/rtp.ts'
import { HEARD_DBOV } from '../../e2e/scene.ts'
import { product } from '../../e2e/shared-suite.ts'
import { missingPrograms } from '../../harness.ts'
import { inside } from '../peers/raw-calls.ts'
import { audioAt, bodyOf } from '../peers/raw-peer.ts'
import { calls, rawSuite } from '../peers/raw-suite.ts'
import { Rtpengine } from '../peers/rtpengine.ts'

const test = rawSuite('interop/sessions/rtpengine')
const missing = missingPrograms('rtpengine')
const [HZ, FRAME, SECOND] = [440, 160, 8000]
const ENCRYPTED = { ICE: 'remove', 'rtcp-mux': ['offer'] }

/** What a relay makes of a plain offer, and how our answer to it begins. */
const WAYS = {
  'keys by DTLS, and a path by ICE': [
    { ICE: 'force', 'transport-protocol': 'UDP/TLS/RTP/SAVPF', 'rtcp-mux': ['offer'] },
    /^m=audio \d+ UDP\/TLS\/RTP\/SAVPF 0\r$[\s\S]*^a=setup:passive\r$/m,
  ],
  'keys in the description': [
    { ...ENCRYPTED, 'transport-protocol': 'RTP/SAVP' },
    /^m=audio \d+ RTP\/SAVP 0\r$[\s\S]*^a=crypto:\d+ \w+ inline:/m,
  ],
} as const

let relay: Rtpengine
test.before(async () => {
  if (missing !== null) return
  for (const { id } of await product.all('/connections')) {
    await product.ok('PATCH', `/connections/${id}`, { srtp: 'optional' })
  }
  relay = await Rtpengine.start()
})
test.after(() => relay?.stop())

for (const [name, [as, answered]] of Object.entries(WAYS)) {
  test(
    `through rtpengine, which speaks SRTP with us for a plain caller, the caller hears our echo: ${name}`,
    async () => {
      const audio = createSocket('udp4').bind(0, '127.0.0.1')
      await once(audio, 'listening')
      const far = await calls.peer()
      const tags = { from: `relayed-${far.port}` }
      const body = await relay.passOn(audioAt(audio.address().port), tags, as)
      const answer = await calls.answered(far, { body })
      assert.match(bodyOf(answer.text), answered)
      const plain = await relay.passOn(bodyOf(answer.text), { ...tags, to: 'us' })
      assert.match(plain, /^m=audio \d+ RTP\/AVP 0\r$/m)

      const heard: number[] = []
      audio.on('message', bytes => {
        const packet = new RtpPacket()
        if (isRtcp(bytes) || !parseRtp(bytes, packet)) return
        const samples = new Int16Array(packet.payloadLength)
        PCMU.decode(bytes.subarray(packet.payloadOffset, packet.payloadOffset + packet.payloadLength), samples)
        heard.push(...samples)
      })
      const sender = new RtpSender({ ssrc: 7, sequence: 1, timestamp: 1000, maxPayload: FRAME })
      const to = Number(/^m=audio (\d+)/m.exec(plain)![1])
      let frame = 0
      const leave = pacer.join(() => {
        const from = FRAME * frame++
        const tone = Int16Array.from(
          { length: FRAME },
          (_, i) => 9000 * Math.sin((2 * Math.PI * HZ * (from + i)) / SECOND),
        )
        PCMU.encode(tone, sender.packet.subarray(12))
        audio.send(sender.write(0, FRAME).subarray(0, 12 + FRAME), to, '127.0.0.1')
        sender.advance(FRAME)
      })
      try {
        await product.until('the tone is back', async () => {
          const last = Int16Array.from(heard.slice(-SECOND / 2))
          return last.length === SECOND / 2 && levelAt(HZ, last) > HEARD_DBOV ? true : null
        })
      } finally {
        leave()
        answer.reply(inside(answer, 'BYE', 2))
        await far.next('200')
        audio.close()
      }
    },
    { missing },
  )
}

test.run()
