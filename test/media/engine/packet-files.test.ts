import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { type CreateVoiceDetector, loadVoiceDetector } from '../../../codecs/voice-activity.ts'
import { Clock } from '../../../media/engine/clock.ts'
import { Engine } from '../../../media/engine/engine.ts'
import type { LegSocket } from '../../../media/engine/legs.ts'
import { Prompts } from '../../../media/engine/prompts.ts'
import { chooseDatagrams } from '../../../media/rtp/datagrams/choose.ts'
import { GROUP_PACKETS } from '../../../media/rtp/playout-delay.ts'
import { PortPool } from '../../../media/rtp/port-pool.ts'
import { RtpSender } from '../../../media/rtp/rtp.ts'
import { type RtpReceiver, RtpSocket } from '../../../media/rtp/rtp-socket.ts'
import { NO_SPEECH_TO_TEXT } from '../../../media/speech/speech-engines.ts'
import { Executed } from '../../executed.ts'
import { WsReceiver } from '../../fakes/ws-receiver.ts'
import { suite } from '../../harness.ts'
import { mediaOf, seeded } from './party.ts'

// Own process: it counts which files are executed.

const test = suite('media/engine/packet-files')

const HOST = '127.0.0.1'
const FOLDERS = ['media', 'codecs']
/**
 * After these packets everything special about a new source is over, which takes up to two seconds, and a group of packets has just been evaluated for
 * the playout delay. The first packet belongs to no group.
 */
const WARM_UP = 15 * GROUP_PACKETS + 1
/** These packets are between two evaluations that do not happen with each packet, and before the first RTCP report. */
const PACKETS = GROUP_PACKETS - 1

/** A party on a real socket that talks noise. */
class Talker {
  received = 0
  port = 0
  readonly #socket = createSocket('udp4')
  readonly #sender: RtpSender
  readonly #noise = seeded(3)

  constructor(ssrc: number) {
    this.#sender = new RtpSender({ ssrc, sequence: 1, timestamp: 0, maxPayload: 160 })
    this.#socket.on('message', () => this.received++)
  }

  async listen(): Promise<void> {
    this.#socket.bind(0, HOST)
    await once(this.#socket, 'listening')
    this.port = (this.#socket.address() as AddressInfo).port
  }

  talkTo(port: number): void {
    const { packet } = this.#sender
    for (let i = 12; i < packet.length; i++) packet[i] = 0xe0 + ((this.#noise() >>> 16) & 7)
    this.#socket.send(this.#sender.write(0, 160).slice(), port, HOST)
    this.#sender.advance(160)
  }

  close(): void {
    this.#socket.close()
  }
}

/** The sockets that the product would have here. */
const { datagrams } = await chooseDatagrams('auto')

/** An engine on real sockets with three parties that talk in a room. The virtual clock waits until each packet has been received and sent. */
class Conversation {
  readonly faults: unknown[] = []
  readonly engine: Engine
  readonly talkers = [1, 2, 3].map(ssrc => new Talker(ssrc))
  readonly #dir = mkdtempSync(join(tmpdir(), 'tandem-packet-'))
  readonly #prompts = new Prompts({ sampleRateHz: 8000 })
  readonly #clock: Clock
  readonly #ports: number[] = []
  #now = 0
  #arrived = 0

  constructor(createVoiceDetector: CreateVoiceDetector) {
    const ports = new PortPool({ first: 31_000, last: 31_999 })
    this.#clock = new Clock(
      (slot, deadline) => this.engine.tick(slot, deadline),
      () => this.#now,
    )
    this.engine = new Engine({
      dataDir: this.#dir,
      emit: () => {},
      over: () => {},
      end: () => {},
      quiet: () => {},
      fault: error => this.faults.push(error),
      sendKey: () => {},
      openSocket: async host => this.#counted((await RtpSocket.open(ports, host, datagrams))!),
      userAgent: 'tandem/test',
      createResampler: () => {
        throw new Error('no stream of this test resamples')
      },
      createNoiseSuppressor: () => {
        throw new Error('nothing is suppressed in this test')
      },
      prompts: this.#prompts,
      hearing: { createVoiceDetector, stt: NO_SPEECH_TO_TEXT },
      clock: this.#clock,
      now: () => this.#now,
      sendErrors: () => 0,
      connections: datagrams.connections,
      random: seeded(1),
    })
  }

  /** Wraps a socket to count received packets. */
  #counted(socket: RtpSocket): LegSocket {
    const listen = socket.listen.bind(socket)
    return Object.assign(socket, {
      listen: (receiver: RtpReceiver, broke: (error: unknown) => void) =>
        listen(
          {
            rtp: (bytes, host, port) => {
              receiver.rtp(bytes, host, port, this.#now)
              this.#arrived++
            },
            rtcp: (bytes, host, port) => receiver.rtcp(bytes, host, port, this.#now),
          },
          broke,
        ),
    })
  }

  async begin(): Promise<void> {
    const enter = { roomId: 'room', kind: 'conference' as const, chimes: false, musicWhenAlone: false, maxMembers: 3 }
    for (const [i, talker] of this.talkers.entries()) {
      await talker.listen()
      const opened = await this.engine.do('leg.open', { legId: `leg_${i}`, affinity: '', host: HOST })
      assert.ok('port' in opened)
      this.#ports.push(opened.port)
      const media = mediaOf(HOST)
      this.engine.do('leg.connect', {
        legId: `leg_${i}`,
        media: { ...media, remote: { ...media.remote, port: talker.port } },
        enter,
      })
    }
  }

  /** Lets everybody send `packets`, and receive as many. */
  async talk(packets: number): Promise<void> {
    for (let i = 0; i < packets; i++) {
      const arrived = this.#arrived + this.talkers.length
      const heard = this.talkers.map(({ received }) => received + 1)
      for (const [n, talker] of this.talkers.entries()) talker.talkTo(this.#ports[n]!)
      while (this.#arrived < arrived) {
        datagrams.poll()
        await setImmediate()
      }
      this.#now += 20
      while (this.talkers.some(({ received }, n) => received < heard[n]!)) await setImmediate()
    }
  }

  async close(): Promise<void> {
    await this.engine.shutdown()
    await this.#prompts.close()
    for (const talker of this.talkers) talker.close()
    rmSync(this.#dir, { recursive: true })
    assert.equal(this.faults, [])
  }
}

/** The files that a packet passes once everybody talks. */
async function passed(prepare: (conversation: Conversation) => Promise<void> = async () => {}): Promise<string[]> {
  const conversation = new Conversation(await loadVoiceDetector())
  await conversation.begin()
  await prepare(conversation)
  await conversation.talk(WARM_UP)
  const executed = new Executed()
  await executed.begin()
  const files = await executed.files(FOLDERS, () => conversation.talk(PACKETS))
  executed.end()
  await conversation.close()
  assert.ok(files.includes('media/rooms/mixer.ts'))
  return files
}

test('a packet passes 16 files: in, through the mix of three who talk, and out', async () => {
  const files = await passed()
  assert.ok(files.length <= 16, `${files.length}:\n${files.join('\n')}`)
})

test('with a fork of both tracks it passes 22', async () => {
  const receiver = await WsReceiver.listen('reads')
  const spec = {
    streamId: 'stream',
    target: { legId: 'leg_0' },
    url: receiver.url,
    tracks: 'both' as const,
    format: 'mulaw_8000' as const,
    customParameters: {},
    accountSid: 'org',
    callSid: 'call',
    signingSecret: 'whsec_c2VjcmV0',
    addresses: { publicOnly: false, allowed: ['127.0.0.0/8'] },
  }
  const files = await passed(async ({ engine }) => {
    engine.do('stream.start', spec)
    while (engine.snapshot().streams[0]?.status !== 'streaming') await setImmediate()
  })
  assert.ok(files.includes('media/streams/stream-wire.ts'))
  assert.ok(files.length <= 22, `${files.length}:\n${files.join('\n')}`)
  await receiver.close()
})

test.run()
