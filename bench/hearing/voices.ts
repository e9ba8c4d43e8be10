import { phrasesOf } from '../../control/kernel/phrases.ts'
import { TEXTS } from '../../fixtures/prompts/texts.ts'
import { OFFLINE_VOICES } from '../../media/protocol.ts'
import { Flite } from '../../media/speech/flite.ts'
import { Moonshine } from '../../media/speech/moonshine/moonshine.ts'
import { table } from '../tables.ts'
import { overTheLine } from './chain.ts'
import { compare, wordsOf } from './score.ts'
import { ANSWERS, BABBLE, SENTENCES } from './sentences.ts'

interface VoiceResult {
  voice: string
  words: number
  errors: number
}

/** How well the offline recogniser understands each offline voice over G.711. */
export async function benchVoices(say: (line: string) => void): Promise<VoiceResult[]> {
  const flite = new Flite(1)
  const ear = new Moonshine()
  const texts = [...Object.values(SENTENCES).flat(), ...ANSWERS, ...BABBLE, ...ownWords()]
  const results: VoiceResult[] = []
  try {
    for (const { id: voice } of OFFLINE_VOICES) {
      const result = { voice, words: 0, errors: 0 }
      for (const text of texts) {
        const spoken = await flite.speak(text, voice, null)
        const heard = 'error' in spoken ? spoken : await ear.transcribe(overTheLine(spoken.samples), null)
        if ('error' in heard) throw new Error(heard.error)
        const { said, errors } = compare(wordsOf(text), wordsOf(heard.text))
        result.words += said
        result.errors += errors
      }
      results.push(result)
      say(`${voice}: ${result.errors} of ${result.words} words wrong`)
    }
  } finally {
    await Promise.all([flite.close(), ear.close()])
  }
  return results
}

/** What the product says by itself. */
function ownWords(): string[] {
  const { filler, stillThere, goodbye, apology, leaveMessage, next, position } = phrasesOf('en')
  const places = [2, 3, 4, 5, 7, 12].map(position)
  return [...Object.values(TEXTS.en!).map(String), filler, stillThere, goodbye, apology, leaveMessage, next, ...places]
}

export const formatVoices = (results: readonly VoiceResult[]): string[] => [
  'offline voices, heard back over G.711 by the offline recogniser',
  ...table([
    ['', 'words', 'wrong'],
    ...results.map(({ voice, words, errors }) => [voice, String(words), `${((100 * errors) / words).toFixed(1)} %`]),
  ]),
]
