// Judges timing: it compares audio sample by sample, and when it arrives.
import { readdirSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import { levelAt, loudness } from '../../../bench/spectrum.ts'
import { audioOf, StreamReceiver } from '../../../bench/stream-receiver.ts'
import { samplesOf, silence, tone } from '../../../bench/voices.ts'
import { readWav } from '../../../codecs/wav.ts'
import { SpeechClient } from '../../../media/speech/speech-client.ts'
import { SpeechHost } from '../../../media/speech/speech-host.ts'
import { abilitiesOf, OFFLINE_SPEECH } from '../../../media/speech/speech-protocol.ts'
import { callFrom, endedCall, HEARD_DBOV, heardOf, keep, UNHEARD_DBOV } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'

/** Recordings of inbound calls: by whose settings, from which sample on, and in which channel. */
const test = sharedSuite('e2e/recordings/incoming-recording')
const LOADING = { timeoutMs: 120_000 }
const TOGETHER = { ...LOADING, together: true }
const SECOND = 8000
const CALLER_HZ = 440
const AGENT_HZ = 700
/** The tone that is sent before anybody has consented. */
const BEFORE_HZ = 1500

let receiver: StreamReceiver
const silent = { info: () => {}, warn: () => {} }
const host = new SpeechHost(OFFLINE_SPEECH, silent as never)
/** The voices of the caller and, to compare, of the product. */
const caller = new SpeechClient(host.port(), abilitiesOf(OFFLINE_SPEECH))

test.before(async () => {
  receiver = keep(await StreamReceiver.listen())
})
test.after(() => host.close())

async function spoken(text: string): Promise<Int16Array> {
  const made = await caller.speak(text, null, null)
  if ('error' in made) throw new Error(made.error)
  return made.samples
}

/** Resolves with the channels of a call's recording once it is ready, and the kinds that the API gives them. */
async function recordingOf(id: string): Promise<{ channels: Int16Array[]; kinds: string[] }> {
  const info = await product.until('the recording is ready', async () => {
    const found = await product.ok('GET', `/calls/${id}/recording`)
    return found.status === 'recording' ? null : found
  })
  assert.is(info.status, 'ready')
  const wav = readWav(await product.download(`/calls/${id}/recording/content`))
  if ('error' in wav) throw new Error(wav.error)
  return { channels: wav.samples, kinds: info.channels.map(({ kind }: { kind: string }) => kind) }
}

const linesOf = async (id: string) =>
  (await product.all(`/calls/${id}/events`)).filter(({ type }) => type === 'call.transcript.segment')

/** Waits until the transcript of the running call has a line with these words. */
async function untilWritten(id: string, words: RegExp): Promise<void> {
  let texts: string[] = []
  const isThere = async (): Promise<true | null> => {
    texts = (await linesOf(id)).map(({ data }) => data.object.text)
    return texts.some(text => words.test(text)) ? true : null
  }
  await product.until(String(words), isThere, 40_000).catch(() => assert.unreachable(`no ${words} in ${texts}`))
}

async function hears(call: PhoneCall, hz: number): Promise<void> {
  for (let tries = 0; tries < 40; tries++) if (levelAt(hz, await call.heard.next(250)) > HEARD_DBOV) return
  throw new Error(`${hz} Hz is not heard`)
}

test(
  "an assistant's incoming call, recorded and transcribed by the organisation's default: caller and product have a channel each, the transcript both sides, and grows while the call runs",
  async () => {
    await product.ok('PATCH', '/organisation', { record: true, transcribe: true })
    const question = samplesOf(await spoken('When are you open on Saturday?'))
    const phone = await Phone.open('kept-guest')
    const call = await phone.call('assistant', product.sip)
    const { id } = await callFrom(product, 'kept-guest')
    await untilWritten(id, /help you/i)
    call.say(question)
    await untilWritten(id, /ten to two/)
    const { ended_at, status } = await product.ok('GET', `/calls/${id}`)
    assert.equal([ended_at, status], [null, 'in_progress'], 'the call runs while its transcript grows')
    const running = await product.ok('GET', `/calls/${id}/transcript`)
    assert.ok(running.segments.length >= 3, 'and GET shows it')
    await call.hangup()
    await endedCall(product, id)

    const transcript = await product.until('the transcript is ready', async () => {
      const found = await product.ok('GET', `/calls/${id}/transcript`)
      return found.status === 'ready' ? found : null
    })
    const said = (speaker: string): string =>
      transcript.segments
        .filter((segment: { speaker: string }) => segment.speaker === speaker)
        .map(({ text }: { text: string }) => text.toLowerCase())
        .join(' ')
    assert.match(said('participant'), /open on saturday/)
    assert.match(said('product'), /harbour shop.*on saturday we open from ten to two/)

    const { channels, kinds } = await recordingOf(id)
    assert.equal(kinds, ['participant', 'product'])
    const [asked, answered] = [
      await spoken('When are you open on Saturday?'),
      await spoken('On Saturday we open from ten to two.'),
    ]
    assert.equal(
      channels.map(channel => [heardOf(asked, channel).isHeard, heardOf(answered, channel).isHeard]),
      [
        [true, false],
        [false, true],
      ],
    )
    for (const { speaker, start_ms, end_ms } of transcript.segments) {
      const [own, other] = speaker === 'participant' ? [0, 1] : [1, 0]
      const [from, to] = [start_ms * 8, end_ms * 8]
      const [loud, quiet] = [own, other].map(i => loudness(channels[i]!.subarray(from, to)))
      assert.ok(loud! > -45, `${speaker} is in its channel at ${start_ms} to ${end_ms} ms: ${loud} dBov`)
      assert.ok(quiet! < loud! - 10, `the other one is silent then: ${quiet} against ${loud} dBov`)
    }
    await product.ok('PATCH', '/organisation', { record: null, transcribe: null })
    await phone.close()
  },
  LOADING,
)

/** Creates a route to the echo that asks for consent by a key. */
async function askingRoute(number: string, more: object = {}): Promise<void> {
  await product.ok('POST', '/inbound_routes', {
    match: { to: number },
    target: { type: 'echo' },
    record: true,
    transcribe: true,
    streams: [{ url: receiver.url, tracks: 'inbound' }],
    recording_announcement: 'This call is recorded. Press one to agree.',
    recording_consent: { key: '1', timeout_s: 2 },
    ...more,
  })
}

/** The first sample of a tone in a recording; -1: it is not there. */
function onsetOf(samples: Int16Array, hz: number): number {
  for (let at = 0; at + 160 <= samples.length; at += 160) {
    if (levelAt(hz, samples, at, at + 160) > HEARD_DBOV) return at
  }
  return -1
}

/** Where somebody begins to speak [samples]; -1: nobody does. */
function voiceIn(samples: Int16Array): number {
  for (let at = 0; at + 160 <= samples.length; at += 160) {
    if (loudness(samples.subarray(at, at + 160)) > HEARD_DBOV) return at
  }
  return -1
}

test(
  'a route with a consent key: what is said right after the key is in the stream, the file and the transcript; nothing of what was said before',
  async () => {
    await askingRoute('4101', { recording_consent: { key: '1', timeout_s: 10 } })
    const phone = await Phone.open('agrees')
    const sentence = await spoken('Good morning, I would like to order two tickets.')
    const call = await phone.call('4101', product.sip)
    call.say(tone(BEFORE_HZ))
    const { id } = await callFrom(product, 'agrees')
    await call.heard.next(1500)
    assert.not(
      receiver.streams.some(({ callId }) => callId === id),
      'nobody has agreed',
    )
    assert.is((await product.api('GET', `/calls/${id}/recording`)).status, 404)
    // Signalling may overtake audio: speech from just before the key may arrive after it.
    call.say(silence)
    await call.heard.next(300)
    await call.press('1', { as: 'info' })
    call.say(samplesOf(sentence))
    const stream = await receiver.until(() => receiver.streams.find(({ callId }) => callId === id))
    await untilWritten(id, /order/i)
    await call.hangup()
    await endedCall(product, id)
    const streamed = audioOf(stream, stream.tracks.inbound)
    const { channels, kinds } = await recordingOf(id)
    assert.equal(kinds, ['participant', 'product'])
    for (const [name, kept] of [
      ['stream', streamed],
      ['file', channels[0]!],
    ] as const) {
      const onset = voiceIn(kept) - voiceIn(sentence)
      assert.ok(onset >= 0 && onset < 0.3 * SECOND, `${name}: the sentence begins at ${onset / 8} ms`)
      assert.ok(levelAt(BEFORE_HZ, kept, 0, SECOND) < UNHEARD_DBOV, name)
      const { isHeard } = heardOf(sentence, kept)
      assert.ok(isHeard, `${name}: it is whole`)
    }
    const { segments } = await product.ok('GET', `/calls/${id}/transcript`)
    const texts = segments.map(({ text }: { text: string }) => text.toLowerCase())
    assert.match(texts.join(' '), /good morning.*order two tickets/)
    await phone.close()
  },
  TOGETHER,
)

test(
  'what a caller says right behind a loud steady tone of its own is in the transcript from its first word',
  async () => {
    await askingRoute('4105', { recording_announcement: null, recording_consent: null })
    const phone = await Phone.open('behind')
    const sentence = await spoken('Good morning, I would like to order two tickets.')
    const call = await phone.call('4105', product.sip)
    call.say(tone(BEFORE_HZ))
    const { id } = await callFrom(product, 'behind')
    await call.heard.next(3000)
    call.say(samplesOf(sentence))
    await untilWritten(id, /order/i)
    await call.hangup()
    await endedCall(product, id)
    const { segments } = await product.ok('GET', `/calls/${id}/transcript`)
    const texts = segments.map(({ text }: { text: string }) => text.toLowerCase())
    assert.match(texts.join(' '), /good morning.*order two tickets/)
    await phone.close()
  },
  TOGETHER,
)

test(
  "a route's streams begin with the file: none of what the file has is missing at their beginning",
  async () => {
    const asked = { recording_announcement: null, recording_consent: null }
    await askingRoute('4104', { ...asked, transcribe: null })
    const phone = await Phone.open('streamed')
    const call = await phone.call('4104', product.sip)
    call.say(tone(CALLER_HZ))
    const { id } = await callFrom(product, 'streamed')
    const stream = await receiver.until(() => receiver.streams.find(({ callId }) => callId === id))
    await call.heard.next(2000)
    await call.hangup()
    await endedCall(product, id)
    await receiver.until(() => (stream.stopped ? true : undefined))
    const streamed = audioOf(stream, stream.tracks.inbound)
    const { channels } = await recordingOf(id)
    const missing = onsetOf(channels[0]!, CALLER_HZ) - onsetOf(streamed, CALLER_HZ)
    assert.ok(Math.abs(missing) <= 160, `the tone begins ${missing / 8} ms earlier in the stream`)
    assert.ok(Math.abs(streamed.length - channels[0]!.length) <= 320, 'and both are as long')
    await phone.close()
  },
  TOGETHER,
)

test(
  'who does not press the key is kept nowhere: no stream, no file, no line',
  async () => {
    await askingRoute('4102')
    const phone = await Phone.open('refuses')
    const call = await phone.call('4102', product.sip)
    call.say(tone(CALLER_HZ))
    const { id } = await callFrom(product, 'refuses')
    await product.until(
      'the call goes on',
      async () => ((await product.ok('GET', `/calls/${id}`)).status === 'in_progress' ? true : null),
      30_000,
    )
    await hears(call, CALLER_HZ)
    await call.hangup()
    await endedCall(product, id)
    assert.is((await product.api('GET', `/calls/${id}/recording`)).status, 404)
    assert.equal((await product.ok('GET', `/calls/${id}/transcript`)).segments, [])
    assert.not(receiver.streams.some(({ callId }) => callId === id))
    const files = readdirSync(product.dataDir, { recursive: true }).map(String)
    assert.equal(
      files.filter(name => name.includes(id)),
      [],
    )
    await phone.close()
  },
  TOGETHER,
)

test(
  'a call of a trunk that a queue bridges to an agent, recorded by the queue: each voice in its own channel and in no other',
  async () => {
    const [customer, agent] = [await Phone.open('trunk-customer'), await Phone.open('queue-agent')]
    const [host = '', port = ''] = agent.uri.replace(/^sip:[^@]*@/, '').split(':')
    await product.ok('POST', '/connections', { name: 'Trunk', kind: 'trunk', host, port: Number(port) })
    const overflow = { when_no_agents: true, action: 'number', number: '+14155550143' }
    const queue = { name: 'Kept', record: true, overflow }
    const { id: queueId } = await product.ok('POST', '/queues', queue)
    await product.ok('POST', '/inbound_routes', { match: { to: '4103' }, target: { type: 'queue', id: queueId } })
    const ringing = agent.next()
    const call = await customer.call('4103', product.sip)
    call.say(tone(CALLER_HZ))
    const atAgent = await ringing
    atAgent.answer()
    atAgent.say(tone(AGENT_HZ))
    await hears(call, AGENT_HZ)
    await hears(atAgent, CALLER_HZ)
    await call.heard.next(2500)
    const { id } = await callFrom(product, 'trunk-customer')
    await call.hangup()
    await endedCall(product, id)
    const { channels, kinds } = await recordingOf(id)
    assert.equal(kinds, ['participant', 'participant', 'product'])
    const last = channels[0]!.length - SECOND / 2
    for (const [i, own, other] of [
      [0, CALLER_HZ, AGENT_HZ],
      [1, AGENT_HZ, CALLER_HZ],
    ] as const) {
      const level = (hz: number): number => levelAt(hz, channels[i]!, last - SECOND, last)
      assert.ok(level(own) > HEARD_DBOV, `channel ${i} has ${own} Hz at ${level(own)} dBov`)
      assert.ok(level(other) < UNHEARD_DBOV, `and ${other} Hz at ${level(other)} dBov`)
    }
    for (const hz of [CALLER_HZ, AGENT_HZ]) assert.ok(levelAt(hz, channels[2]!, last - SECOND, last) < UNHEARD_DBOV)
    await Promise.all([customer.close(), agent.close()])
  },
  TOGETHER,
)

test.run()
