import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { audioOf, StreamReceiver } from '../../../bench/stream-receiver.ts'
import { samplesOf, silence, tone } from '../../../bench/voices.ts'
import { readWav } from '../../../codecs/wav.ts'
import { SpeechClient } from '../../../media/speech/speech-client.ts'
import { SpeechHost } from '../../../media/speech/speech-host.ts'
import { abilitiesOf, OFFLINE_SPEECH } from '../../../media/speech/speech-protocol.ts'
import { endedCall, HEARD_DBOV, heardOf, keep, UNHEARD_DBOV } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'

/** Consent to recording that is given and withdrawn during a call: what the file, the stream and the transcript contain. */
const test = sharedSuite('e2e/recordings/consent-later')
const LOADING = { timeoutMs: 120_000 }
const SECOND = 8000
const GUEST = '+14155550142'
const BEFORE_HZ = 1500
const AFTER_HZ = 700

let receiver: StreamReceiver
const silent = { info: () => {}, warn: () => {} }
const host = new SpeechHost(OFFLINE_SPEECH, silent as never)
const caller = new SpeechClient(host.port(), abilitiesOf(OFFLINE_SPEECH))

test.before(async () => {
  receiver = keep(await StreamReceiver.listen())
  await product.ok('PATCH', '/organisation', { require_consent: ['record'] })
})
test.after(() => host.close())

test(
  'a consent that is written down while the call runs begins the file, the stream and the transcript that waited, from then on; its revocation ends all three',
  async () => {
    await product.ok('POST', '/inbound_routes', {
      match: { to: '4201' },
      target: { type: 'echo' },
      record: true,
      transcribe: true,
      streams: [{ url: receiver.url, tracks: 'inbound' }],
    })
    const made = await caller.speak('Good morning, I would like to order two tickets.', null, null)
    if ('error' in made) throw new Error(made.error)
    const phone = await Phone.open(GUEST)
    const call = await phone.call('4201', product.sip)
    call.say(tone(BEFORE_HZ))
    const { id } = await product.until('the call', async () =>
      (await product.all('/calls')).find(({ from, status }) => from.includes(GUEST) && status === 'in_progress'),
    )
    await call.heard.next(1500)
    assert.equal(receiver.streams, [], 'nobody has agreed')
    assert.is((await product.api('GET', `/calls/${id}/recording`)).status, 404)
    assert.is((await product.api('GET', `/calls/${id}/transcript`)).status, 404)
    call.say(silence)
    await call.heard.next(500)

    const evidence = { type: 'form', url: 'https://example.com/terms' }
    const consent = await product.ok('POST', '/consents', { phone: GUEST, purpose: 'record', evidence })
    const stream = await receiver.until(() => receiver.streams.find(({ callId }) => callId === id))
    await product.until('it is recorded', async () =>
      (await product.ok('GET', `/calls/${id}/recording`)).status === 'recording' ? true : null,
    )
    await call.heard.next(500)
    call.say(samplesOf(made.samples))
    await product.until(
      'it is written down',
      async () => {
        const { segments } = await product.ok('GET', `/calls/${id}/transcript`)
        return segments.some(({ text }: { text: string }) => /tickets/i.test(text)) ? true : null
      },
      40_000,
    )

    await product.ok('POST', `/consents/${consent.id}/revoke`, { reason: 'Not any more.' })
    await receiver.until(() => (stream.stopped ? true : undefined))
    const recording = await product.until('the file is whole', async () => {
      const found = await product.ok('GET', `/calls/${id}/recording`)
      return found.status === 'ready' ? found : null
    })
    await product.until('the transcript is whole', async () =>
      (await product.ok('GET', `/calls/${id}/transcript`)).status === 'ready' ? true : null,
    )
    assert.is((await product.ok('GET', `/calls/${id}`)).status, 'in_progress', 'the call goes on')
    call.say(tone(AFTER_HZ))
    await call.heard.next(1000)
    for (const what of ['recording/start', 'transcript/start']) {
      assert.ok((await product.api('POST', `/calls/${id}/${what}`, {})).status >= 400, what)
    }
    await call.hangup()
    await endedCall(product, id)

    assert.ok(recording.duration_ms > 0)
    const wav = readWav(await product.download(`/calls/${id}/recording/content`))
    if ('error' in wav) throw new Error(wav.error)
    for (const [name, kept] of [
      ['file', wav.samples[0]!],
      ['stream', audioOf(stream, stream.tracks.inbound)],
    ] as const) {
      assert.ok(heardOf(made.samples, kept).isHeard, `${name}: the sentence is there`)
      assert.ok(levelAt(BEFORE_HZ, kept, 0, SECOND) < UNHEARD_DBOV, `${name}: nothing from before`)
      for (let at = 0; at + SECOND / 4 <= kept.length; at += SECOND / 4) {
        assert.ok(levelAt(AFTER_HZ, kept, at, at + SECOND / 4) < HEARD_DBOV, `${name}: nothing from after`)
      }
    }
    const { segments } = await product.ok('GET', `/calls/${id}/transcript`)
    assert.match(segments.map(({ text }: { text: string }) => text.toLowerCase()).join(' '), /order two tickets/)
    await phone.close()
  },
  LOADING,
)

test.run()
