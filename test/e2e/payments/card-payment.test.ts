// Judges timing: it compares audio sample by sample, and when it arrives.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { untilQuiet } from '../../../bench/members.ts'
import { keypadTrace, keysIn } from '../../../bench/phone/keypad.ts'
import type { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import { Product } from '../../../bench/product.ts'
import { audibleSamples, levelAt } from '../../../bench/spectrum.ts'
import { audioOf, type ReceivedStream, StreamReceiver, type StreamTrack } from '../../../bench/stream-receiver.ts'
import { silence, tone } from '../../../bench/voices.ts'
import { readWav } from '../../../codecs/wav.ts'
import { HepCollector } from '../../fakes/hep-collector.ts'
import { suite } from '../../harness.ts'
import { callsOf, curtain, dialledIn, HEARD_DBOV, leave, newRoom, type Seated, seat, type TestRoom } from '../scene.ts'

/** The keys pressed as RFC 4733 events, in-band and by SIP INFO: sequences that occur nowhere by chance. */
const CARD = '4929876543210987'
const TONES = '8642097531'
const INFO = '73519'
const SLOW = { timeoutMs: 60_000 }
const TRACKS: StreamTrack[] = ['inbound', 'outbound']
const FORMATS = ['mulaw_8000', 'l16_8000', 'l16_16000'] as const
/** Louder than this in any 10 ms is the trace of a key; the keys themselves are at -17 dBov. */
const TRACE_DBOV = -60

const test = suite('e2e/payments/card-payment')
let product: Product
let receiver: StreamReceiver
let collector: HepCollector
let room: TestRoom
/** Presses keys by RFC 4733 and INFO; presses them in-band; only listens. */
let anna: Seated
let cleo: Seated
let ben: Seated
let terminal: Phone
let line: PhoneCall
let lineId: string
let streams: { stream: ReceivedStream; callId: string }[]

/** Lengths of all audio and streams when the pause began and when it ended. */
interface Marks {
  heard: number[]
  frames: Record<StreamTrack, number>[]
  events: number
}
let begin: Marks
let end: Marks
let recording: { wav: Int16Array[]; segments: { from_ms: number; to_ms: number; reason: string }[] }
let pausedAnswer: { paused: boolean; resumes_at: string; destination_participant_id: string }

const seated = (): Seated[] => [anna, cleo, ben]

async function marks(): Promise<Marks> {
  return {
    heard: callsOf(seated()).map(call => call.heard.length),
    frames: streams.map(({ stream }) => ({
      inbound: stream.tracks.inbound.length,
      outbound: stream.tracks.outbound.length,
    })),
    events: (await product.events()).length,
  }
}

test.before(async () => {
  collector = await HepCollector.listen()
  product = await Product.start({ env: { TANDEM_LOG_LEVEL: 'trace', TANDEM_HEP_URL: collector.url } })
  receiver = await StreamReceiver.listen()
  room = await newRoom(product, {}, { record: true })
  anna = await seat(product, room, 'pay-a')
  cleo = await seat(product, room, 'pay-c', { telephoneEvent: false, codecs: ['PCMA'] })
  ben = await seat(product, room, 'pay-b')
  ;({ phone: terminal, call: line, participantId: lineId } = await dialledIn(product, room, 'terminal'))
  await untilQuiet([...callsOf(seated()), line])
  await openStreams()
  await control()
  await pause()
  await afterwards()
})
test.after(async () => {
  await receiver?.close()
  collector?.close()
  await curtain(product)
})

/** Starts a stream of every format on every call, and one on the session. */
async function openStreams(): Promise<void> {
  const targets = [anna.callId, cleo.callId, ben.callId, anna.sessionId]
  streams = await Promise.all(
    targets.map(async (callId, i) => {
      const format = FORMATS[i % FORMATS.length]
      const { id } = await product.ok('POST', `/calls/${callId}/streams`, { url: receiver.url, tracks: 'both', format })
      return { stream: await receiver.stream(id), callId }
    }),
  )
}

/** The keys before the pause, as each stream is to carry them. */
const CONTROL = ['1', '2', '', '12']

const until = (what: string, is: () => boolean): Promise<unknown> => product.until(what, async () => is() || null)

/** Checks that, before the pause, the same keys are seen wherever none must be seen later: so the measurement can fail. */
async function control(): Promise<void> {
  await anna.call.press('1', { as: 'rfc4733' })
  await cleo.call.press('2', { as: 'inband' })
  await until('all streams carry the keys', () => streams.every(({ stream }, i) => stream.keys === CONTROL[i]))
  await until('the tone is heard', () => keysIn(ben.call.heard.samples()) === '2')
  await anna.call.heard.next(600)
}

async function pause(): Promise<void> {
  pausedAnswer = await product.ok('POST', `/calls/${anna.callId}/pci`, {
    action: 'pause',
    destination_participant_id: lineId,
  })
  begin = await marks()
  await anna.call.press(CARD, { as: 'rfc4733', gapMs: 60 })
  // Keys are relayed at the speed of a keypad, instead of audio, so the last ones are still on their way.
  await until('the line has the keys of the card', () => line.keysHeard === CARD)
  // The last one has only begun there, and until its end would cover the first tone.
  await line.heard.next(200)
  await cleo.call.press(TONES, { as: 'inband', toneMs: 80 })
  await until('the line hears the tones', () => keysIn(line.heard.samples()).endsWith(TONES))
  await anna.call.press(INFO, { as: 'info' })
  await until('the line has the keys of INFO', () => line.keysHeard === CARD + INFO)
  // The last tone still sounds when the pause ends: the rest of it is part of the payment, too.
  const held = cleo.call.press('5', { as: 'inband', toneMs: 800 })
  await cleo.call.heard.next(400)
  await product.ok('POST', `/calls/${anna.callId}/pci`, { action: 'resume' })
  await held
  await anna.call.heard.next(600)
  end = await marks()
}

async function afterwards(): Promise<void> {
  anna.call.say(tone(330))
  await anna.call.heard.next(1500)
  anna.call.say(silence)
  await leave(...seated(), { phone: terminal })
  const path = `/calls/${anna.sessionId}/recording`
  const ready = await product.until('the recording is ready', async () => {
    const found = await product.ok('GET', path)
    return found.status === 'recording' ? null : found
  })
  const wav = readWav(await product.download(`${path}/content`))
  if ('error' in wav) throw new Error(wav.error)
  recording = { wav: wav.samples, segments: ready.segments }
}

/** The audio at 8 kHz that a stream got between the marks. */
function framesInPause(i: number, track: StreamTrack): Int16Array {
  const { stream } = streams[i]!
  return audioOf(stream, stream.tracks[track].slice(begin.frames[i]![track], end.frames[i]![track]))
}

test('the pause is answered with what it is', () => {
  assert.is(pausedAnswer.paused, true)
  assert.is(pausedAnswer.destination_participant_id, lineId)
  assert.ok(Date.parse(pausedAnswer.resumes_at) > Date.now() - 60_000)
})

test('before the pause the streams, the other legs and the recording did show keys: the measurement is awake', () => {
  assert.is(streams[0]!.stream.keys, '1')
  assert.is(keysIn(ben.call.heard.samples(0, begin.heard[2])), '2')
  assert.is(recording.wav.map(keysIn).join(''), '2')
})

test('the payment line heard every key, by event and by tone, in order', () => {
  assert.is(line.keysHeard, CARD + INFO)
  assert.ok(keysIn(line.heard.samples()).endsWith(`${TONES}5`), keysIn(line.heard.samples()))
})

test('no other leg heard a digit, or the edge of a tone', () => {
  for (const [i, { phone, call }] of seated().entries()) {
    const heard = call.heard.samples(begin.heard[i], end.heard[i])
    assert.is(keysIn(heard), '', phone.name)
    assert.ok(keypadTrace(heard) < TRACE_DBOV, `${phone.name}: ${keypadTrace(heard).toFixed(1)} dBov`)
    assert.is(audibleSamples(heard), 0, `${phone.name} heard something while nobody spoke`)
    assert.is(call.keysHeard, '', phone.name)
  }
})

test('no stream carried a digit, an edge of a tone or a dtmf message, in any format, on any track', () => {
  for (const [i, { stream }] of streams.entries()) {
    for (const track of TRACKS) {
      const name = `stream ${i} (${stream.encoding} ${stream.sampleRateHz}) ${track}`
      assert.is(audibleSamples(framesInPause(i, track)), 0, name)
    }
    assert.is(stream.keys, CONTROL[i], `stream ${i}: only the keys before the pause`)
  }
})

test('the timeline of every stream is intact: no chunk is missing, 20 ms each, through the pause', () => {
  for (const { stream } of streams) {
    for (const track of TRACKS) {
      const frames = stream.tracks[track]
      assert.ok(frames.length > 200)
      assert.is(
        frames.findIndex(({ chunk }, i) => chunk !== i + 1),
        -1,
      )
      const step = frames.findIndex(({ timestamp }, i) => i > 0 && timestamp !== frames[i - 1]!.timestamp + 20)
      assert.is(step, -1)
    }
  }
})

test('the recording holds silence for the pause, names it as a segment, and keeps its timeline', () => {
  assert.is(recording.segments.length, 1)
  const [segment] = recording.segments
  assert.is(segment!.reason, 'payment')
  for (const channel of recording.wav) {
    const paused = channel.slice(segment!.from_ms * 8, segment!.to_ms * 8)
    assert.ok(paused.length > 8 * 4000)
    assert.is(audibleSamples(paused), 0)
    // The rest of the held key, after the pause.
    assert.is(audibleSamples(channel.slice(segment!.to_ms * 8, (segment!.to_ms + 500) * 8)), 0)
  }
  const spoken = recording.wav[0]!.findLastIndex(sample => Math.abs(sample) > 1000)
  assert.ok(levelAt(330, recording.wav[0]!, spoken - 8000, spoken) > HEARD_DBOV, 'after the pause it records again')
})

test('no event carries a digit of the pause: each is masked, the count may show', async () => {
  const events = (await product.events()).slice(begin.events)
  const keys = events.filter(({ type }) => type === 'call.dtmf').map(({ data }) => data.object)
  assert.ok(keys.length >= CARD.length)
  assert.ok(keys.every(({ digit, masked }) => digit === '*' && masked === true))
  const ofCalls = await Promise.all(seated().map(({ callId }) => product.all(`/calls/${callId}/events`)))
  for (const event of ofCalls.flat()) {
    if (event.type === 'call.dtmf') assert.match(event.data.object.digit, /^[12*]$/)
  }
})

test("no digit of the pause is recoverable from the calls' SIP messages and captures, or from what the collector was told", async () => {
  const whole = [CARD, TONES]
  let keys = 0
  for (const callId of [anna.callId, cleo.callId, ben.callId, anna.sessionId]) {
    const shown = JSON.stringify((await product.ok('GET', `/calls/${callId}/sip?limit=100`)).data)
    const capture = (await product.download(`/calls/${callId}/sip.pcap`)).toString('latin1')
    for (const text of [shown, capture]) {
      for (const secret of whole) assert.not.ok(text.includes(secret))
      assert.is(text.match(/Signal *= *[^*\s]/g), null)
      keys += text.split('Signal=*').length - 1
    }
  }
  assert.ok(keys >= INFO.length, 'the INFOs were there to leak')
  assert.ok(collector.packets.some(({ type, payload }) => type === 5 && payload.includes('report_blocks')))
  for (const packet of collector.raw) {
    const text = packet.toString('latin1')
    for (const secret of whole) assert.not.ok(text.includes(secret))
    assert.is(text.match(/Signal *= *[^*\s]/g), null)
  }
})

test('no digit of the pause is recoverable from the data directory or from what the processes wrote', async () => {
  const files = readdirSync(product.dataDir, { recursive: true, withFileTypes: true }).filter(file => file.isFile())
  assert.ok(files.some(({ name }) => name.includes('tandem.db')))
  for (const { name, parentPath } of files) {
    const bytes = readFileSync(join(parentPath, name))
    for (const secret of [CARD, TONES, INFO]) assert.not.ok(bytes.includes(secret), `${name} holds ${secret}`)
    // One digit to a row or log line would be as bad: keys are stored in no other form than masked.
    const digits = bytes.toString('latin1').match(/"digit":"[3-9]"|"key":"[3-9]"|Signal=[3-9]/g)
    assert.is(digits, null, `${name} holds ${digits}`)
  }
  const { output } = product
  for (const secret of [CARD, TONES, INFO]) assert.not.ok(output.includes(secret))
  assert.is(output.match(/"(digit|key|signal)":\s*"?[3-9]"?\b/gi), null)
})

test(
  'the pause ends by itself after max_seconds, and cannot begin twice or end twice',
  async () => {
    const other = await seat(product, room, 'pay-d')
    const path = `/calls/${other.callId}/pci`
    assert.is((await product.api('POST', path, { action: 'resume' })).status, 409)
    assert.is((await product.ok('POST', path, { action: 'pause', max_seconds: 1 })).paused, true)
    const twice = await product.api('POST', path, { action: 'pause' })
    assert.is(twice.status, 409)
    assert.is(twice.body.error.details.reason, 'already_paused')
    await product.until('the pause has ended', async () => {
      const events = await product.all(`/calls/${other.callId}/events`)
      return events.some(({ type }) => type === 'call.pci.resumed') ? true : null
    })
    await leave(other)
  },
  SLOW,
)

test.run()
