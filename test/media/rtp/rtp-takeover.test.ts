import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import type { Frame } from '../../../codecs/audio.ts'
import { RtpLeg } from '../../../media/legs/rtp-leg.ts'
import { NO_HOOKS } from '../../../media/rooms/leg.ts'
import { chooseDatagrams } from '../../../media/rtp/datagrams/choose.ts'
import type { Datagrams } from '../../../media/rtp/datagrams/datagrams.ts'
import { nodeDatagrams } from '../../../media/rtp/datagrams/node-datagrams.ts'
import { PortPool } from '../../../media/rtp/port-pool.ts'
import { parseRtcp, RTCP_BUFFER_BYTES, RtcpCompound, writeReport } from '../../../media/rtp/rtcp.ts'
import { RtpSocket } from '../../../media/rtp/rtp-socket.ts'
import { suite } from '../../harness.ts'
import { mediaOf, Speaker } from '../engine/party.ts'

const test = suite('media/rtp/rtp-takeover')

const SILENT: Frame = new Int16Array(160)
const [PHONE, NAT, STRANGER] = ['127.0.0.2', '127.0.0.3', '127.0.0.4']

/** A host with its own loopback address, and the packets that it received. */
class Host {
  got = 0
  readonly socket: Socket
  readonly #speaker: Speaker

  private constructor(socket: Socket, port: number) {
    this.socket = socket
    socket.on('message', () => this.got++)
    this.#speaker = new Speaker(packet => {
      // An SSRC of its own.
      packet[11] = Number(socket.address().address.split('.')[3])
      socket.send(packet, port, '127.0.0.1')
    })
  }

  static async at(address: string, port: number): Promise<Host> {
    const socket = createSocket('udp4')
    socket.bind(0, address)
    await once(socket, 'listening')
    return new Host(socket, port)
  }

  get port(): number {
    return this.socket.address().port
  }

  async speak(packets: number): Promise<void> {
    for (let n = 0; n < packets; n++) this.#speaker.speak(SILENT, 0)
    await settled()
  }
}

const { datagrams: chosen } = await chooseDatagrams('auto')

/** Waits until sent packets have arrived, over either kind of sockets. */
async function settled(): Promise<void> {
  await sleep(30)
  chosen.poll()
}

const thrown = (error: unknown): void => {
  throw error
}

/** A leg on real sockets, described as PHONE, whose signalling comes from NAT. */
async function sceneOver(datagrams: Datagrams, more: object) {
  const socket = await RtpSocket.open(new PortPool({ first: 21_000, last: 21_999 }), '127.0.0.1', datagrams)
  assert.ok(socket)
  let now = 0
  let timedOut = 0
  const hooks = { ...NO_HOOKS, timedOut: () => timedOut++ }
  const leg = new RtpLeg(
    'part_1',
    socket,
    hooks,
    () => 1,
    () => {},
  )
  const receiver = {
    rtp: (bytes: Uint8Array, host: string, port: number) => leg.rtp(bytes, host, port, now),
    rtcp: (bytes: Uint8Array, host: string, port: number) => leg.rtcp(bytes, host, port, now),
  }
  socket.listen(receiver, thrown)
  const [phone, nat, stranger] = await Promise.all([PHONE, NAT, STRANGER].map(host => Host.at(host!, socket.port)))
  const media = mediaOf(PHONE!)
  const remote = { ...media.remote, port: phone!.port, rtcpPort: phone!.port, signallingHost: NAT!, ...more }
  leg.connect({ ...media, remote }, now)
  const say = async (): Promise<void> => {
    leg.send(null, null, now)
    await settled()
  }
  const tick = (ms: number): void => {
    now += ms
    leg.pull(now, false, false)
  }
  const close = (): void => {
    for (const host of [phone!, nat!, stranger!]) host.socket.close()
    socket.close()
  }
  return {
    leg,
    phone: phone!,
    nat: nat!,
    stranger: stranger!,
    say,
    tick,
    close,
    rtcpPort: socket.port + 1,
    timeOuts: () => timedOut,
  }
}

for (const datagrams of chosen.kind === 'node' ? [chosen] : [nodeDatagrams, chosen]) {
  const scene = (more: object = {}) => sceneOver(datagrams, more)
  test(`${datagrams.kind}: who finds the port first gets nothing of our audio, nor after a minute of silence`, async () => {
    const { leg, phone, stranger, say, tick, close } = await scene()
    await stranger.speak(20)
    await say()
    assert.equal([stranger.got, phone.got], [0, 1], 'it goes where it was described')
    await phone.speak(1)
    tick(50_000)
    await stranger.speak(20)
    await say()
    assert.is(stranger.got, 0)
    assert.ok(leg.packetsRefused >= 40)
    close()
  })

  test(`${datagrams.kind}: a party behind a NAT is heard from its signalling host, and is sent its audio there`, async () => {
    const { nat, phone, say, close } = await scene({ host: '10.0.0.5', isReachable: false, isRtcpReachable: false })
    await say()
    assert.equal([nat.got, phone.got], [0, 0], 'nothing is sent to a private address that somebody outside has named')
    await nat.speak(1)
    await say()
    assert.is(nat.got, 1)
    close()
  })

  test(`${datagrams.kind}: RTCP of a stranger is no sign of life`, async () => {
    for (const [who, lives] of [
      ['stranger', false],
      ['phone', true],
    ] as const) {
      const world = await scene()
      await world.phone.speak(1)
      world.tick(59_000)
      const report = new Uint8Array(RTCP_BUFFER_BYTES)
      const length = writeReport(report, 7, null, null, 'somebody')
      world[who].socket.send(report.subarray(0, length), world.rtcpPort, '127.0.0.1')
      await settled()
      world.tick(2000)
      assert.is(world.timeOuts(), lives ? 0 : 1, who)
      world.close()
    }
  })

  test(`${datagrams.kind}: a leg that ends says goodbye by RTCP, and one that heard nothing has no opinion of the sound`, async () => {
    const { leg, phone, say, close } = await scene()
    assert.is(leg.quality.mos, null)
    await phone.speak(5)
    await say()
    assert.ok((leg.quality.mos ?? 0) > 4)
    const last = once(phone.socket, 'message')
    leg.goodbye(0)
    const [bytes] = await last
    const compound = new RtcpCompound()
    assert.ok(parseRtcp(bytes, compound))
    assert.is(compound.byeCount, 1)
    close()
  })
}

test.run()
