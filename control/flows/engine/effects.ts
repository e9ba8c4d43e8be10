import type { ModelFailure } from '../../models/model.ts'
import type { CallerInput } from './conditions.ts'
import type { FlowNode, FlowValue } from './graph.ts'
import type { FlowModel, ModelReply, ReplyRequest } from './model.ts'
import type { NodeActionKind } from './node-type.ts'

/** What is said to the caller, unredacted. The engine's steps have the redacted text. */
export interface Line {
  nodeKey: string
  text: string
  /** A recording of it. */
  assetId: string | null
}

/** The input that the engine waits for. */
export interface CollectRequest {
  nodeKey: string
  modes: readonly ('speech' | 'dtmf')[]
  /** Silence of this long [ms] is `no_response`. */
  timeoutMs: number
  bargeIn: boolean
  /** Nothing that is entered may be recorded or logged. */
  sensitive: boolean
  /** The key sequences that mean something here; empty: any, up to `#`. */
  options: readonly string[]
}

export type ActionKind = 'api' | 'tool' | NodeActionKind

export interface ActionRequest {
  nodeKey: string
  kind: ActionKind
  /** The kind of the action or tool; for the others the type of the node's target, or the kind again. */
  name: string
  input: Record<string, FlowValue>
  node: FlowNode
}

export interface ActionResult {
  status: 'succeeded' | 'failed'
  /** The value for `outcome` conditions, for example `success`, `busy`. */
  outcome: string
  output: FlowValue
}

/**
 * A flow's effects on the world; the engine has no others. A simulation's are dry, a live call's are real. An effect that fails
 * returns a result; one that throws is a bug.
 */
export interface FlowEffects {
  /** Whether actions touch nothing. */
  readonly dryRun: boolean
  readonly model: Pick<FlowModel, 'judge'>
  say(line: Line): Promise<void>
  play(line: Line): Promise<void>
  /**
   * The model's next line at a node of type `ai`, said as it is made. Resolves when it has been heard, or when the caller talks over
   * it: then the text is what was heard, and the goal is not reached. `listen`: what the caller may do meanwhile.
   */
  converse(request: ReplyRequest, listen: CollectRequest): Promise<ModelReply | ModelFailure>
  /** Resolves when the caller did something, or was silent; null: no more for now, the run is to be continued later. */
  collect(request: CollectRequest): Promise<CallerInput | null>
  perform(request: ActionRequest): Promise<ActionResult>
  /** Whether business hours are open now. */
  isOpen(): Promise<boolean>
}
