import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { Product } from '../../../bench/product.ts'
import { samplesOf } from '../../../bench/voices.ts'
import { readWav } from '../../../codecs/wav.ts'
import { suite } from '../../harness.ts'
import { curtain, newRoom, seat } from '../scene.ts'

const test = suite('e2e/speech/speaking')
let product: Product

test.before(async () => {
  // With the warm-up, as operators start it.
  product = await Product.start({ env: { TANDEM_WARM_UP: 'yes' } })
})
test.after(() => curtain(product))

const wav = readWav(readFileSync(new URL('../../../fixtures/prompts/wait-moderator.wav', import.meta.url)))
if ('error' in wav) throw new Error(wav.error)
const WORDS = wav.samples[0]!

test(
  'in a room with speech events who speaks is told of, is the active speaker, and shows a level; noise suppression changes that for nobody',
  async () => {
    const room = await newRoom(product, {}, { announce: false, speech_events: true, noise_suppression: true })
    const anna = await seat(product, room, 'anna')
    const ben = await seat(product, room, 'ben')
    const told = async (type: string) => {
      const { body } = await product.api('GET', `/events?type=${type}`)
      return body.data.length === 0 ? null : body.data.map(({ data }: { data: { object: object } }) => data.object)
    }
    anna.call.say(samplesOf(WORDS))
    const [started] = await product.until('she speaks', () => told('call.speaking.started'))
    const [speaker] = await product.until('the active speaker', () => told('conference.active_speaker.changed'))
    assert.equal([started.participant_id, speaker.participant_id], [anna.participantId, anna.participantId])
    const shown = await product.ok('GET', `/conference_rooms/${room.roomId}`)
    assert.is(shown.live.active_speaker_id, anna.participantId)
    const [stopped] = await product.until('she has ended', () => told('call.speaking.stopped'))
    assert.is(stopped.participant_id, anna.participantId)
    // Speaking may have been reported once more between two sentences.
    await product.until('both are silent', async () => {
      const { data } = await product.ok('GET', `/conference_rooms/${room.roomId}/participants`)
      const isSilent = ({ audio }: { audio: { speaking: boolean; level_dbov: number } }): boolean =>
        audio.speaking === false && audio.level_dbov < -40
      return data.length === 2 && data.every(isSilent) ? true : null
    })
    await anna.call.hangup()
    await ben.call.hangup()
  },
  { timeoutMs: 60_000 },
)

test.run()
