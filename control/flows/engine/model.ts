import type { ModelFailure, ModelLine } from '../../models/model.ts'
import type { FlowValue } from './graph.ts'

/** The engine's requests to a language model. Their texts are redacted; implementations must not log them. */
export interface FlowModel {
  /** The next line at a node of type `ai`; `listener` gets it as it is made, if the model can. */
  reply(request: ReplyRequest, listener?: ReplyListener): Promise<ModelReply | ModelFailure>
  /** Which of the intents the caller's line expresses. */
  judge(request: JudgeRequest): Promise<Judgement | ModelFailure>
}

/** Receives a line while it is generated. */
export interface ReplyListener {
  say: (sentence: string) => Promise<void>
  firstToken: () => void
  model: (name: string) => void
  tokens: (input: number, output: number) => void
  /** Aborted when nobody listens any more. */
  signal: AbortSignal
}

/** A tool of the assistant that a model has used. */
export interface ToolUse {
  name: string
  input: Record<string, FlowValue>
  output: string
  status: 'succeeded' | 'failed'
}

export interface ReplyRequest {
  goal: string
  /** The node's own model, which takes precedence over the assistant's. */
  model: string | null
  instructions: string
  language: string
  /** The call so far, the caller's last line included. */
  history: readonly ModelLine[]
}

export interface ModelReply {
  text: string
  /** Whether the goal is reached. */
  done: boolean
  /** The value that the node was to find out; null: none. */
  value: string | null
  /** Tools used before the text, in order. */
  tools?: readonly ToolUse[]
}

export interface JudgeRequest {
  text: string
  intents: readonly { description: string; examples: readonly string[] }[]
  history: readonly ModelLine[]
}

export interface Judgement {
  /** Index into `intents`; null: none of them. */
  intent: number | null
}

/** The model if no provider is configured. */
export const noModel: FlowModel = {
  reply: async () => ({ failure: 'unavailable', message: 'no model provider is configured' }),
  judge: async () => ({ failure: 'unavailable', message: 'no model provider is configured' }),
}
