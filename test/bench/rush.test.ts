import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { RushProcess } from '../../bench/calls/rush-process.ts'
import { CProgram } from '../../bench/yardstick/c-program.ts'
import { suite } from '../harness.ts'

const test = suite('bench/rush')

const ANSWER_MS = 40
const headerOf = (text: string, name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(text)![1]!.trim()

/** A far end that ignores each call's first INVITE, refuses every fourth call, and answers the others after a while, with a packet of audio. */
async function farEnd() {
  const sip = createSocket('udp4')
  const rtp = createSocket('udp4')
  for (const socket of [sip, rtp]) await once(socket.bind(0, '127.0.0.1'), 'listening')
  const { port } = sip.address() as AddressInfo
  const seen = { calls: new Map<string, number>(), acknowledged: new Set<string>(), ended: new Set<string>(), heard: 0 }
  rtp.on('message', () => seen.heard++)
  sip.on('message', async (bytes, from) => {
    const text = bytes.toString()
    const call = headerOf(text, 'Call-ID')
    const reply = (status: string, body: string): void => {
      const same = ['Via', 'From', 'Call-ID', 'CSeq'].map(name => `${name}: ${headerOf(text, name)}`)
      const to = headerOf(text, 'To')
      const lines = [`SIP/2.0 ${status}`, ...same, `To: ${to.includes('tag=') ? to : `${to};tag=far`}`]
      const rest = [`Contact: <sip:127.0.0.1:${port}>`, `Content-Length: ${body.length}`, '', body]
      sip.send([...lines, ...rest].join('\r\n'), from.port, from.address)
    }
    if (text.startsWith('ACK')) seen.acknowledged.add(call)
    else if (text.startsWith('BYE')) {
      seen.ended.add(call)
      reply('200 OK', '')
    } else {
      const times = (seen.calls.get(call) ?? 0) + 1
      seen.calls.set(call, times)
      if (times !== 2) return
      if ([...seen.calls.keys()].indexOf(call) % 4 === 3) return reply('503 Service Unavailable', '')
      await sleep(ANSWER_MS)
      reply('200 OK', `v=0\r\nc=IN IP4 127.0.0.1\r\nm=audio ${rtp.address().port} RTP/AVP 0\r\n`)
      rtp.send(Buffer.alloc(172, 0x80), Number(/^m=audio (\d+)/m.exec(text)![1]), '127.0.0.1')
    }
  })
  const close = (): void => {
    sip.close()
    rtp.close()
  }
  return { port, seen, close }
}

const program = CProgram.build(fileURLToPath(new URL('../../bench/calls/rush.c', import.meta.url)))
const sentence = 'calls of a rush are counted as whole, refused, and by the time from the first INVITE to the answer'
const check = async (): Promise<void> => {
  const far = await farEnd()
  const rush = await RushProcess.open({ host: '127.0.0.1', port: far.port, user: 'echo' })
  try {
    const result = await rush.run(20, 1)
    const refused = Math.floor(far.seen.calls.size / 4)
    assert.ok(result.begun > 0)
    assert.is(far.seen.calls.size, result.begun)
    assert.equal([result.whole, result.refused, result.failed], [result.begun - refused, refused, 0])
    assert.equal([far.seen.acknowledged.size, far.seen.ended.size], [result.begun, result.whole])
    assert.is(result.setUpMs?.count, result.whole)
    // The first INVITE is lost, and sent again after 500 ms.
    assert.ok(result.setUpMs!.p50 >= 500 + ANSWER_MS - 5, `set up in ${result.setUpMs?.p50} ms`)
    assert.ok(far.seen.heard >= result.whole, `${far.seen.heard} packets of ${result.whole} calls`)
  } finally {
    await rush.close()
    far.close()
  }
}
if (program instanceof CProgram) {
  program.remove()
  test(sentence, check)
} else if (program.missing === 'no C compiler here') test.skip(sentence, program.missing)
else test(sentence, () => assert.unreachable(program.missing))

test.run()
