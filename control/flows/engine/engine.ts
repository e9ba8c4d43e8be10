import { isModelFailure } from '../../models/model.ts'
import { type Choice, type Chosen, exitOf, factualExit, judgedExit, soundAlikeExit } from './choice.ts'
import { type CompiledFlow, hidesInput } from './compiled-flow.ts'
import type { CallerInput } from './conditions.ts'
import { exitName } from './coverage.ts'
import type { ActionRequest, CollectRequest, FlowEffects } from './effects.ts'
import type { FlowNode, FlowValue } from './graph.ts'
import type { ToolUse } from './model.ts'
import { actionInput, actionOf } from './node-actions.ts'
import { typeOf } from './node-types.ts'
import { type EndReason, type FlowState, LIMITS } from './state.ts'
import type { FlowStep, PathEntry, TurnEntry } from './steps.ts'
import { fill, REDACTED } from './template.ts'

const DEFAULT_TIMEOUT_MS = 6000
const DEFAULT_RETRIES = 2

/**
 * Runs a flow until its call ends, or until `effects.collect` has no input yet; it can then be continued with the same `state`, which is
 * changed in place. A live call, a phone menu, an agent's script and a simulation differ only in their effects.
 *
 * Conditions are tried in this order: deterministic ones (`dtmf`, `match`, `expression`, `filled`, `outcome`, `schedule`) as listed in
 * the node, `global` ones of other nodes, `intent`, `always`, `no_match`, `else`; on silence `no_response`, `else`.
 */
export function runFlow(flow: CompiledFlow, state: FlowState, effects: FlowEffects): AsyncGenerator<FlowStep, void> {
  return new FlowRun(flow, state, effects).steps()
}

class FlowRun {
  readonly #flow: CompiledFlow
  readonly #state: FlowState
  readonly #effects: FlowEffects

  constructor(flow: CompiledFlow, state: FlowState, effects: FlowEffects) {
    this.#flow = flow
    this.#state = state
    this.#effects = effects
  }

  async *steps(): AsyncGenerator<FlowStep, void> {
    const state = this.#state
    if (state.phase === 'new') yield* this.#begin()
    while (!this.#hasEnded()) {
      const node = this.#flow.nodes.get(state.nodeKey ?? '')
      if (node === undefined) return this.#end('error')
      if (state.phase === 'entering') {
        yield* this.#perform(node)
        continue
      }
      if (state.phase === 'replying') {
        yield* this.#converse(node)
        continue
      }
      const input = await this.#effects.collect(this.#listenFor(node))
      if (input === null) return
      yield* this.#hear(node, input)
    }
  }

  #hasEnded = (): boolean => this.#state.phase === 'ended'

  #end(reason: EndReason): void {
    this.#state.phase = 'ended'
    this.#state.endReason = reason
  }

  *#begin(): Generator<FlowStep, void> {
    const { start } = this.#flow
    if (start === null) return this.#end('error')
    yield this.#enter(start, { from_node_key: null, transition_key: null, via: 'start' })
  }

  #enter(node: FlowNode, how: Pick<PathEntry, 'from_node_key' | 'transition_key' | 'via'>): FlowStep {
    const state = this.#state
    state.phase = 'entering'
    state.nodeKey = node.key
    state.retries = 0
    state.replies = 0
    state.nodes++
    state.nodesSinceInput++
    if (!state.visitedNodes.includes(node.key)) state.visitedNodes.push(node.key)
    return { step: 'node', entry: { ...how, node_key: node.key, node_type: node.type } }
  }

  *#follow(node: FlowNode, { exit, via }: Chosen): Generator<FlowStep, void> {
    const state = this.#state
    const name = exitName(exit.nodeKey, exit.key)
    if (!state.takenTransitions.includes(name)) state.takenTransitions.push(name)
    const next = this.#flow.nodes.get(exit.transition.next ?? '')
    if (next === undefined) return this.#end('error')
    if (state.nodesSinceInput >= LIMITS.nodesSinceInput || state.nodes >= LIMITS.nodes) return this.#end('loop_limit')
    yield this.#enter(next, { from_node_key: node.key, transition_key: exit.key, via })
  }

  async *#perform(node: FlowNode): AsyncGenerator<FlowStep, void> {
    switch (typeOf(node)?.behaviour) {
      case 'pass':
        return yield* this.#leave(node, null)
      case 'speak':
      case 'play':
        yield* this.#speak(node)
        return yield* this.#leave(node, null)
      case 'set':
        for (const [name, value] of Object.entries(node.set ?? {})) this.#save(name, this.#filled(value))
        return yield* this.#leave(node, null)
      case 'act':
        return yield* this.#act(node)
      case 'end':
        yield* this.#speak(node)
        return this.#end('end_node')
      case 'listen':
        yield* this.#speak(node)
        this.#state.phase = 'listening'
        return
      case 'converse':
        yield* this.#speak(node)
        return yield* this.#converse(node)
      case undefined:
        return this.#end('error')
    }
  }

  /** Leaves a node without input, or whose action had this outcome. */
  async *#leave(node: FlowNode, outcome: string | null, end: EndReason = 'error'): AsyncGenerator<FlowStep, void> {
    const choice = await this.#choice(node, null, outcome)
    const found =
      factualExit(choice) ?? (end === 'transfer' ? null : (exitOf(choice, 'always') ?? exitOf(choice, 'else')))
    if (found !== null) return yield* this.#follow(node, found)
    this.#end(end)
  }

  async *#act(node: FlowNode): AsyncGenerator<FlowStep, void> {
    yield* this.#speak(node)
    const { kind, name } = actionOf(node)
    const input = actionInput(node, value => this.#filled(value))
    const shown = actionInput(node, value => this.#shown(value))
    const request: ActionRequest = { nodeKey: node.key, kind, name, input, shown, node }
    const { status, outcome, output } = await this.#effects.perform(request)
    // Meanwhile the caller was with others: the keys were for them.
    if (typeOf(node)?.action !== undefined) this.#state.forgetsAhead = true
    const hidden = hidesInput(this.#flow, node)
    const entry = {
      node_key: node.key,
      kind,
      name,
      input: shown,
      output: hidden && output !== null ? REDACTED : output,
      dry_run: this.#effects.dryRun,
      status,
    }
    yield { step: 'action', entry }
    if (node.save_as !== undefined && status === 'succeeded') this.#save(node.save_as, output)
    yield* this.#leave(node, outcome, status === 'succeeded' ? typeOf(node)?.action?.ends : undefined)
  }

  async *#hear(node: FlowNode, input: CallerInput): AsyncGenerator<FlowStep, void> {
    const state = this.#state
    if (input.kind === 'hangup') return this.#end('caller_hangup')
    if (++state.inputs > LIMITS.inputs) return this.#end('loop_limit')
    state.nodesSinceInput = 0
    state.forgetsAhead = false
    if (input.kind === 'no_response') return yield* this.#silence(node)
    yield this.#turn(node, 'customer', input.kind, this.#shownInput(node, input))
    const before = state.variables
    const isWrongMode = !modesOf(node).includes(input.kind)
    if (node.save_as !== undefined && !isWrongMode && typeOf(node)?.behaviour === 'listen') {
      this.#save(node.save_as, input.kind === 'speech' ? input.text.trim() : input.digits)
    }
    const choice = await this.#choice(node, input, null)
    const found = factualExit(choice) ?? soundAlikeExit(choice) ?? (await judgedExit(choice, this.#effects))
    if (found !== null) return yield* this.#follow(node, found)
    if (typeOf(node)?.behaviour === 'converse') return yield* this.#converse(node)
    const any = isWrongMode ? null : exitOf(choice, 'always')
    if (any !== null) return yield* this.#follow(node, any)
    const other = exitOf(choice, 'no_match') ?? exitOf(choice, 'else')
    if (other?.via !== 'else') state.variables = before
    state.forgetsAhead = true
    yield* this.#again(node, other, other === null ? DEFAULT_RETRIES : 0, 'loop_limit')
  }

  async *#silence(node: FlowNode): AsyncGenerator<FlowStep, void> {
    const choice = await this.#choice(node, { kind: 'no_response' }, null)
    const own = exitOf(choice, 'no_response')
    const found = own ?? exitOf(choice, 'else')
    yield* this.#again(node, found, own === null ? DEFAULT_RETRIES : 0, 'no_response_limit')
  }

  /** Asks again as often as the node allows, then takes the exit for a caller who gave no answer. */
  async *#again(node: FlowNode, then: Chosen | null, retries: number, end: EndReason): AsyncGenerator<FlowStep, void> {
    if (this.#state.retries < (node.input?.max_retries ?? retries)) {
      this.#state.retries++
      if (node.script === undefined && node.type === 'ai') return yield* this.#converse(node)
      return yield* this.#speak(node)
    }
    if (then !== null) return yield* this.#follow(node, then)
    this.#end(end)
  }

  /** The model's next line or, if it has reached its goal or cannot continue, the exit. */
  async *#converse(node: FlowNode): AsyncGenerator<FlowStep, void> {
    const state = this.#state
    const { settings } = this.#flow.graph
    // In phase `replying`, the line was in progress before the process died.
    if (state.phase !== 'replying' && ++state.replies > LIMITS.repliesAtNode) return this.#end('loop_limit')
    state.phase = 'replying'
    const request = {
      goal: String(this.#shown(node.ai?.goal ?? '')),
      model: node.ai?.model ?? null,
      instructions: settings.instructions ?? '',
      language: settings.language ?? '',
      history: state.history,
    }
    const reply = await this.#effects.converse(request, this.#listenFor(node))
    state.phase = 'listening'
    if (isModelFailure(reply)) return yield* this.#leave(node, 'error')
    for (const tool of reply.tools ?? []) yield this.#toolUse(node, tool)
    if (reply.text !== '') yield this.#turn(node, 'assistant', 'ai', reply.text)
    if (!reply.done) return
    if (node.save_as !== undefined && reply.value !== null) this.#save(node.save_as, reply.value)
    yield* this.#leave(node, 'done')
  }

  #toolUse(node: FlowNode, { name, input, output, status }: ToolUse): FlowStep {
    const { dryRun } = this.#effects
    return {
      step: 'action',
      entry: { node_key: node.key, kind: 'tool', name, input, output, dry_run: dryRun, status },
    }
  }

  async *#speak(node: FlowNode): AsyncGenerator<FlowStep, void> {
    const assetId = node.asset_id ?? null
    const script = node.script ?? ''
    if (script === '' && assetId === null) return
    const line = { nodeKey: node.key, text: String(this.#filled(script)), assetId }
    await (assetId === null ? this.#effects.say(line) : this.#effects.play(line))
    const shown = script === '' ? (node.label ?? `[${assetId}]`) : String(this.#shown(script))
    yield this.#turn(node, 'assistant', 'script', shown)
  }

  #turn(node: FlowNode, role: TurnEntry['role'], source: TurnEntry['source'], text: string): FlowStep {
    const { history } = this.#state
    history.push({ role, text })
    if (history.length > LIMITS.history) history.shift()
    return { step: 'turn', entry: { node_key: node.key, role, source, text } }
  }

  #shownInput(node: FlowNode, input: CallerInput & { kind: 'speech' | 'dtmf' }): string {
    const hidden = hidesInput(this.#flow, node)
    if (input.kind === 'dtmf') return hidden ? '*'.repeat(input.digits.length) : input.digits
    return hidden ? REDACTED : input.text
  }

  #listenFor(node: FlowNode): CollectRequest {
    const conditions = [...(this.#flow.exits.get(node.key) ?? []), ...this.#flow.globals]
    const ahead = modesOf(node).includes('dtmf') ? 'take' : 'keep'
    return {
      nodeKey: node.key,
      modes: modesOf(node),
      timeoutMs: node.input?.timeout_ms ?? DEFAULT_TIMEOUT_MS,
      bargeIn: node.input?.barge_in ?? true,
      sensitive: hidesInput(this.#flow, node),
      options: node.type === 'menu' || node.save_as === undefined ? conditions.flatMap(digitsOf) : [],
      ahead: this.#state.forgetsAhead === true ? 'forget' : ahead,
      hidesAhead: this.#flow.asksSecret,
    }
  }

  async #choice(node: FlowNode, input: CallerInput | null, outcome: string | null): Promise<Choice> {
    const facts = { input, variables: this.#state.variables, outcome, isOpen: await this.#effects.isOpen() }
    return { flow: this.#flow, node, state: this.#state, facts, mayJudge: !hidesInput(this.#flow, node) }
  }

  #save(name: string, value: FlowValue): void {
    this.#state.variables = { ...this.#state.variables, [name]: value }
  }

  #filled = (value: FlowValue): FlowValue => (typeof value === 'string' ? fill(value, this.#state.variables) : value)

  #shown = (value: FlowValue): FlowValue =>
    typeof value === 'string' ? fill(value, this.#state.variables, this.#flow.sensitive) : value
}

const modesOf = (node: FlowNode): readonly ('speech' | 'dtmf')[] => node.input?.modes ?? ['speech', 'dtmf']

const digitsOf = ({ transition: { condition } }: { transition: { condition: { digits?: string } } }): string[] =>
  condition.digits === undefined ? [] : [condition.digits]
