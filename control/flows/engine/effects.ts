import type { ModelFailure } from '../../models/model.ts'
import type { CallerInput } from './conditions.ts'
import type { FlowNode, FlowValue } from './graph.ts'
import type { FlowModel, ModelReply, ReplyRequest } from './model.ts'
import type { NodeActionKind } from './node-type.ts'

/** Text to be said to the caller, unredacted. The engine's steps contain the redacted text. */
export interface Line {
  nodeKey: string
  text: string
  /** The audio asset with a recording of it; null: none. */
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
  /** The key sequences that are options here; empty: any keys, up to `#`. */
  options: readonly string[]
  /** What becomes of the keys since the question before: they answer this one, wait for the next, or are forgotten. */
  ahead: 'take' | 'keep' | 'forget'
  /** The next question may ask for a secret. */
  hidesAhead: boolean
}

export type ActionKind = 'api' | 'tool' | NodeActionKind

export interface ActionRequest {
  nodeKey: string
  kind: ActionKind
  /** Name of the action or tool; for other kinds the type of the node's target, or of the node. */
  name: string
  input: Record<string, FlowValue>
  /** The input as it is reported: sensitive values are redacted. Absent: there are none. */
  shown?: Record<string, FlowValue>
  node: FlowNode
}

export interface ActionResult {
  status: 'succeeded' | 'failed'
  /** The value for `outcome` conditions, for example `success`, `busy`. */
  outcome: string
  output: FlowValue
}

/** All effects of a flow on the world. A simulation's are dry, a live call's are real. An effect that fails returns a result; one that throws is a bug. */
export interface FlowEffects {
  /** Whether actions touch nothing. */
  readonly dryRun: boolean
  readonly model: Pick<FlowModel, 'judge'>
  say(line: Line): Promise<void>
  play(line: Line): Promise<void>
  /**
   * The model's next line at a node of type `ai`, said while it is generated. Resolves once it has been heard, or is interrupted by the
   * caller: then the text is what was heard, and the goal is not reached. `listen`: input of the caller meanwhile.
   */
  converse(request: ReplyRequest, listen: CollectRequest): Promise<ModelReply | ModelFailure>
  /** Resolves with the caller's input or silence; null: there is no input yet, and the run continues later. */
  collect(request: CollectRequest): Promise<CallerInput | null>
  perform(request: ActionRequest): Promise<ActionResult>
  /** Whether business hours are open now. */
  isOpen(): Promise<boolean>
}
