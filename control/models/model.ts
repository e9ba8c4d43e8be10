/** A line of a call, as a model gets to see it. */
export interface ModelLine {
  role: 'assistant' | 'customer'
  text: string
}

/** What was said and done in a call so far, in the form that a model gets. */
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
  /** Passages of the knowledge base that may hold the answer, best first. */
  passages: readonly string[]
  /** Those that have words of like meaning, or all where there are few: for who reads them for nothing. */
  more?: () => Promise<readonly string[]>
  /** How the answer is to come; absent: `streamed`. */
  form?: AnswerForm
  /** For the whole answer [ms]; absent: what a caller waits for at most. */
  timeoutMs?: number
}

/** In pieces as it is made, or in one; a JSON schema is "structured output", in one piece too. */
export type AnswerForm = 'streamed' | 'whole' | { name: string; schema: object }

/** A piece of an answer as it comes. A failure is the last one. */
export type ChatPart =
  | { kind: 'text'; text: string }
  | { kind: 'call'; id: string; name: string; input: Record<string, unknown> }
  | ({ kind: 'usage' } & TokenCounts)
  | { kind: 'failure'; failure: ModelFailure }

/** Token counts of an answer, by the provider. */
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
