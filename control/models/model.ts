/** A line of a call, as a model sees it. */
export interface ModelLine {
  role: 'assistant' | 'customer'
  text: string
}

/** What was said and done in a call so far, as a model sees it. */
export type ChatMessage =
  | ModelLine
  | { role: 'call'; id: string; name: string; input: Record<string, unknown> }
  | { role: 'result'; id: string; output: string }

export interface ChatTool {
  name: string
  description: string
  /** JSON Schema of the input. */
  parameters: Record<string, unknown>
}

export interface ChatRequest {
  instructions: string
  messages: readonly ChatMessage[]
  tools: readonly ChatTool[]
  /** Passages of the knowledge base that may contain the answer, best first. */
  passages: readonly string[]
  /** Further passages: with words of similar meaning, or all if there are few. For the offline model, to which their number costs nothing. */
  more?: () => Promise<readonly string[]>
  /** Form of the answer; absent: `streamed`. */
  form?: AnswerForm
  /** Time limit of the whole answer [ms]; absent: as long as a caller waits. */
  timeoutMs?: number
}

/** In pieces while it is generated, or whole. A JSON schema asks for "structured output", also whole. */
export type AnswerForm = 'streamed' | 'whole' | { name: string; schema: object }

/** A part of an answer as it arrives. A failure is the last part. */
export type ChatPart =
  | { kind: 'text'; text: string }
  | { kind: 'call'; id: string; name: string; input: Record<string, unknown> }
  | ({ kind: 'usage' } & TokenCounts)
  | { kind: 'failure'; failure: ModelFailure }

/** Token counts of an answer, as the provider reports them. */
export interface TokenCounts {
  inputTokens: number
  outputTokens: number
}

/** Why a model has not answered. */
export interface ModelFailure {
  failure: 'unavailable' | 'timeout' | 'bad_answer'
  message: string
}

export const isModelFailure = (value: object): value is ModelFailure => 'failure' in value

/** A model that streams its words. Never throws; `signal` cancels. */
export interface ChatModel {
  readonly name: string
  chat(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatPart>
}
