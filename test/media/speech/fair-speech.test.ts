import * as assert from 'uvu/assert'
import { FairGate } from '../../../media/speech/fair-gate.ts'
import { RealtimeTranscription } from '../../../media/speech/remote/realtime-transcription.ts'
import { SpeechClient } from '../../../media/speech/speech-client.ts'
import { SpeechHost } from '../../../media/speech/speech-host.ts'
import { abilitiesOf, OFFLINE_SPEECH } from '../../../media/speech/speech-protocol.ts'
import { SpeechProvider } from '../../fakes/speech-provider.ts'
import { suite } from '../../harness.ts'

/** Allows processes to start on a busy machine. */
const STARTING = { timeoutMs: 60_000 }
const ownerOf = (affinity: string) => ({ legId: `part_${affinity}`, callId: null, affinity })

const test = suite('media/speech/fair-speech')

test(
  'an organisation with 200 sentences does not hold up the one sentence of another',
  async () => {
    const host = new SpeechHost(OFFLINE_SPEECH, { info: () => {}, warn: () => {} } as never)
    const client = new SpeechClient(host.port(), abilitiesOf(OFFLINE_SPEECH))
    const spoken: string[] = []
    const speak = async (who: string, text: string): Promise<void> => {
      if ('samples' in (await client.speak(text, null, null, ownerOf(who)))) spoken.push(who)
    }
    const text = 'It takes a while to say all of this sentence, since it has some words more than it needs.'
    const all = Array.from({ length: 200 }, (_, n) => speak('many', `${text} ${n}`))
    await speak('one', 'Hello.')
    assert.ok(spoken.length < 25, `${spoken.length - 1} sentences came before it`)
    await host.close()
    await Promise.all(all)
  },
  STARTING,
)

test('requests to a provider wait for their turn, and what waits too long fails', async () => {
  let now = 0
  const gate = new FairGate({ atOnce: 2, waiting: 100, maxWaitMs: 1000 }, () => now)
  const order: string[] = []
  const ends: (() => void)[] = []
  const ask = (who: string) =>
    gate.run(who, async () => {
      order.push(who)
      await new Promise<void>(resolve => ends.push(resolve))
      return { answered: who }
    })
  const end = async (): Promise<void> => {
    ends.shift()!()
    await new Promise(resolve => setImmediate(resolve))
  }
  const many = Array.from({ length: 103 }, () => ask('many'))
  assert.equal(await many[102], { error: 'too many requests wait' })
  const one = ask('one')
  assert.equal(await many[101], { error: 'too many requests wait' }, 'it has given its place up')
  assert.equal(order, ['many', 'many'])
  await end()
  await end()
  assert.equal(order, ['many', 'many', 'one', 'many'])
  await end()
  assert.equal(await one, { answered: 'one' })
  now = 1001
  await end()
  assert.equal(await many[50], { error: 'waited for its turn too long' })
  while (ends.length > 0) await end()
  assert.equal(await Promise.all([ask('late'), end()]).then(([answer]) => answer), { answered: 'late' })
})

test('one organisation has half of the connections to a realtime provider at most', async () => {
  const provider = await SpeechProvider.start()
  const url = `ws://127.0.0.1:${provider.port}/v1/realtime?intent=transcription`
  const ear = new RealtimeTranscription({ url, key: null, model: 'model-1', timeoutMs: 2000 })
  await ear.transcribe(new Int16Array(80), null)
  const follow = (who: string) => ear.follow(null, ownerOf(who))
  const many = Array.from({ length: 60 }, () => follow('many'))
  assert.is(many.filter(one => one !== null).length, 50)
  const one = follow('one')
  assert.ok(one !== null)
  many[0]!.drop()
  assert.ok(follow('many') !== null, 'what is given back is free')
  ear.close()
  await provider.stop()
})

test.run()
