// Judges timing: it compares audio sample by sample, and when it arrives.
import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { untilQuiet } from '../../../bench/members.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { silence, tone } from '../../../bench/voices.ts'
import { readWav, type Wav } from '../../../codecs/wav.ts'
import { callsOf, HEARD_DBOV, leave, newRoom, type Seated, seat, UNHEARD_DBOV } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'

const SLOW = { timeoutMs: 60_000 }
const HZ = [330, 440, 550]
/** Where a tone begins is read this exactly, alone or among others: it has begun once it fills half of a frame [samples]. */
const FRAME = 160
const STEP = 8

const test = sharedSuite('e2e/recordings/recording')
let seated: Seated[]
/** What each has heard of the others' tones. */
let heard: Int16Array[]
let recording: {
  channels: { kind: string; participant_id: string | null }[]
  duration_ms: number
  segments: unknown[]
  sample_rate: number
}
let wav: Wav
let file: Buffer
let contentPath: string

test.before(async () => {
  const room = await newRoom(product, {}, { record: true })
  seated = [await seat(product, room, 'rec-a'), await seat(product, room, 'rec-b', { codecs: ['PCMA'] })]
  await untilQuiet(callsOf(seated))
  seated.push(await seat(product, room, 'rec-c'))
  await untilQuiet(callsOf(seated))
  const before = callsOf(seated).map(call => call.heard.length)
  for (const [i, { call }] of seated.entries()) call.say(tone(HZ[i]!))
  await Promise.all(callsOf(seated).map(call => call.heard.next(2000)))
  heard = callsOf(seated).map((call, i) => call.heard.samples(before[i]))
  for (const { call } of seated) call.say(silence)
  await seated[0]!.call.heard.next(500)
  const { sessionId } = seated[0]!
  await leave(...seated)
  recording = await product.until('the recording is ready', async () => {
    const found = await product.ok('GET', `/calls/${sessionId}/recording`)
    return found.status === 'recording' ? null : found
  })
  contentPath = `/calls/${sessionId}/recording/content`
  file = await product.download(contentPath)
  const parsed = readWav(file)
  if ('error' in parsed) throw new Error(parsed.error)
  wav = parsed
})

/** Where a tone begins in its channel [samples]. */
function onsetOf(channel: Int16Array): number {
  return channel.findIndex(sample => Math.abs(sample) > 1000)
}

test(
  'a recording is a WAV file with one channel per participant and one for the product, as long as it says',
  () => {
    assert.is(wav.channels, 4)
    assert.equal(recording.channels, [
      ...seated.map(({ participantId }) => ({ kind: 'participant', participant_id: participantId })),
      { kind: 'product', participant_id: null },
    ])
    assert.is(wav.sampleRateHz, recording.sample_rate)
    assert.is(Math.round((wav.samples[0]!.length / wav.sampleRateHz) * 1000), recording.duration_ms)
    assert.equal(recording.segments, [])
  },
  SLOW,
)

test('each channel holds its participant and nobody else, over a whole second', () => {
  for (const [i, channel] of wav.samples.slice(0, 3).entries()) {
    const from = onsetOf(channel) + 4000
    for (const [j, hz] of HZ.entries()) {
      const level = levelAt(hz, channel, from, from + 8000)
      assert.ok(i === j ? level > HEARD_DBOV : level < UNHEARD_DBOV, `channel ${i}, ${hz} Hz: ${level.toFixed(1)} dBov`)
    }
  }
})

/** The same for a tone among others [samples]. */
function toneBegins(hz: number, samples: Int16Array): number {
  for (let at = 0; at + FRAME <= samples.length; at += STEP) {
    if (levelAt(hz, samples, at, at + FRAME) > HEARD_DBOV) return at
  }
  return -1
}

// Not to the clock: who has sent late packets waits longer in its jitter buffer, for whoever listens and here.
test('the channels are aligned: what was heard at once stands at one place, also of who came late', () => {
  for (const [listener, samples] of heard.entries()) {
    const [one, other] = HZ.flatMap((hz, i) =>
      i === listener ? [] : [toneBegins(hz, samples) - toneBegins(hz, wav.samples[i]!)],
    )
    assert.ok(
      Math.abs(one! - other!) <= FRAME / 2,
      `${listener} has heard the others ${one} and ${other} samples after the recording`,
    )
  }
})

test('a tone of two seconds is two seconds long in the recording', () => {
  for (const channel of wav.samples.slice(0, 3)) {
    const from = onsetOf(channel)
    const to = channel.findLastIndex(sample => Math.abs(sample) > 1000)
    assert.ok(Math.abs(to - from - 16_000) < 800, `${(to - from) / 8} ms`)
  }
})

test('parts of the recording are served by Range with 206, and 416 beyond its end', async () => {
  const get = (range: string) =>
    fetch(`${product.baseUrl}/v1${contentPath}`, { headers: { authorization: `Bearer ${product.liveKey}`, range } })
  const part = await get('bytes=100-299')
  assert.is(part.status, 206)
  assert.is(part.headers.get('content-range'), `bytes 100-299/${file.length}`)
  assert.equal(Buffer.from(await part.arrayBuffer()), file.subarray(100, 300))
  assert.is((await get(`bytes=${file.length}-`)).status, 416)
})

test('the file lies in the data directory under the name that no participant chose', () => {
  const onDisk = readFileSync(`${product.dataDir}/recordings/${contentPath.split('/')[2]}.wav`)
  assert.ok(onDisk.equals(file))
})

test.run()
