import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import type { LegSocket } from '../../../media/engine/legs.ts'
import type { RtpReceiver } from '../../../media/rtp/rtp-socket.ts'
import { TestEngine } from '../../fakes/engine.ts'
import { suite } from '../../harness.ts'
import { mediaOf } from './party.ts'

// T.38 between two legs, on one engine thread and on two, over a network in memory.

const test = suite('media/engine/fax-threads')
const OURS = '10.0.0.1'
const CALLER = 'part_a'
const CALLED = 'part_bb'
const GATEWAYS = { [CALLER]: '192.0.2.6', [CALLED]: '192.0.2.7' } as const
const FAX_PORT = 6000

let dataDir: string
let engine: TestEngine
/** Our sockets by port, and what they have sent, as `address text`. */
const sockets = new Map<number, RtpReceiver>()
const left: string[] = []
const packet = (sequence: number, text: string): Uint8Array =>
  Buffer.from([sequence >> 8, sequence & 0xff, text.length, ...Buffer.from(text)])
const textOf = (datagram: Uint8Array): string => Buffer.from(datagram.subarray(3)).toString()

function openSocket(): LegSocket {
  const port = 20_000 + 2 * sockets.size
  return {
    port,
    sendRtp: (bytes, length, host, to) => {
      const datagram = bytes.slice(0, length)
      if (host === OURS) sockets.get(to)?.rtp(datagram, OURS, port, engine.now)
      else if (to === FAX_PORT) left.push(`${host} ${textOf(datagram)}`)
    },
    sendRtcp: () => {},
    listen: receiver => void sockets.set(port, receiver),
    close: () => {},
  }
}

async function begin(threads: number): Promise<void> {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  sockets.clear()
  left.length = 0
  engine = new TestEngine(dataDir, { threads, openSocket: async () => openSocket() })
  const enter = { roomId: 'call_1', kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 8 }
  for (const legId of [CALLER, CALLED] as const) {
    await engine.engine.do('leg.open', { legId, affinity: 'org', host: OURS })
    engine.engine.do('leg.connect', { legId, media: mediaOf(GATEWAYS[legId]), enter })
  }
}
test.afterEach(async () => {
  await engine.close()
  rmSync(dataDir, { recursive: true })
})

const [FIRST, SECOND] = [20_000, 20_002]
const remote = (legId: keyof typeof GATEWAYS) => ({ host: GATEWAYS[legId], port: FAX_PORT, signallingHost: null })
const goOver = (more: object = {}) =>
  engine.engine.do('leg.fax', {
    ...{ legId: CALLER, remote: remote(CALLER), partnerId: CALLED, partnerRemote: remote(CALLED) },
    sockets: { own: { host: OURS, port: FIRST }, partner: { host: OURS, port: SECOND } },
    ...more,
  })
/** Lets a gateway send to our socket. */
const says = (legId: keyof typeof GATEWAYS, sequence: number, text: string, host: string = GATEWAYS[legId]): void =>
  sockets.get(legId === CALLER ? FIRST : SECOND)!.rtp(packet(sequence, text), host, FAX_PORT, engine.now)

for (const threads of [1, 2]) {
  test(`what one gateway sends goes to the other as it is, both ways, on ${threads} threads; a stranger is none`, async () => {
    await begin(threads)
    assert.equal(engine.engine.do('leg.fax_partner', { legId: CALLER }), { legId: CALLED })
    assert.equal(engine.engine.do('leg.fax_partner', { legId: CALLED }), { legId: CALLER })
    assert.equal(goOver(), {})
    says(CALLER, 0, 'page')
    says(CALLED, 0, 'carry on')
    says(CALLER, 1, 'not yours', '192.0.2.99')
    says(CALLER, 1, 'another page')
    assert.equal(left, [`${GATEWAYS[CALLED]} page`, `${GATEWAYS[CALLER]} carry on`, `${GATEWAYS[CALLED]} another page`])
    engine.engine.do('leg.connect', { legId: CALLER, media: mediaOf(GATEWAYS[CALLER]), enter: null })
    engine.engine.do('leg.connect', { legId: CALLED, media: mediaOf(GATEWAYS[CALLED]), enter: null })
    says(CALLED, 1, 'too late')
    assert.is(left.length, 3, 'they have audio again')
  })

  test(`a card-payment pause that begins during a fax stops it on ${threads} threads, and it stays so after the pause`, async () => {
    await begin(threads)
    goOver()
    says(CALLER, 0, 'page')
    const target = { roomId: 'call_1' }
    const pause = { target, maxSeconds: 60, reason: 'card payment', maskDtmf: true, destinationLegId: null }
    await engine.engine.run('capture.pause', pause)
    engine.run(2)
    says(CALLER, 1, 'card number')
    says(CALLED, 0, 'carry on')
    await engine.engine.run('capture.resume', { target })
    says(CALLER, 2, 'and its code')
    assert.equal(left, [`${GATEWAYS[CALLED]} page`])
  })

  test(`why T.38 cannot pass on ${threads} threads: on hold, in a pause, with a third party`, async () => {
    await begin(threads)
    const why = () => (engine.engine.do('leg.fax_partner', { legId: CALLER }) as { message: string }).message
    await engine.engine.run('leg.hold', { legId: CALLED, held: true, sources: [] })
    assert.is(why(), 'a party is on hold')
    await engine.engine.run('leg.hold', { legId: CALLED, held: false, sources: [] })
    const target = { roomId: 'call_1' }
    await engine.engine.run('capture.pause', {
      ...{ target, maxSeconds: 60, reason: 'card payment', maskDtmf: true, destinationLegId: null },
    })
    assert.is(why(), 'nothing passes in a card-payment pause')
    assert.is((goOver() as { message: string }).message, 'nothing passes in a card-payment pause')
    await engine.engine.run('capture.resume', { target })
    await engine.engine.do('leg.close', { legId: CALLED })
    assert.is(why(), 'it takes two parties, alone with each other')
  })
}

test('sockets of different families cannot pass packets on between threads', async () => {
  await begin(2)
  assert.match((goOver({ sockets: null }) as { message: string }).message, 'another address family')
})

test.run()
