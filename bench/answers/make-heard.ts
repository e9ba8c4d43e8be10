import { writeFileSync } from 'node:fs'
import { clamp16 } from '../../codecs/audio.ts'
import { SpeechClient } from '../../media/speech/speech-client.ts'
import { SpeechHost } from '../../media/speech/speech-host.ts'
import { abilitiesOf, OFFLINE_SPEECH } from '../../media/speech/speech-protocol.ts'
import { readQuestions, seeded } from './questions.ts'

/**
 * Makes `heard.txt`: what the offline recogniser hears when a voice of flite says each question, with hesitations, over a line with noise.
 * `node --import tsx bench/answers/make-heard.ts`
 */
const BEFORE = [
  '',
  '',
  '',
  'um,',
  'yeah, hi,',
  'hello there,',
  'so,',
  'okay, so I was wondering,',
  'sorry,',
  'could you tell me,',
]
const AFTER = ['', '', '', '', ', please', ', you know', ', thanks']
const VOICES = ['slt', 'rms']
/** Amplitude of the noise, well below a voice. */
const NOISE = 60

const random = seeded(7)
const pick = (from: readonly string[]): string => from[random(from.length)]!

function withNoise(samples: Int16Array): Int16Array<ArrayBuffer> {
  return Int16Array.from(samples, sample => clamp16(sample + random(2 * NOISE) - NOISE))
}

const host = new SpeechHost(OFFLINE_SPEECH, { info: () => {}, warn: () => {} } as never)
const client = new SpeechClient(host.port(), abilitiesOf(OFFLINE_SPEECH))
const heard: string[] = []
for (const { said } of readQuestions([])) {
  const text = `${pick(BEFORE)} ${said}${pick(AFTER)}`.trim()
  const spoken = await client.speak(text, pick(VOICES), null)
  if ('error' in spoken) throw new Error(spoken.error)
  const understood = await client.transcribe(withNoise(spoken.samples), null)
  if ('error' in understood) throw new Error(understood.error)
  heard.push(understood.text.replaceAll('\n', ' ').trim())
}
await host.close()
writeFileSync(new URL('heard.txt', import.meta.url), `${heard.join('\n')}\n`)
