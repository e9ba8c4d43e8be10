import type { Logger } from 'pino'
import type { PlaySource } from '../../media/protocol.ts'
import { audioPath } from '../audio/files.ts'
import type { TimedStep } from '../calls/programs/records.ts'
import type { TurnTiming } from '../calls/programs/step-schema.ts'
import { type CompiledFlow, compileFlow } from '../flows/engine/compiled-flow.ts'
import type { CallerInput } from '../flows/engine/conditions.ts'
import type { ActionRequest, ActionResult, CollectRequest, FlowEffects, Line } from '../flows/engine/effects.ts'
import { runFlow } from '../flows/engine/engine.ts'
import type { Graph } from '../flows/engine/graph.ts'
import type { FlowModel, ModelReply, ReplyRequest } from '../flows/engine/model.ts'
import { sampleVariables } from '../flows/engine/simulation.ts'
import { type FlowState, newState } from '../flows/engine/state.ts'
import type { FlowStep } from '../flows/engine/steps.ts'
import { jsonCopy } from '../kernel/json-copy.ts'
import { phrase, type Speaker } from '../kernel/phrases.ts'
import type { Db, Store } from '../kernel/store/store.ts'
import { forTenant, type Tenant } from '../kernel/tenancy.ts'
import type { ModelFailure } from '../models/model.ts'
import { type BusinessHours, nextOpen } from '../organisation/business-hours.ts'
import type { CallValues } from '../tools/use-http.ts'
import { collectCommand, flushedOf, inputOf } from './collect.ts'
import type { ProgramInput } from './input.ts'
import { type NodeProgress, NodeSession } from './node-session.ts'
import { partiesOf } from './parties.ts'
import type { Ending, Play } from './programs.ts'
import type { Stage } from './stage.ts'

/** A flow's progress in its call: enough to continue after a restart without repeating anything. */
export interface FlowProgress extends NodeProgress {
  flow: FlowState
  /** The action in progress, with its own stored data. `nodes`: how many nodes had been entered when it began. */
  acting: { nodes: number; playId: string | null; memo: unknown } | null
}

/** What an action may use besides the stage. */
export interface ActionScene {
  stage: Stage
  request: ActionRequest
  assistantId: string | null
  /** The kind of the flow that asks; null: an assistant asks. */
  flowKind: Graph['kind'] | null
  language: string | null
  /** Says the pending text and waits until it has been heard. */
  flush: (more?: PlaySource[]) => Promise<void>
  /** What this action stored before the process died; null: it is just beginning. */
  memo: unknown
  remember: (memo: unknown, commit?: Parameters<Stage['commit']>[0]) => Promise<void>
  nextId: (what: string) => string
}

export type ActionOutcome = ActionResult & {
  /** The call then continues elsewhere, and the flow is over. */
  ending?: Ending
}

export const failed = (outcome: string): ActionOutcome => ({ status: 'failed', outcome, output: null })

interface FlowPlayParts {
  store: Store
  dataDir: string
  businessHours: (db: Db, tenant: Tenant) => Promise<BusinessHours>
  modelFor: (tenant: Tenant, assistantId: string | null, signal: AbortSignal, parties: CallValues) => Promise<FlowModel>
  voiceOf: (tenant: Tenant, assistantId: string | null) => Promise<Speaker>
  act: (scene: ActionScene) => Promise<ActionOutcome>
  log: Logger
}

/** Runs a call that a flow leads. */
export const flowPlay =
  (parts: FlowPlayParts): Play =>
  async stage => {
    const graph = await graphOf(parts.store.db, stage)
    if (graph === null) {
      await stage.commit({ change: { end_reason: 'error' } })
      await stage.request('leg.hangup', { legId: stage.legId, reason: 'assistant_ended' })
      return { way: 'hangup' }
    }
    const { assistant_id: assistantId } = stage.row
    const [model, voice] = await Promise.all([
      parts.modelFor(stage.tenant, assistantId, stage.signal, partiesOf(stage.call)),
      parts.voiceOf(stage.tenant, assistantId),
    ])
    return new FlowPlay(parts, stage, graph, model, voice).run()
  }

async function graphOf(db: Db, stage: Stage): Promise<Graph | null> {
  const { flow_id: flowId, flow_version: version } = stage.row
  if (flowId === null || version === null) return null
  const row = await forTenant(db, stage.tenant).findBy('flow_versions', { flow_id: flowId, version })
  return row === undefined ? null : JSON.parse(row.graph)
}

class FlowPlay implements FlowEffects {
  readonly dryRun = false
  readonly model: FlowModel
  readonly #parts: FlowPlayParts
  readonly #stage: Stage
  readonly #flow: CompiledFlow
  readonly #kind: Graph['kind']
  readonly #voice: Speaker
  readonly #progress: FlowProgress
  /** What was under way in the stored state when this process took over: media may still be doing it. Null: nothing is left of that. */
  #left: { collectId: string | null; ended: boolean } | null
  /** The flow's state on entering the current node, from which the node can be repeated. */
  #entry: FlowState
  #steps: TimedStep[] = []
  #ending: Ending | null = null
  readonly #session: NodeSession

  constructor(parts: FlowPlayParts, stage: Stage, graph: Graph, model: FlowModel, voice: Speaker) {
    this.model = model
    this.#parts = parts
    this.#stage = stage
    this.#flow = compileFlow(graph)
    this.#kind = graph.kind
    this.#voice = { ...voice, language: graph.settings.language ?? voice.language }
    const stored = stage.state<FlowProgress>()
    this.#left = stored && { collectId: stored.collectId, ended: stored.flow.phase === 'ended' }
    this.#progress = stored ?? {
      // Keys that were pressed in a queue were for the queue.
      flow: newState({ ...sampleVariables(graph), ...partiesOf(stage.call) }, stage.call.queue_id !== null),
      pending: [],
      count: 0,
      collectId: null,
      saying: null,
      acting: null,
    }
    // Rows of older versions lack this field.
    this.#progress.saying ??= null
    this.#session = new NodeSession({
      stage,
      model,
      log: parts.log,
      voice: this.#voice,
      progress: this.#progress,
      save: () => this.#save(),
      ask: command => this.#askFor(command),
    })
    this.#entry = jsonCopy(this.#progress.flow)
  }

  async run(): Promise<Ending> {
    const progress = this.#progress
    for await (const step of runFlow(this.#flow, progress.flow, this)) {
      this.#steps.push({ ...step, at: this.#stage.now().toISOString(), ...this.#timingOf(step) })
      if (step.step === 'node') await this.#entered()
    }
    return this.#end()
  }

  /** The flow enters a node, and after a restart continues from here. */
  async #entered(): Promise<void> {
    this.#progress.acting = null
    // What the caller says from here on answers another question.
    this.#progress.collectId = null
    await this.#save()
    this.#entry = jsonCopy(this.#progress.flow)
  }

  async #save(): Promise<void> {
    const steps = this.#steps
    await this.#stage.commit({ state: this.#progress, steps })
    this.#steps = []
  }

  async #end(): Promise<Ending> {
    const { flow, pending } = this.#progress
    const ending = this.#ending
    const [state, steps] = [this.#progress, this.#steps]
    const reason = flow.endReason ?? 'error'
    if (ending !== null && flow.endReason !== 'caller_hangup') {
      // A flow that gives the call away has already said its text.
      await this.#stage.commit({ state, steps })
      return ending
    }
    await this.#stage.commit({ state, steps, change: { end_reason: reason } })
    // After an error the caller hears an apology before the hang-up.
    if (reason === 'error' && pending.length === 0) pending.push(phrase('apology', this.#voice))
    const { legId } = this.#stage
    const isHeard = this.#left?.ended === true && this.#stage.resumed?.playing === true
    if (isHeard) return { way: 'hangup' }
    if (pending.length > 0) {
      const play = { legId, playId: `end-${progressId(this.#progress)}`, sources: pending, loop: false }
      const reply = await this.#stage.request('leg.play', { ...play, hangupAfter: 'assistant_ended' })
      if (!('failure' in reply)) return { way: 'hangup' }
    }
    await this.#stage.request('leg.hangup', { legId, reason: 'assistant_ended' })
    return { way: 'hangup' }
  }

  // ------------------------------------------------------------------ FlowEffects

  async say({ text }: Line): Promise<void> {
    this.#push({ kind: 'speech', text, ...this.#voice })
  }

  async play({ assetId, text }: Line): Promise<void> {
    if (assetId !== null) this.#push({ kind: 'file', path: audioPath(this.#parts.dataDir, assetId) })
    else await this.say({ nodeKey: '', text, assetId })
  }

  #push(source: PlaySource): void {
    const { acting, flow, pending } = this.#progress
    // The node is repeated after a restart, and its prompts have already been sent.
    if (acting?.nodes === flow.nodes) return
    pending.push(source)
  }

  converse(request: ReplyRequest, listen: CollectRequest): Promise<ModelReply | ModelFailure> {
    const isLeft = this.#left !== null
    this.#left = null
    return this.#session.reply(request, listen, isLeft)
  }

  #timingOf({ step, entry }: FlowStep): { timing?: TurnTiming } {
    if (step !== 'turn') return {}
    if (entry.source === 'ai') return { timing: this.#session.timing }
    const { heard } = this.#session
    return entry.source === 'speech' && heard !== null ? { timing: heard.timing } : {}
  }

  async collect(request: CollectRequest): Promise<CallerInput | null> {
    const progress = this.#progress
    if (this.#left !== null && this.#session.isListening) await this.#session.takeUp()
    if (this.#session.isListening || this.#session.hasAnswer) return this.#answerOfSession(request)
    const command = collectCommand(request, {
      legId: this.#stage.legId,
      collectId: this.#left?.collectId ?? `collect-${++progress.count}`,
      language: this.#voice.language,
      prompts: progress.pending,
    })
    const isOurs = this.#left?.collectId !== command.collectId
    this.#left = null
    progress.collectId = command.collectId
    await this.#save()
    const collected = await this.#answerTo(command, isOurs)
    progress.collectId = null
    progress.pending = []
    return collected ?? { kind: 'no_response' }
  }

  async #answerOfSession(request: CollectRequest): Promise<CallerInput> {
    this.#left = null
    // Not if there is an answer already: that is stored together with its consequences.
    if (!this.#session.hasAnswer) await this.#save()
    const answer = await this.#session.answer(request)
    this.#progress.collectId = null
    return answer
  }

  /** `isNew`: the caller has not been asked yet. Otherwise media may still be asking since before a restart, or have the answer. */
  async #answerTo(command: ReturnType<typeof collectCommand>, isNew: boolean): Promise<CallerInput | null> {
    const wanted = (input: ProgramInput) => inputOf(input, command.collectId)
    const early = isNew ? null : await this.#stage.poll(wanted)
    if (early !== null) return early
    if ((isNew || this.#stage.resumed?.collecting !== true) && !(await this.#askFor(command))) return null
    return this.#stage.until(wanted)
  }

  /**
   * Text that cannot be spoken is left out, and so is listening in a language that no engine understands: asking in silence or for
   * keys alone is better than losing the call. False: nothing is asked, so no answer would ever come.
   */
  async #askFor(command: ReturnType<typeof collectCommand>): Promise<boolean> {
    const less = [{}, { prompts: [] }, { speech: null }, { prompts: [], speech: null }]
    for (const change of less) {
      const reply = await this.#stage.request('leg.collect', { ...command, ...change })
      // A leg that has gone reports its end.
      if (!('failure' in reply) || reply.failure === 'not_found') return true
    }
    return false
  }

  async perform(request: ActionRequest): Promise<ActionResult> {
    const progress = this.#progress
    const { nodes } = progress.flow
    const memo = progress.acting?.nodes === nodes ? progress.acting.memo : null
    progress.acting = progress.acting?.nodes === nodes ? progress.acting : { nodes, playId: null, memo: null }
    const acting = progress.acting
    const saveActing = (commit: Parameters<Stage['commit']>[0] = {}) =>
      this.#stage.commit({ ...commit, state: { ...progress, flow: this.#entry } })
    const result = await this.#parts.act({
      stage: this.#stage,
      request,
      assistantId: this.#stage.row.assistant_id,
      flowKind: this.#kind,
      language: this.#voice.language,
      memo,
      remember: async (memo, commit) => {
        acting.memo = memo
        await saveActing(commit)
      },
      flush: async (more = []) => {
        // Actions store a memo only after their prompts were heard, so nothing is left to say.
        if (acting.memo !== null) return
        const sources = [...progress.pending, ...more]
        const isNew = acting.playId === null
        acting.playId ??= `say-${++progress.count}`
        const { playId } = acting
        if (isNew) await saveActing()
        await flushedOf(this.#stage, playId, sources, !isNew)
        progress.pending = []
      },
      nextId: what => `${what}-${++progress.count}`,
    })
    this.#left = null
    this.#ending = result.ending ?? this.#ending
    return result
  }

  async isOpen(): Promise<boolean> {
    const now = this.#stage.now()
    const hours = await this.#parts.businessHours(this.#parts.store.db, this.#stage.tenant)
    return nextOpen(hours, now)?.getTime() === now.getTime()
  }
}

const progressId = ({ flow }: FlowProgress): string => String(flow.nodes)
