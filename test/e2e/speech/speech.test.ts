import * as assert from 'uvu/assert'
import { MediaProcess } from '../../../bench/media-process.ts'
import { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { samplesOf, tone } from '../../../bench/voices.ts'
import { PCMU } from '../../../codecs/g711.ts'
import { suite } from '../../harness.ts'
import { HEARD_DBOV, recorded, UNHEARD_DBOV } from '../scene.ts'

/** Allows two offline models to load on a busy machine. */
const LOADING = { timeoutMs: 60_000 }
/** Frequency of the product's beep. */
const BEEP_HZ = 1000

let media: MediaProcess
let phone: Phone

const test = suite('e2e/speech/speech')

test.before(async () => {
  media = await MediaProcess.start()
  phone = await Phone.open('speaker')
})
test.after(async () => {
  await Phone.closeAll()
  await media.stop()
})

async function call(): Promise<{ call: PhoneCall; legId: string; roomId: string }> {
  const incoming = media.next('leg.incoming')
  const calling = phone.call('anybody', media.sip)
  const { legId } = (await incoming).body
  const roomId = `call_${legId}`
  const room = { roomId, kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 3 }
  await media.ask('leg.answer', { legId, room, affinity: 'one', codecs: ['PCMU'] })
  return { call: await calling, legId, roomId }
}

/** Resolves when the last SDP that the phone got has this direction. */
async function told(phoneCall: PhoneCall, direction: string): Promise<void> {
  while (phoneCall.remoteDirection !== direction) await new Promise(later => setTimeout(later, 5))
}

test(
  'a caller who speaks silences us, is understood, hears an answer, and all of it is in the transcript',
  async () => {
    const { call: caller, legId, roomId } = await call()
    await media.ask('transcript.start', { transcriptId: 'call_t', target: { roomId }, language: 'en' })
    const listen = {
      listenId: 'l1',
      language: 'en',
      endOfSpeechMs: 600,
      maxUtteranceMs: 20_000,
      bargeIn: { afterMs: 100, resume: false, backChannels: [] },
    }
    await media.ask('leg.listen', { legId, listen })
    const play = { legId, loop: false, hangupAfter: null }
    const started = media.next('play.started')
    await media.ask('leg.play', { ...play, playId: 'p1', sources: [{ kind: 'music' }] })
    await started
    const interrupted = media.next('play.finished')
    const declared = media.next('leg.speech_started')
    const understood = media.next('leg.utterance')
    const written = media.next('transcript.segment')
    caller.say(samplesOf(recorded('wait-moderator')))
    assert.ok((await declared).body.bargedIn)
    assert.is((await interrupted).body.ended, 'interrupted')
    const { utterance } = (await understood).body
    assert.is(utterance.text, 'Please wait for the moderator.')
    assert.ok(utterance.bargedIn && !utterance.resumed)
    assert.ok(caller.packets.at(-1)!.payload.every(octet => octet === PCMU.silence))
    const segment = (await written).body
    assert.is(segment.text, utterance.text)
    assert.is(segment.legId, legId)
    const answered = media.next('play.finished', ({ playId }) => playId === 'p2')
    const sources = [
      { kind: 'speech' as const, text: 'Thank you. The moderator is on the way.', voice: null, language: null },
    ]
    await media.ask('leg.play', { ...play, playId: 'p2', sources })
    const { ended, heardMs } = (await answered).body
    assert.is(ended, 'played')
    assert.ok(heardMs > 1500 && heardMs < 5000, `${heardMs} ms`)
    const ready = media.next('transcript.ready')
    await caller.hangup()
    assert.ok((await ready).body.durationMs > segment.endMs)
    const { counters } = await media.ask('media.stats', {})
    assert.ok(counters.speech_understood_total! >= 1 && counters.speech_spoken_total! >= 1)
  },
  LOADING,
)

test('who is put on hold is told sendonly, hears its own audio, and is told sendrecv when it is taken back', async () => {
  const { call: held, legId } = await call()
  held.say(tone(700))
  const snapshot = await media.ask('leg.hold', { legId, held: true, sources: [{ kind: 'tone', name: 'beep' }] })
  assert.ok(snapshot.onHold)
  await told(held, 'sendonly')
  assert.ok(levelAt(BEEP_HZ, await held.heard.next(500, 100)) > HEARD_DBOV)
  const back = await media.ask('leg.hold', { legId, held: false, sources: [] })
  assert.not(back.onHold)
  await told(held, 'sendrecv')
  assert.ok(levelAt(BEEP_HZ, await held.heard.next(500, 300)) < UNHEARD_DBOV)
  assert.is(held.reinvitesReceived, 2)
  await held.hangup()
})

test('hold and unhold in one breath end as what was asked last', async () => {
  const { call: held, legId } = await call()
  await Promise.all([
    media.ask('leg.hold', { legId, held: true, sources: [] }),
    media.ask('leg.hold', { legId, held: false, sources: [] }),
    media.ask('leg.hold', { legId, held: true, sources: [] }),
  ])
  await told(held, 'sendonly')
  await Promise.all([
    media.ask('leg.hold', { legId, held: false, sources: [] }),
    media.ask('leg.hold', { legId, held: true, sources: [] }),
    media.ask('leg.hold', { legId, held: false, sources: [] }),
  ])
  await told(held, 'sendrecv')
  const { legs } = await media.ask('leg.read', { legIds: [legId] })
  assert.not(legs[0]!.onHold)
  await held.hangup()
})

test.run()
