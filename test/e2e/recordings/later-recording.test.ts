import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { audibleSamples, levelAt, loudness } from '../../../bench/spectrum.ts'
import { silence, tone } from '../../../bench/voices.ts'
import { readWav } from '../../../codecs/wav.ts'
import { callFrom, endedCall, HEARD_DBOV, UNHEARD_DBOV } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'

/** Recordings that begin in the middle of a call, because something else leads it then, or because the API asks for it. */
const test = sharedSuite('e2e/recordings/later-recording')
const LOADING = { together: true, timeoutMs: 120_000 }
const SECOND = 8000
const CALLER_HZ = 440

test.before(async () => {
  await product.ok('POST', '/inbound_routes', { match: { to: '4201' }, target: { type: 'echo' } })
})

/** Resolves with a recording once it is ready. */
async function recordingOf(id: string) {
  const info = await product.until('the recording is ready', async () => {
    const found = await product.ok('GET', `/calls/${id}/recording`)
    return found.status === 'ready' ? found : null
  })
  const wav = readWav(await product.download(`/calls/${id}/recording/content`))
  if ('error' in wav) throw new Error(wav.error)
  return {
    channels: wav.samples,
    segments: info.segments,
    kinds: info.channels.map(({ kind }: { kind: string }) => kind),
  }
}

/** Lets a phone call an echo that is not recorded, and speak. */
async function talking(name: string) {
  const phone = await Phone.open(name)
  const call = await phone.call('4201', product.sip)
  call.say(tone(CALLER_HZ))
  const { id } = await callFrom(product, name)
  await call.heard.next(1500)
  assert.is((await product.api('GET', `/calls/${id}/recording`)).status, 404)
  return { phone, call, id }
}

test(
  'a call that nobody recorded is, from the first sample of the announcement of the queue that it is transferred to',
  async () => {
    const { phone, call, id } = await talking('later-queue')
    const recording_announcement = 'From here on this call is recorded.'
    const queue = await product.ok('POST', '/queues', {
      name: 'Kept',
      record: true,
      transcribe: true,
      recording_announcement,
      overflow: { when_no_agents: false },
    })
    await product.ok('POST', `/calls/${id}/transfer`, { queue_id: queue.id })
    const transferred = performance.now()
    await product.until('the caller is in line', async () => {
      const joined = (await product.all(`/calls/${id}/events`)).some(({ type }) => type === 'queue.call.joined')
      return joined ? true : null
    })
    await call.heard.next(1000)
    await call.hangup()
    const lastedMs = performance.now() - transferred
    await endedCall(product, id)
    const { channels, kinds } = await recordingOf(id)
    assert.equal(kinds, ['participant', 'product'])
    assert.ok(levelAt(CALLER_HZ, channels[0]!, 0, SECOND) > HEARD_DBOV, 'the caller is in it from its beginning')
    assert.ok(loudness(channels[1]!.subarray(0, SECOND)) > -45, 'and so is the announcement')
    assert.ok(channels[0]!.length / 8 <= lastedMs + 500, 'and nothing from before the transfer')
    const { segments } = await product.until(
      'the transcript is ready',
      async () => {
        const found = await product.ok('GET', `/calls/${id}/transcript`)
        return found.status === 'ready' ? found : null
      },
      40_000,
    )
    const said = segments.filter(({ speaker }: { speaker: string }) => speaker === 'product')
    assert.is(said[0]?.text, recording_announcement)
    await phone.close()
  },
  LOADING,
)

test(
  'while it is announced that the call is recorded the recording can be paused; who hangs up then leaves a file that a row names',
  async () => {
    await product.ok('POST', '/inbound_routes', {
      match: { to: '4202' },
      target: { type: 'echo' },
      record: true,
      // Its beginning is all that is heard, so it may be as long as a busy machine needs for what happens meanwhile.
      recording_announcement: 'This call is recorded, so that we can learn from it. '.repeat(8),
    })
    const phone = await Phone.open('announced')
    const call = await phone.call('4202', product.sip)
    call.say(tone(CALLER_HZ))
    const { id } = await callFrom(product, 'announced')
    await product.until('it is recorded', async () => {
      return (await product.api('GET', `/calls/${id}/recording`)).status === 200 ? true : null
    })
    await call.heard.next(500)
    assert.is((await product.ok('POST', `/calls/${id}/recording/pause`)).status, 'paused')
    await call.heard.next(500)
    assert.is((await product.ok('POST', `/calls/${id}/recording/resume`)).status, 'recording')
    await call.heard.next(300)
    assert.is((await product.ok('GET', `/calls/${id}`)).answered_at, null, 'the announcement is still heard')
    await call.hangup()
    await endedCall(product, id)
    const { channels, segments } = await recordingOf(id)
    assert.equal(
      segments.map(({ reason }: { reason: string }) => reason),
      ['paused'],
    )
    const { from_ms, to_ms } = segments[0]
    const level = (from: number, to: number): number => levelAt(CALLER_HZ, channels[0]!, from * 8, to * 8)
    assert.ok(level(0, from_ms) > HEARD_DBOV)
    assert.ok(level(from_ms + 20, to_ms) < UNHEARD_DBOV)
    await phone.close()
  },
  LOADING,
)

test(
  'a transcript that is started in the middle of a call has what is said from then on, and nothing after its stop',
  async () => {
    const { phone, call, id } = await talking('later-words')
    call.say(silence)
    const isHeard = async (ms: number): Promise<boolean> => audibleSamples(await call.heard.next(ms)) > 400
    await product.until('the echo has ended', async () => ((await isHeard(200)) ? null : true))
    /** Resolves when all of it was heard: a busy machine begins to speak seconds later. */
    const say = async (text: string): Promise<void> => {
      await product.ok('POST', `/calls/${id}/say`, { text })
      await product.until('it is spoken', async () => (await isHeard(200)) || null)
      await product.until('it was said', async () => ((await isHeard(1000)) ? null : true))
    }
    await say('The shop is closed on Sunday.')
    assert.is((await product.ok('POST', `/calls/${id}/transcript/start`)).status, 'running')
    await say('We open on Monday morning.')
    await product.ok('POST', `/calls/${id}/transcript/stop`)
    await say('Thank you for calling us today.')
    const { segments } = await product.until('the transcript is ready', async () => {
      const found = await product.ok('GET', `/calls/${id}/transcript`)
      return found.status === 'ready' ? found : null
    })
    assert.is((await product.ok('GET', `/calls/${id}`)).ended_at, null, 'the call goes on')
    const said = segments.filter(({ speaker }: { speaker: string }) => speaker === 'product')
    assert.equal(
      said.map(({ text }: { text: string }) => text),
      ['We open on Monday morning.'],
    )
    await call.hangup()
    await phone.close()
  },
  LOADING,
)

test.run()
