import * as assert from 'uvu/assert'
import { loadResampler } from '../../../codecs/resample.ts'
import type { StreamFormat } from '../../../media/protocol.ts'
import { chooseDatagrams } from '../../../media/rtp/datagrams/choose.ts'
import { type RunningStream, StreamDialler } from '../../../media/streams/stream-socket.ts'
import { gaps } from '../../fakes/stream-wire.ts'
import { WsReceiver } from '../../fakes/ws-receiver.ts'
import { suite } from '../../harness.ts'

const test = suite('media/stream-socket, stall in real time')

const FRAME_MS = 20
/** Whole markers (`ReadMarkers`): at the stall all that was read has been confirmed. */
const FRAMES_BEFORE = 50
const FRAMES_IN_STALL = 250
const FRAMES_AFTER = 50
const TRACKS = ['inbound', 'outbound'] as const

const { connections } = (await chooseDatagrams('auto')).datagrams
const dialler = new StreamDialler({ userAgent: 'tandem/0.0.1', createResampler: await loadResampler(), connections })
const frame = new Int16Array(160)

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

interface Fork {
  receiver: WsReceiver
  stream: RunningStream
  statuses: string[]
}

async function start(streamId: string, format: StreamFormat): Promise<Fork> {
  const receiver = await WsReceiver.listen('reads')
  const statuses: string[] = []
  const stream = await new Promise<RunningStream>(resolve => {
    const started = dialler.startStream(
      {
        streamId,
        target: { legId: 'leg_1' },
        url: receiver.url,
        tracks: 'both',
        format,
        customParameters: {},
        accountSid: 'org_1',
        callSid: 'call_1',
        signingSecret: `whsec_${Buffer.alloc(32).toString('base64')}`,
        addresses: { publicOnly: false, allowed: [] },
      },
      {
        now: () => performance.now(),
        press: () => false,
        fault: () => {},
        changed: ({ status }) => {
          statuses.push(status)
          if (status === 'streaming') resolve(started)
        },
      },
    )
  })
  return { receiver, stream, statuses }
}

/** Writes to every stream on absolute deadlines of 20 ms, `count` frames of each track. */
async function speak(forks: Fork[], count: number): Promise<void> {
  const begin = performance.now()
  for (let n = 0; n < count; n++) {
    for (const { stream } of forks) for (const track of TRACKS) stream.sink.write(track, frame)
    await pause(begin + (n + 1) * FRAME_MS - performance.now())
  }
}

async function end({ receiver, stream }: Fork): Promise<void> {
  await stream.stop('stopped')
  await receiver.until(() => receiver.connections[0]?.closeCode === 1000)
  await receiver.close()
}

for (const format of ['mulaw_8000', 'l16_16000'] as const)
  test(
    `Stalling a receiver of ${format} for 5 s drops the frames older than 2 s on each track, the chunk gap is frames_dropped, and another stream loses none`,
    async () => {
      const [slow, other] = [await start('ms_1', format), await start('ms_2', format)]
      await speak([slow, other], FRAMES_BEFORE)
      await slow.receiver.until(() => slow.receiver.chunks('outbound').length === FRAMES_BEFORE)
      slow.receiver.pause()
      await speak([slow, other], FRAMES_IN_STALL)
      slow.receiver.resume()
      const resumedAt = FRAMES_BEFORE + FRAMES_IN_STALL
      await speak([slow, other], FRAMES_AFTER)
      const { framesDropped, status } = slow.stream.snapshot()
      assert.is(status, 'streaming')
      await Promise.all([end(slow), end(other)])
      assert.equal(slow.statuses, ['streaming', 'stopped'])
      const lost = TRACKS.map(track => gaps(slow.receiver.chunks(track)))
      assert.is(lost[0]!.length + lost[1]!.length, framesDropped)
      for (const chunks of lost) {
        assert.ok(Math.abs(chunks.length - 150) <= 3, `${chunks.length} frames dropped`)
        assert.is(chunks.at(-1)! - chunks[0]! + 1, chunks.length)
        assert.ok(resumedAt - chunks.at(-1)! <= 100)
      }
      assert.is(slow.stream.snapshot().framesDropped, framesDropped)
      assert.is(slow.receiver.connections.length, 1)
      for (const track of TRACKS) {
        assert.equal(gaps(other.receiver.chunks(track)), [])
        assert.is(other.receiver.chunks(track).length, resumedAt + FRAMES_AFTER)
      }
      assert.is(other.stream.snapshot().framesDropped, 0)
    },
    { timeoutMs: 20_000, together: true },
  )

test.run()
