import * as assert from 'uvu/assert'
import { seeded } from '../../bench/seeded.ts'
import { AnswerDetector } from '../../codecs/detectors/answer-detector.ts'
import { MessageEnd } from '../../codecs/detectors/message-end.ts'
import { NearVoice } from '../../codecs/detectors/near-voice.ts'
import { renderTone } from '../../codecs/tones.ts'
import { loadVoiceDetector } from '../../codecs/voice-activity.ts'
import { suite } from '../harness.ts'
import { framesOf, prompt } from './signals.ts'

const test = suite('codecs/answer-detector')

const TIMINGS = {
  initialSilenceMs: 4000,
  greetingMs: 2300,
  afterGreetingSilenceMs: 800,
  maxWords: 8,
  minWordMs: 100,
  betweenWordsMs: 60,
  totalMs: 6000,
  messageSilenceMs: 1800,
  messageMs: 60_000,
}
const createVoice = await loadVoiceDetector()

const silence = (ms: number): Int16Array => new Int16Array(ms * 8)
const tone = (hz: number | number[], ms: number, levelDb = -18): Int16Array =>
  renderTone({ segments: [{ hz: [hz].flat(), ms, levelDb }] }, 8000)
/** So much of a prompt's speech, from its first word on. */
const speech = (ms: number): Int16Array => {
  const samples = prompt('announcement')
  const from = samples.findIndex(sample => Math.abs(sample) > 1000)
  return samples.slice(from, from + ms * 8)
}
/** One after the other, on a line with a little hiss. */
function line(...parts: Int16Array[]): Int16Array {
  const random = seeded(7)
  const samples = parts.flatMap(part => [...part])
  return Int16Array.from(samples, sample => sample + Math.round(24 * (random() - 0.5)))
}

function judged(samples: Int16Array, more: Partial<typeof TIMINGS> = {}) {
  const detector = new AnswerDetector({ ...TIMINGS, ...more }, new NearVoice(createVoice()))
  for (const frame of framesOf(samples)) {
    const answer = detector.write(frame)
    if (answer !== null) return answer
  }
  return null
}
const who = (samples: Int16Array, more: Partial<typeof TIMINGS> = {}): string => {
  const answer = judged(samples, more)
  return answer === null ? 'nobody' : `${answer.answeredBy} ${answer.cause}`
}

test('who says a short word and is silent is a person, as soon as that silence is over', () => {
  const short = line(silence(500), speech(700), silence(3000))
  const answer = judged(short)
  assert.equal([answer?.answeredBy, answer?.cause], ['human', 'short_greeting'])
  assert.ok(answer!.ms > 1700 && answer!.ms < 2300, `${answer!.ms}`)
  const later = judged(short, { afterGreetingSilenceMs: 1500 })
  assert.is(later!.ms - answer!.ms, 700)
})

test('who goes on is a machine: by the length of the greeting, or by its words', () => {
  const long = line(silence(300), speech(4000), silence(1000))
  assert.is(who(long), 'machine long_greeting')
  assert.is(who(long, { greetingMs: 10_000, maxWords: 2 }), 'machine many_words')
})

test('a person who says hello, waits and asks who is there is a person; a machine that waits after its first word is none', () => {
  for (const ms of [300, 400, 500, 600, 700]) {
    assert.is(
      who(line(silence(500), speech(900), silence(ms), speech(1000), silence(3000))),
      'human short_greeting',
      `${ms} ms`,
    )
  }
  assert.is(who(line(silence(500), speech(900), silence(500), speech(3000), silence(3000))), 'machine long_greeting')
})

test('a beep behind a voice is a machine; ringing before it is neither voice nor beep', () => {
  assert.is(who(line(speech(900), silence(300), tone(1400, 300), silence(2000))), 'machine beep')
  const rung = line(tone([440, 480], 1000), silence(500), tone(425, 1000), silence(800), speech(700), silence(2000))
  assert.is(who(rung), 'human short_greeting')
})

test('an `m` or a vowel that a voice holds at one pitch is no beep', () => {
  const held = line(speech(900), tone(395, 140, -24), speech(300), silence(2000))
  assert.is(who(held), 'human short_greeting')
  const atEnd = line(speech(900), tone(440, 140, -24), silence(2000))
  assert.is(who(atEnd), 'human short_greeting')
})

test('who falls silent for a beep, even a long one, is a machine', () => {
  assert.is(who(line(speech(900), silence(500), tone(1000, 1500), silence(2000))), 'machine beep')
  // No beep is as long as this, such as a dial tone.
  assert.is(who(line(speech(900), silence(500), tone(425, 5000))), 'human short_greeting')
})

test('the three rising tones of an intercept are a machine (ITU-T E.180), a fax tone is a fax', () => {
  const network = line(silence(200), tone(950, 330), tone(1400, 330), tone(1800, 330), silence(500))
  assert.is(who(network), 'machine network_tone')
  const american = line(tone(985.2, 380), tone(1370.6, 274), tone(1776.7, 380), silence(500))
  assert.is(who(american), 'machine network_tone')
  assert.is(who(line(silence(800), tone(2100, 3000))), 'fax fax_tone')
})

test('nobody who speaks is unknown after the initial silence, what is not decided after the total time', () => {
  assert.equal(judged(line(silence(6000))), { answeredBy: 'unknown', cause: 'no_voice', ms: 4000 })
  const slow = line(silence(1000), speech(1800), silence(3000))
  assert.equal(judged(slow, { totalMs: 2000 }), { answeredBy: 'unknown', cause: 'undecided', ms: 2000 })
})

test('a soft voice behind whoever answers does not make a greeting longer', () => {
  const voice = speech(4000)
  const behind = line(voice.map(sample => sample / 20))
  const near = line(silence(600), speech(700), silence(2700))
  assert.is(who(Int16Array.from(behind, (sample, i) => sample + near[i]!)), 'human short_greeting')
})

const ended = (samples: Int16Array): string | null => {
  const end = new MessageEnd({ ...TIMINGS, messageMs: 8000 }, new NearVoice(createVoice()))
  let ms = 0
  for (const frame of framesOf(samples)) {
    ms += 20
    const by = end.write(frame)
    if (by !== null) return `${by} ${Math.floor(ms / 1000)}`
  }
  return null
}

test('a greeting ends with its beep, of any pitch and length, once it is quiet behind it', () => {
  for (const [hz, ms] of [
    [440, 500],
    [1000, 120],
    [2000, 900],
  ] as const) {
    assert.is(
      ended(line(speech(2400), silence(400), tone(hz, ms), silence(3000))),
      `beep ${Math.floor((2960 + ms) / 1000)}`,
    )
  }
})

/** A sine whose frequency [Hz] and level (0 to 1) change with time [ms]. */
const sweep = (ms: number, hzAt: (ms: number) => number, levelAt: (ms: number) => number): Int16Array => {
  let phase = 0
  return Int16Array.from({ length: ms * 8 }, (_, i) => {
    phase += (2 * Math.PI * hzAt(i / 8)) / 8000
    return Math.round(6000 * levelAt(i / 8) * Math.sin(phase))
  })
}

test('nor need it be steady: it may fade and echo, and a codec of mobile phones may have moved its frequency about', () => {
  const fading = sweep(
    600,
    () => 880,
    ms => Math.exp(-ms / 40),
  )
  const moved = sweep(
    500,
    ms => (ms % 80 < 40 ? 861 : 880),
    () => 1,
  )
  const echo = Int16Array.from(tone(880, 100, -44))
  for (const [name, beep] of Object.entries({ fading, moved, echoing: line(tone(880, 200), silence(80), echo) })) {
    assert.is(ended(line(speech(2400), silence(400), beep, silence(3000)))?.split(' ')[0], 'beep', name)
  }
})

test('a vowel that the greeting holds does not end it', () => {
  const held = line(speech(1400), tone(395, 140, -24), speech(1000), silence(400), tone(1000, 300), silence(3000))
  assert.is(ended(held), 'beep 3')
  const alreadyHeld = line(
    tone(395, 140, -24),
    silence(200),
    speech(1000),
    silence(400),
    tone(1000, 300),
    silence(3000),
  )
  assert.is(ended(alreadyHeld), 'beep 2')
})

test('without a beep it ends with silence, and one without an end is given up', () => {
  assert.is(ended(line(speech(2000), silence(3000))), 'silence 3')
  assert.is(ended(line(speech(3000), speech(3000), speech(3000))), 'timeout 8')
})

test.run()
