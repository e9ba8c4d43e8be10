import * as assert from 'uvu/assert'
import { holdAudio } from '../../../control/queues/hold-audio.ts'
import { suite } from '../../harness.ts'

const test = suite('control/queues/hold-audio')

const hold = {
  audio: 'music' as const,
  audio_asset_id: null,
  announcement: '',
  announce_position: true,
  position_interval_seconds: 30,
}
const said = (language: string | null, position: number): unknown[] =>
  holdAudio(
    { hold },
    { position, isNew: true, speaker: { voice: null, language }, assetFile: null, ringback: { kind: 'music' } },
  ).said

test("the place in line is told in the language of the queue's assistant, in English where that has no words", () => {
  const speech = (text: string, language: string | null, ...recorded: string[]) => [
    { kind: 'speech', text, voice: null, language, recorded },
  ]
  assert.equal(said(null, 1), speech('You are next in line.', null, 'next-in-line'))
  assert.equal(
    said('en-GB', 3),
    speech('You are number 3 in line.', 'en-GB', 'place-before', 'place-3', 'place-behind'),
  )
  assert.equal(
    said('es-MX', 3),
    speech('Usted ocupa el lugar 3 en la cola.', 'es-MX', 'place-before', 'place-3', 'place-behind'),
  )
  assert.equal(said('fr', 1), speech('Votre appel est le prochain.', 'fr', 'next-in-line'))
  assert.equal(
    said('de', 2),
    speech('Sie sind auf Platz 2 der Warteschlange.', 'de', 'place-before', 'place-2', 'place-behind'),
  )
  assert.equal(
    said('pt-BR', 2),
    speech('Está na posição 2 da fila.', 'pt-BR', 'place-before', 'place-2', 'place-behind'),
  )
  assert.equal(said('it', 2), speech('Lei è al numero 2 della coda.', 'it', 'place-before', 'place-2', 'place-behind'))
  assert.equal(said('he', 1), speech('אתם הבאים בתור.', 'he', 'next-in-line'))
  assert.equal(said('ja', 1), speech('You are next in line.', null, 'next-in-line'))
  assert.equal(said('de', 21), speech('Sie sind auf Platz 21 der Warteschlange.', 'de', 'place-far'))
})

test.run()
