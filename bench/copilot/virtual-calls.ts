import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Default } from 'typebox/value'
import { FRAME_MS } from '../../codecs/audio.ts'
import { reduce } from '../../control/copilot/fast/reduce.ts'
import { type CopilotInput, newState } from '../../control/copilot/fast/state.ts'
import { DEFAULT_SETTINGS } from '../../control/copilot/profile.ts'
import { createBody, type ProfileSettings } from '../../control/copilot/schema.ts'
import { merge } from '../../control/http/merge.ts'
import { Prompts } from '../../media/engine/prompts.ts'
import type { Events } from '../../media/protocol.ts'
import { LEG_SAMPLES } from '../../media/rooms/leg.ts'
import { Moonshine } from '../../media/speech/moonshine/moonshine.ts'
import { MoonshineModel, type Transcription } from '../../media/speech/moonshine/moonshine-model.ts'
import { type FarEnd, TestEngine } from '../../test/fakes/engine.ts'
import { type HeardCall, type HeardRound, judge, type Recording } from './heard-calls.ts'
import { type Message, profileOf } from './score.ts'
import { VirtualClock, VirtualThread } from './virtual-ear.ts'

const PARTIES = ['agent', 'customer'] as const
const LAST_WORDS_FRAMES = 4000 / FRAME_MS

/** One call: its recording, and the state and messages of its copilot. */
class VirtualCall {
  readonly told: (Message & { cameAt: number })[] = []
  readonly recording: Recording
  readonly #startFrame: number
  readonly #settings: ProfileSettings
  readonly #farEnds: FarEnd[]
  #state = newState(new Date().toISOString())

  private constructor(recording: Recording, startFrame: number, farEnds: FarEnd[]) {
    this.recording = recording
    this.#startFrame = startFrame
    this.#farEnds = farEnds
    this.#settings = settingsOf(profileOf(recording.half, recording.recording.call))
  }

  static async begin(engine: TestEngine, n: number, recording: Recording, startFrame: number): Promise<VirtualCall> {
    const farEnds: FarEnd[] = []
    for (const party of PARTIES) {
      const legId = `part_${n}.${party}`
      farEnds.push(await engine.join(legId, { roomId: `call_${n}` }))
    }
    engine.engine.do('transcript.start', {
      transcriptId: `cops_${n}`,
      target: { roomId: `call_${n}` },
      language: null,
      live: true,
    })
    return new VirtualCall(recording, startFrame, farEnds)
  }

  get frames(): number {
    return this.#startFrame + Math.ceil(this.recording.recording.samples.agent.length / LEG_SAMPLES) + LAST_WORDS_FRAMES
  }

  say(tick: number, now: number): void {
    const at = (tick - this.#startFrame) * LEG_SAMPLES
    for (const [i, party] of PARTIES.entries()) {
      const frame = new Int16Array(LEG_SAMPLES)
      if (at >= 0) frame.set(this.recording.recording.samples[party].subarray(at, at + LEG_SAMPLES))
      this.#farEnds[i]!.speaker.speak(frame, now)
    }
  }

  hear(
    { legId, utteranceId: id, text, isFinal, beganAgoMs, endedAgoMs }: Events['transcript.words'],
    atMs: number,
  ): void {
    const party = PARTIES.find(one => legId.endsWith(one))!
    const [fromMs, toMs] = [atMs - beganAgoMs, atMs - endedAgoMs]
    const input: CopilotInput =
      text === null ? { kind: 'unsaid', atMs, id } : { kind: 'said', atMs, id, party, text, isFinal, fromMs, toMs }
    const { state, messages } = reduce(this.#state, this.#settings, input)
    this.#state = state
    for (const { seq, type, utterances: utterance_ids, replaces, withdraws, body: data } of messages) {
      const idOf = (one: number | null): string | null => (one === null ? null : String(one))
      const links = { replaces: idOf(replaces), withdraws: idOf(withdraws) }
      this.told.push({ id: String(seq), type, utterance_ids, ...links, data, cameAt: atMs })
    }
  }

  judge(): HeardCall {
    const frameOf = (to: number): number => this.#startFrame + Math.floor((to - 1) / LEG_SAMPLES)
    return judge(this.told, this.recording, ({ to }) => FRAME_MS * frameOf(to))
  }
}

/** The profile's settings as the API stores them. */
function settingsOf(profile: object): ProfileSettings {
  return merge(DEFAULT_SETTINGS, Default(createBody, structuredClone(profile)) as Partial<ProfileSettings>)
}

/**
 * Runs recorded calls at once through the engine, the recogniser and the fast path on a virtual clock, without the network and without control's
 * store.
 */
export class VirtualCalls {
  readonly #known = new Map<string, { made: Transcription; ms: number }>()
  readonly #prompts = new Prompts({ sampleRateHz: 8000 })
  readonly #model: MoonshineModel

  private constructor(model: MoonshineModel) {
    this.#model = model
  }

  static async load(): Promise<VirtualCalls> {
    return new VirtualCalls(await MoonshineModel.load())
  }

  async run(recordings: readonly Recording[], apartMs: number): Promise<HeardRound> {
    const dataDir = mkdtempSync(join(tmpdir(), 'tandem-bench-'))
    const clock = new VirtualClock()
    const thread = new VirtualThread(clock, this.#model, this.#known)
    const engine = new TestEngine(dataDir, { prompts: this.#prompts, stt: new Moonshine(thread) })
    const calls: VirtualCall[] = []
    for (const [n, recording] of recordings.entries()) {
      calls.push(await VirtualCall.begin(engine, n, recording, Math.round((n * apartMs) / FRAME_MS)))
    }
    const frames = Math.max(...calls.map(call => call.frames))
    for (let tick = 0; tick < frames; tick++) {
      engine.run(1, () => {
        for (const call of calls) call.say(tick, engine.now)
      })
      await clock.moveTo(engine.now)
      for (const { name, body } of engine.events.splice(0)) {
        if (name !== 'transcript.words') continue
        const words = body as Events['transcript.words']
        calls[Number(words.transcriptId.slice('cops_'.length))]!.hear(words, engine.now)
      }
    }
    await engine.close()
    rmSync(dataDir, { recursive: true, force: true })
    const heard = calls.map(call => call.judge())
    const speechMs = heard.reduce((sum, one) => sum + one.speechMs, 0)
    return { calls: calls.length, heard, cpuPerSpeech: thread.cpuMs / speechMs }
  }

  close(): Promise<void> {
    return this.#prompts.close()
  }
}
