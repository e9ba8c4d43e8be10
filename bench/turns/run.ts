import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { PCMU } from '../../codecs/g711.ts'
import { readWav } from '../../codecs/wav.ts'
import type { ListenSpec, PlaySource } from '../../media/protocol.ts'
import type { Percentiles } from '../load/histogram.ts'
import { type Machine, thisCommit, thisMachine } from '../machine.ts'
import { MediaProcess } from '../media-process.ts'
import { Phone } from '../phone/phone.ts'
import type { PhoneCall } from '../phone/phone-call.ts'
import { samplesOf } from '../voices.ts'

/** What the caller says in each turn: "Please wait for the moderator." */
const SAID = new URL('../../fixtures/prompts/wait-moderator.wav', import.meta.url)
/** How long we speak before the caller interrupts [ms]. */
const BEFORE_BARGE_IN_MS = 600
/** Turns that are not counted, in which models are loaded and code is compiled. */
const WARM_UP_TURNS = 2
const AFTER_MS = 100
const END_OF_SPEECH_MS = 500

const LISTEN: ListenSpec = {
  listenId: 'bench',
  language: null,
  endOfSpeechMs: END_OF_SPEECH_MS,
  maxUtteranceMs: 20_000,
  bargeIn: { afterMs: AFTER_MS, resume: false, backChannels: [] },
}

/** All times in ms. */
export interface TurnsReport {
  startedAt: string
  commit: string
  machine: Machine
  turns: number
  endOfSpeechMs: number
  /** From the detection of voice to the first silent packet at the caller. */
  bargeIn: Percentiles
  /** From the end of the silence that ends an utterance to its text. */
  transcribe: Percentiles
  /** From the text to the first sound of the answer at the caller; every answer is a new text. */
  speak: Percentiles
  /** From the end of the caller's voice to that first sound: a whole turn without a language model. */
  turn: Percentiles
  /** All different texts that the turns gave; one, if each was heard alike. */
  texts: string[]
}

/** Measures over real sockets how soon we fall silent, and how soon we answer. */
export async function benchTurns(turns: number, say: (line: string) => void): Promise<TurnsReport> {
  const media = await MediaProcess.start()
  const phone = await Phone.open('caller')
  const times = { bargeIn: [] as number[], transcribe: [] as number[], speak: [] as number[], turn: [] as number[] }
  const texts = new Set<string>()
  try {
    const { call, legId } = await connect(media, phone)
    await media.ask('leg.listen', { legId, listen: LISTEN })
    for (let n = 0; n < WARM_UP_TURNS + turns; n++) {
      const turn = await takeTurn(media, call, legId, n)
      if (n < WARM_UP_TURNS) continue
      if (n === WARM_UP_TURNS) say(`${turns} turns …`)
      texts.add(turn.text)
      for (const [name, all] of Object.entries(times)) all.push(turn[name as keyof typeof times])
    }
  } finally {
    await phone.close()
    await media.stop()
  }
  return {
    startedAt: new Date().toISOString(),
    commit: thisCommit(),
    machine: thisMachine(),
    turns,
    endOfSpeechMs: END_OF_SPEECH_MS,
    bargeIn: percentilesOf(times.bargeIn),
    transcribe: percentilesOf(times.transcribe),
    speak: percentilesOf(times.speak),
    turn: percentilesOf(times.turn),
    texts: [...texts],
  }
}

/** Percentiles without the upper limit of `Histogram`. */
function percentilesOf(times: number[]): Percentiles {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0
  return { count: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}

async function connect(media: MediaProcess, phone: Phone): Promise<{ call: PhoneCall; legId: string }> {
  const incoming = media.next('leg.incoming')
  const calling = phone.call('bench', media.sip)
  const { legId } = (await incoming).body
  const room = { roomId: 'call_bench', kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 2 }
  await media.ask('leg.answer', { legId, room, affinity: 'bench', codecs: ['PCMU'] })
  return { call: await calling, legId }
}

async function takeTurn(media: MediaProcess, call: PhoneCall, legId: string, n: number) {
  const play = (playId: string, source: PlaySource, loop: boolean) =>
    media.ask('leg.play', { legId, playId, sources: [source], loop, hangupAfter: null })
  const started = media.next('play.started')
  await play(`music ${n}`, { kind: 'music' }, true)
  await started
  await sleep(BEFORE_BARGE_IN_MS)
  const declared = media.next('leg.speech_started')
  const understood = media.next('leg.utterance')
  call.say(samplesOf(SPEECH))
  const declaredAt = Date.parse((await declared).at)
  const { body, at } = await understood
  const silentAt = firstAfterLastSound(call)
  const heardSoFar = call.packets.length
  const finished = media.next('play.finished', ({ playId }) => playId === `answer ${n}`)
  await play(`answer ${n}`, { kind: 'speech', text: `This is answer number ${n}.`, voice: null, language: null }, false)
  await finished
  // The last packets are still on their way.
  await sleep(100)
  const soundAt = wallTimeOf(call.packets.slice(heardSoFar).find(({ payload }) => !isSilent(payload))!.at)
  return {
    bargeIn: silentAt - declaredAt,
    transcribe: body.utterance.transcribeMs,
    speak: soundAt - Date.parse(at),
    turn: soundAt - Date.parse(body.utterance.endedAt),
    text: body.utterance.text,
  }
}

/** When the first silent packet after our last sound arrived. */
function firstAfterLastSound({ packets }: PhoneCall): number {
  const last = packets.findLastIndex(({ payload }) => !isSilent(payload))
  const next = packets[last + 1]
  if (last < 0 || next === undefined) throw new Error('it was not silenced')
  return wallTimeOf(next.at)
}

const isSilent = (payload: Uint8Array): boolean => payload.every(octet => octet === PCMU.silence)
const wallTimeOf = (monotonic: number): number => performance.timeOrigin + monotonic

const SPEECH = readSpeech()

function readSpeech(): Int16Array {
  const wav = readWav(readFileSync(SAID))
  if ('error' in wav) throw new Error(wav.error)
  return wav.samples[0]!
}
