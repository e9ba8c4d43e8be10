import * as assert from 'uvu/assert'
import { Phone } from '../../../bench/phone/phone.ts'
import { levelAt } from '../../../bench/spectrum.ts'
import { samplesOf } from '../../../bench/voices.ts'
import { NARROWBAND_HZ } from '../../../codecs/audio.ts'
import { wavHeader } from '../../../codecs/wav.ts'
import { Flite } from '../../../media/speech/flite.ts'
import { HEARD_DBOV } from '../scene.ts'
import { product, sharedSuite } from '../shared-suite.ts'

const test = sharedSuite('e2e/signalling/campaign-answers')

const BEEP = { hz: 1000, ms: 500 }
/** Tones of the message, one after the other, for a second each [Hz]. */
const SAID_HZ = [440, 700]

const toneOf = (hz: number, samples: number): number[] =>
  Array.from({ length: samples }, (_, i) => 12_000 * Math.sin((2 * Math.PI * hz * i) / NARROWBAND_HZ))

async function messageAsset(): Promise<string> {
  const samples = Int16Array.from(SAID_HZ.flatMap(hz => toneOf(hz, NARROWBAND_HZ)))
  const header = wavHeader({ sampleRateHz: NARROWBAND_HZ, channels: 1, dataBytes: samples.byteLength })
  const content_base64 = Buffer.concat([header, Buffer.from(samples.buffer)]).toString('base64')
  const file = { filename: 'message.wav', content_base64 }
  return (await product.ok('POST', '/audio_assets', { file, kind: 'prompt' })).id
}

/** The tenths of a second in which a tone is heard, numbered from the answer. */
function tenthsOf(hz: number, heard: Int16Array): number[] {
  const tenth = NARROWBAND_HZ / 10
  const all = Array.from({ length: Math.floor(heard.length / tenth) }, (_, i) => i)
  return all.filter(i => levelAt(hz, heard, i * tenth, (i + 1) * tenth) > HEARD_DBOV)
}

test(
  'a machine hears the message of a campaign behind its beep, and is hung up; a person is connected',
  async () => {
    const flite = new Flite(1)
    const spoken = async (text: string): Promise<Int16Array> => {
      const made = await flite.speak(text, 'slt', null)
      if ('error' in made) throw new Error(made.error)
      return made.samples
    }
    const greeting = await spoken('Hello, you have reached the voicemail of Anna Miller. Please leave a message.')
    const hello = await spoken('Hello?')
    await flite.close()
    const beep = Int16Array.from(toneOf(BEEP.hz, (BEEP.ms * NARROWBAND_HZ) / 1000))
    const phone = await Phone.open('line')
    const trunk = { name: 'Trunk', kind: 'trunk', host: phone.host, port: phone.port }
    await product.ok('POST', '/connections', trunk)
    const asset = await messageAsset()
    const { id: flowId } = await product.ok('POST', '/flows', {
      name: 'Tone',
      kind: 'ivr',
      graph: {
        kind: 'ivr',
        nodes: [
          { key: 'start', type: 'start', transitions: [{ condition: { kind: 'always' }, next: 'bye' }] },
          { key: 'bye', type: 'end', script: 'Good morning, this is the practice of Doctor Martin.' },
        ],
      },
    })
    await product.ok('POST', `/flows/${flowId}/publish`, {})
    const { id } = await product.ok('POST', '/campaigns', {
      name: 'Reminders',
      flow_id: flowId,
      allowed_hours: null,
      max_concurrent: 2,
      answering_machine_detection: { on_machine: 'leave_message', message: { audio_asset_id: asset } },
    })
    const contacts = [{ phone: '+14155550181' }, { phone: '+14155550182' }]
    await product.ok('POST', `/campaigns/${id}/contacts`, { contacts })
    await product.ok('POST', `/campaigns/${id}/start`, {})
    const [machine, person] = [await phone.next(), await phone.next()]
    machine.say(samplesOf(Int16Array.from([...greeting, ...beep])))
    machine.answer()
    person.say(samplesOf(hello))
    person.answer()
    await Promise.all([machine.ended, person.ended])
    const heard = machine.heard.samples()
    const [one, other] = SAID_HZ.map(hz => tenthsOf(hz, heard))
    assert.ok(one!.length >= 9 && other!.length >= 9, `the whole message: ${one} ${other}`)
    assert.ok(one!.at(-1)! <= other![0]!, 'in its order')
    const beepEnds = ((greeting.length + beep.length) / NARROWBAND_HZ) * 10
    assert.ok(one![0]! >= beepEnds - 1, `it begins at ${one![0]}, the beep ends at ${beepEnds}`)
    assert.equal(tenthsOf(SAID_HZ[0]!, person.heard.samples()), [])
    const attempts = await product.until('both are over', async () => {
      const all = await product.all(`/campaigns/${id}/attempts`)
      return all.filter(({ result }) => result !== null).length === 2 ? all : null
    })
    assert.equal(attempts.map(({ answered_by, result }) => [answered_by, result]).toSorted(), [
      ['human', 'answered'],
      ['machine', 'voicemail_left'],
    ])
    assert.ok(
      person.heard.samples().some(sample => Math.abs(sample) > 1000),
      'the flow speaks to it',
    )
  },
  { timeoutMs: 90_000 },
)

test.run()
