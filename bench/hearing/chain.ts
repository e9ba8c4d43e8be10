import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clamp16 } from '../../codecs/audio.ts'
import { PCMU } from '../../codecs/g711.ts'
import { wavHeader } from '../../codecs/wav.ts'
import type { Prompts } from '../../media/engine/prompts.ts'
import type { ListenSpec } from '../../media/protocol.ts'
import { LEG_SAMPLES } from '../../media/rooms/leg.ts'
import type { Manner, SpeechToText, Understood } from '../../media/speech/speech-engines.ts'
import { TestEngine } from '../../test/fakes/engine.ts'
import type { LabelledCall } from './labelled-calls.ts'

/** The settings with which an assistant listens. */
const LISTEN: ListenSpec = {
  listenId: 'hearing',
  language: null,
  endOfSpeechMs: 700,
  maxUtteranceMs: 20_000,
  bargeIn: { afterMs: 200, resume: true, backChannels: [] },
}
const LEG = 'part_caller'
/** Delay of an echo: a round trip and two jitter buffers [frames]. */
const ECHO_DELAY = 8

/** The result of a call. */
export interface Heard {
  /** The words of all utterances. */
  text: string
  utterances: { from: number; to: number; text: string }[]
  /** How often the start of speech was reported. */
  declared: number
  /** Share of our answer that was played; null: there was no answer. */
  answerHeard: number | null
  /** From the first frame of the answer to its end, pauses included [ms]; null: it did not end. */
  answerMs: number | null
  /** Everything that the caller sent, including echo. */
  sent: Int16Array
}

/** Notes the audio that it gets, and asks another recogniser for the words; without one, it only reports that something was said. */
class NotingEar implements SpeechToText {
  readonly guesses = true
  /** The audio of each utterance, or that of its last guess. */
  readonly given: Int16Array[] = []
  guessed: Int16Array = new Int16Array(0)
  readonly #ear: SpeechToText | null
  open = 0

  constructor(ear: SpeechToText | null) {
    this.#ear = ear
  }

  understands(): boolean {
    return true
  }

  prepare(): void {}

  follow(): null {
    return null
  }

  async transcribe(
    samples: Int16Array<ArrayBuffer>,
    _: unknown,
    manner: Manner = 'whole',
  ): Promise<Understood | { error: string }> {
    const isGuess = manner !== 'whole'
    if (isGuess) this.guessed = samples.slice()
    else this.given.push(samples.slice())
    if (this.#ear === null) return isGuess ? { error: 'no ear' } : { text: 'something', engine: 'none' }
    this.open++
    const answer = await this.#ear.transcribe(samples, null)
    this.open--
    if ('error' in answer) throw new Error(answer.error)
    return answer
  }
}

/** Runs a call through the engine: RTP, jitter buffer, voice detector, echo guard, endpointer, barge-in, and the recogniser if one is given. */
export async function hear(
  call: LabelledCall,
  tools: { dataDir: string; prompts: Prompts; ear: SpeechToText | null },
): Promise<Heard> {
  const ear = new NotingEar(tools.ear)
  const engine = new TestEngine(tools.dataDir, { prompts: tools.prompts, stt: ear })
  const farEnd = await engine.join(LEG)
  const sent = new Int16Array(call.line.length)
  engine.engine.do('leg.listen', { legId: LEG, listen: LISTEN })
  if (call.answer !== null) await play(engine, call.answer, tools.dataDir)
  const startedAt = engine.now
  let finishedAt: number | null = null
  for (let at = 0; at + LEG_SAMPLES <= call.line.length; at += LEG_SAMPLES) {
    const frame = call.line.slice(at, at + LEG_SAMPLES)
    if (call.echoDb !== null) addEcho(frame, farEnd.received.payloads.length, call.echoDb, farEnd.received)
    sent.set(frame, at)
    engine.run(1, () => farEnd.speaker.speak(frame, engine.now))
    // The virtual clock stands still while the recogniser works, so that words come at once.
    await engine.until(() => ear.open === 0)
    await new Promise(resolve => setImmediate(resolve))
    // A guess that turned out to be the whole utterance is not recognised again.
    if (engine.of('leg.utterance').length > ear.given.length) ear.given.push(ear.guessed)
    if (finishedAt === null && engine.of('play.finished').length > 0) finishedAt = engine.now
  }
  const [finished] = engine.of('play.finished')
  const texts = engine.of('leg.utterance').map(({ utterance }) => utterance.text)
  const heard: Heard = {
    text: texts.join(' ').trim(),
    utterances: texts.map((text, i) => ({ ...locate(ear.given[i]!, sent), text })),
    declared: engine.of('leg.speech_started').length,
    answerHeard: call.answer === null ? null : (finished?.heardMs ?? 0) / (call.answer.length / 8),
    answerMs: finishedAt === null ? null : finishedAt - startedAt,
    sent,
  }
  await engine.close()
  return heard
}

async function play(engine: TestEngine, answer: Int16Array, dataDir: string): Promise<void> {
  const path = join(dataDir, `answer-${answer.length}.wav`)
  const header = wavHeader({ sampleRateHz: 8000, channels: 1, dataBytes: answer.byteLength })
  writeFileSync(path, Buffer.concat([header, Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength)]))
  const sources = [{ kind: 'file' as const, path }]
  await engine.engine.do('leg.play', { legId: LEG, playId: 'answer', sources, loop: false, hangupAfter: null })
}

/** Adds the echo of what we sent `ECHO_DELAY` frames ago. */
function addEcho(frame: Int16Array, now: number, echoDb: number, { payloads }: { payloads: Uint8Array[] }): void {
  const payload = payloads[now - ECHO_DELAY]
  if (payload === undefined) return
  const gain = 10 ** (-echoDb / 20)
  const echo = new Int16Array(LEG_SAMPLES)
  PCMU.decode(payload, echo)
  for (let i = 0; i < LEG_SAMPLES; i++) frame[i] = clamp16(Math.round(frame[i]! + gain * echo[i]!))
}

/** The samples after encoding and decoding by G.711. */
export function overTheLine(samples: Int16Array): Int16Array<ArrayBuffer> {
  const octets = new Uint8Array(samples.length)
  PCMU.encode(samples, octets)
  const decoded = new Int16Array(samples.length)
  PCMU.decode(octets, decoded)
  return decoded
}

/** Length of the part by which an utterance is found [samples]. */
const SAMPLE_OF_IT = 800

/** Finds an utterance in what was sent, by the samples in its middle. */
function locate(samples: Int16Array, sent: Int16Array): { from: number; to: number } {
  const middle = Math.max(0, Math.floor((samples.length - SAMPLE_OF_IT) / 2))
  const wanted = samples.slice(middle, middle + SAMPLE_OF_IT)
  const line = overTheLine(sent)
  const at = Buffer.from(line.buffer).indexOf(Buffer.from(wanted.buffer))
  const from = at < 0 ? Number.NaN : at / 2 - middle
  return { from, to: from + samples.length }
}
