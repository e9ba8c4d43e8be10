import { Application, createEncoder } from 'libopus-wasm'
import * as assert from 'uvu/assert'
import { levelAt, loudness } from '../../../bench/spectrum.ts'
import { WIDEBAND_HZ } from '../../../codecs/audio.ts'
import { OpusCodec, opusSamples } from '../../../codecs/packets/opus.ts'
import { NO_TICKET, TicketedPackets } from '../../../media/legs/ticketed-packets.ts'
import { JitterBuffer } from '../../../media/rtp/jitter.ts'
import { suite } from '../../harness.ts'

const test = suite('media/legs/ticketed-packets')
/** Of 16 kHz, and its tickets. */
const FRAME = 320
const TICKETS = 160
const HZ = 440

/** What a browser sends: a tone at 48 kHz in packets of `ms`. */
async function packets(count: number, ms: 10 | 20 | 40 | 60, toneOf = (i: number) => HZ * i): Promise<Uint8Array[]> {
  const samples = 48 * ms
  const encoder = await createEncoder({
    sampleRate: 48_000,
    channels: 1,
    application: Application.Voip,
    fec: true,
    packetLossPercent: 20,
    // Above that libopus puts 60 ms into frames of 20 ms, of which the first is repeated alone.
    bitrate: ms > 20 ? 20_000 : 32_000,
    frameSize: samples,
  })
  const pcm = new Int16Array(samples)
  const all = Array.from({ length: count }, (_, packet) => {
    for (let i = 0; i < samples; i++) {
      pcm[i] = 8000 * Math.sin((2 * Math.PI * toneOf(packet * samples + i)) / 48_000)
    }
    return encoder.encode(pcm)
  })
  encoder.free()
  return all
}

interface Heard {
  samples: Int16Array
  jitter: JitterBuffer
  audio: TicketedPackets
}

/** Plays packets that arrive every `ms`, with a pull every 20 ms. `order`: which packet arrives at each time; null: none. */
async function play(sent: readonly Uint8Array[], ms: number, order: readonly (number | null)[]): Promise<Heard> {
  const codec = await OpusCodec.open()
  const audio = new TicketedPackets(codec)
  const jitter = new JitterBuffer({ silenceByte: NO_TICKET })
  const [tickets, frame] = [new Uint8Array(TICKETS), new Int16Array(FRAME)]
  const heard: number[] = []
  // Timestamps begin shortly before they wrap.
  const first = 2 ** 32 - 5 * 960
  let at = 0
  for (let now = 0; at < order.length; now += 20) {
    for (; at < order.length && at * ms <= now; at++) {
      const packet = order[at]!
      if (order[at] === null) continue
      const timestamp = audio.timestampOf((first + packet * ms * 48) >>> 0)
      audio.push(jitter, packet & 0xffff, timestamp, sent[packet]!, 0, sent[packet]!.length, now)
    }
    const result = jitter.pull(tickets, now + 10)
    if (result === 'audio' || result === 'lost') audio.play(result, tickets, frame)
    else frame.fill(0)
    heard.push(...frame)
  }
  codec.close()
  return { samples: Int16Array.from(heard), jitter, audio }
}

/** Whether there is almost nothing but the tone after the beginning; judged by tenths of a second, as its phase may jump. */
function isTone(samples: Int16Array): boolean {
  const tenth = WIDEBAND_HZ / 10
  for (let at = WIDEBAND_HZ / 4; at + tenth <= samples.length; at += tenth) {
    const part = samples.subarray(at, at + tenth)
    if (loudness(part) < -25 || loudness(part) - levelAt(HZ, part, 0, tenth, WIDEBAND_HZ) > 3) return false
  }
  return true
}

const inOrder = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

test('packets of 10 to 60 ms are played whole and in their time, though timestamps wrap', async () => {
  for (const ms of [10, 20, 40, 60] as const) {
    const count = 1200 / ms
    const { samples, jitter } = await play(await packets(count, ms), ms, inOrder(count))
    assert.ok(isTone(samples), `${ms} ms`)
    assert.is(jitter.counters.lost, 0, `${ms} ms`)
  }
})

test('packets that change places on their way are played in their order', async () => {
  const order = inOrder(60)
  for (let i = 10; i < 58; i += 4) [order[i], order[i + 1]] = [order[i + 1]!, order[i]!]
  const { samples } = await play(await packets(60, 20), 20, order)
  assert.ok(isTone(samples))
})

test('RFC 6716 §2.1.7: what is lost now and then is taken from the packet after it, or made up: the tone goes on', async () => {
  const order = inOrder(60).map(i => (i > 10 && i % 6 === 0 ? null : i))
  const { samples, jitter } = await play(await packets(60, 20), 20, order)
  assert.is(jitter.counters.lost, 8)
  assert.ok(isTone(samples))
})

test('a lost packet that the next one repeats is recovered, else it is made up (RFC 6716 §2.1.7)', async () => {
  const sent = await packets(20, 20)
  const codec = await OpusCodec.open()
  const audio = new TicketedPackets(codec)
  const [tickets, frame] = [new Uint8Array(TICKETS), new Int16Array(FRAME)]
  // All that comes, waits: the first ten, without the sixth and the last.
  const waiting = { push: () => 'ok' } as unknown as JitterBuffer
  const here = [0, 1, 2, 3, 4, 6, 7, 8]
  for (const n of here) audio.push(waiting, n, n * TICKETS, sent[n]!, 0, sent[n]!.length, 0)
  const played = Array.from({ length: 10 }, (_, n) => {
    const slot = here.indexOf(n)
    return slot < 0 ? audio.play('lost', tickets, frame) : audio.play('audio', tickets.fill(slot), frame)
  })
  assert.equal([played[5], played[9]], ['recovered', 'played'])
  assert.ok(loudness(frame) > -40)
  codec.close()
})

/** Rises so fast that no concealment can guess how it goes on. */
const rising = (i: number): number => 300 * i + (i * i) / 240

/** By how much these samples are louder than their difference from what was meant [dB]. */
function likeness(samples: Int16Array, meant: Int16Array): number {
  return loudness(meant) - loudness(samples.map((sample, i) => sample - meant[i]!))
}

test('so is one of 40 or 60 ms, of which each frame comes from the next: that one repeats all of it', async () => {
  for (const ms of [40, 60] as const) {
    const frames = ms / 20
    const sent = await packets(20, ms, rising)
    const heard = async (lost: readonly number[]) => {
      const codec = await OpusCodec.open()
      const audio = new TicketedPackets(codec)
      const waiting = { push: () => 'ok' } as unknown as JitterBuffer
      const here = [...sent.keys()].filter(n => !lost.includes(n))
      for (const n of here) audio.push(waiting, n, n * frames * TICKETS, sent[n]!, 0, sent[n]!.length, 0)
      const [tickets, frame] = [new Uint8Array(TICKETS), new Int16Array(FRAME)]
      const all: number[] = []
      const how: string[] = []
      for (let at = 0; at < sent.length * frames; at++) {
        const slot = here.indexOf(Math.floor(at / frames))
        const played = slot < 0 ? audio.play('lost', tickets, frame) : audio.play('audio', tickets.fill(slot), frame)
        if (slot < 0) how.push(played)
        all.push(...frame)
      }
      codec.close()
      return { samples: Int16Array.from(all), how }
    }
    const meant = await heard([])
    const { samples, how } = await heard([6, 12, 13])
    const rest = Array(frames - 1).fill('rest')
    assert.equal(how, ['recovered', ...rest, ...Array(frames).fill('played'), 'recovered', ...rest], `${ms} ms`)
    const packet = (all: Int16Array, n: number) => all.subarray(n * frames * FRAME, (n + 1) * frames * FRAME)
    const like = likeness(packet(samples, 6), packet(meant.samples, 6))
    assert.ok(like > 4, `${ms} ms: ${like} dB`)
  }
})

test('a sender that leaves out pauses has lost nothing: no frame more is kept waiting for what its packets repeat', async () => {
  const sent = await packets(100, 20)
  const codec = Object.assign(await OpusCodec.open(), { repeats: () => FRAME })
  const audio = new TicketedPackets(codec)
  const jitter = new JitterBuffer({ silenceByte: NO_TICKET })
  const reserved: number[] = []
  jitter.reserve = frames => void reserved.push(frames)
  const [tickets, frame] = [new Uint8Array(TICKETS), new Int16Array(FRAME)]
  for (let tick = 0, n = 0; n < sent.length; tick++) {
    // 200 ms of every 600.
    if (tick % 30 < 20) {
      const timestamp = audio.timestampOf(tick * 960)
      audio.push(jitter, n, timestamp, sent[n]!, 0, sent[n]!.length, tick * 20)
      n++
    }
    const result = jitter.pull(tickets, tick * 20 + 10)
    if (result === 'audio' || result === 'lost') audio.play(result, tickets, frame)
  }
  codec.close()
  assert.equal(reserved, [])
})

test('after a long silence nothing is made up any more, and audio goes on when it comes again', async () => {
  const order = inOrder(100).map(i => (i >= 20 && i < 70 ? null : i))
  const { samples } = await play(await packets(100, 20), 20, order)
  assert.ok(samples.subarray(35 * FRAME, 65 * FRAME).every(sample => sample === 0))
  assert.ok(isTone(samples.subarray(75 * FRAME)))
})

test('what is no Opus is counted and heard as nothing; nothing throws', async () => {
  let seed = 99
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0
    return (seed >>> 8) % below
  }
  const noise = Array.from({ length: 300 }, () => Uint8Array.from({ length: random(300) }, () => random(256)))
  const { audio } = await play(noise, 20, inOrder(300))
  assert.ok(audio.refused > 0)
})

test('RFC 6716 §3.1: how long a packet lasts is read from its first bytes', () => {
  const of = (...bytes: number[]): number => opusSamples(Uint8Array.from(bytes), 0, bytes.length)
  // SILK of 20 and 60 ms, hybrid of 10 ms, CELT of 2.5 ms, two frames of 20 ms, six frames of 20 ms, seven of them, none, nothing.
  assert.equal(
    [
      of(1 << 3),
      of(3 << 3),
      of(12 << 3),
      of(16 << 3),
      of((1 << 3) | 1),
      of((1 << 3) | 3, 6),
      of((1 << 3) | 3, 7),
      of((1 << 3) | 3, 0),
      of(),
    ],
    [160, 480, 80, 20, 320, 960, 0, 0, 0],
  )
})

test('what we say is heard by another decoder, at no more than 64 kbit/s', async () => {
  const codec = await OpusCodec.open()
  const frame = new Int16Array(FRAME)
  const heard = new Int16Array(FRAME * 50)
  const into = new Int16Array(1920)
  const packet = new Uint8Array(640)
  for (let n = 0; n < 50; n++) {
    for (let i = 0; i < FRAME; i++) frame[i] = 8000 * Math.sin((2 * Math.PI * HZ * (n * FRAME + i)) / WIDEBAND_HZ)
    const length = codec.encode(frame, packet)
    assert.ok(length > 0 && length <= 160)
    assert.is(codec.decode(packet.subarray(0, length), into), FRAME)
    heard.set(into.subarray(0, FRAME), n * FRAME)
  }
  assert.ok(isTone(heard))
  codec.close()
  codec.close()
  assert.is(codec.encode(frame, packet), 0)
})

test.run()
