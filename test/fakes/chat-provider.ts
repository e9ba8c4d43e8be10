import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A model's answer: words, tool calls, or an HTTP status. `breaks`: how its stream ends before it is whole: with an error of the provider, without any
 * end, or because it is as long as it may be.
 */
export type ChatAnswer = ({ text: string } | { tool: string; input: object } | { status: number }) & {
  breaks?: 'error' | 'cut' | 'length'
}

type Answerer = (asked: ChatAsked) => ChatAnswer | Promise<ChatAnswer>

export interface ChatAsked {
  model: string
  messages: { role: string; content?: unknown }[]
  stream?: boolean
  stream_options?: { include_usage?: boolean }
}

const ERROR = { error: { message: 'no', type: 'server_error', param: null, code: null } }
const USAGE = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 }
/** Number of pieces of what is streamed. */
const PIECES = 3

/**
 * A provider of language models as OpenAI documents it: `/chat/completions`, streamed or whole. Words and arguments of a stream come in pieces, behind an event with the role
 * alone; the last one with a choice tells why the answer ends, and the tokens follow it, if they were asked for, in an event without a choice. The
 * test sets what it answers, and when.
 */
export class ChatProvider {
  readonly asked: ChatAsked[] = []
  readonly #server: Server

  private constructor(answer: Answerer) {
    this.#server = createServer(async (request, response) => {
      let body = ''
      for await (const part of request) body += part
      const asked = JSON.parse(body) as ChatAsked
      this.asked.push(asked)
      const given = await answer(asked)
      if ('status' in given) {
        response.writeHead(given.status, { 'content-type': 'application/json' }).end(JSON.stringify(ERROR))
        return
      }
      if (request.url !== '/v1/chat/completions') throw new Error(`${request.url} is not spoken`)
      response.writeHead(200, { 'content-type': asked.stream ? 'text/event-stream' : 'application/json' })
      if (asked.stream) this.#stream(response, asked, given)
      else response.end(JSON.stringify(this.#whole(asked, given)))
    })
  }

  #whole({ model }: ChatAsked, given: Exclude<ChatAnswer, { status: number }>): object {
    const id = `${this.asked.length}`
    const said =
      'text' in given
        ? { content: given.text }
        : {
            content: null,
            tool_calls: [
              {
                id: `call_${id}`,
                type: 'function',
                function: { name: given.tool, arguments: JSON.stringify(given.input) },
              },
            ],
          }
    const finish_reason = given.breaks === 'length' ? 'length' : 'text' in given ? 'stop' : 'tool_calls'
    const choice = { index: 0, message: { role: 'assistant', ...said, refusal: null }, logprobs: null, finish_reason }
    return { id: `chatcmpl-${id}`, object: 'chat.completion', created: 1, model, choices: [choice], usage: USAGE }
  }

  #stream(response: ServerResponse, asked: ChatAsked, given: Exclude<ChatAnswer, { status: number }>): void {
    const about = { id: `chatcmpl-${this.asked.length}`, object: 'chat.completion.chunk', model: asked.model }
    const tells = asked.stream_options?.include_usage === true
    const event = (data: object): void => void response.write(`data: ${JSON.stringify(data)}\n\n`)
    const chunk = (delta: object, finish_reason: string | null = null): void =>
      event({
        ...about,
        created: 1,
        choices: [{ index: 0, delta, logprobs: null, finish_reason }],
        ...(tells && { usage: null }),
      })
    chunk({ role: 'assistant', content: 'text' in given ? '' : null })
    const pieces = piecesOf('text' in given ? given.text : JSON.stringify(given.input))
    if ('tool' in given) {
      const called = { name: given.tool, arguments: '' }
      chunk({ tool_calls: [{ index: 0, id: `call_${this.asked.length}`, type: 'function', function: called }] })
    }
    for (const piece of given.breaks === undefined ? pieces : pieces.slice(0, -1)) {
      chunk('text' in given ? { content: piece } : { tool_calls: [{ index: 0, function: { arguments: piece } }] })
    }
    if (given.breaks === 'cut') {
      response.end()
      return
    }
    if (given.breaks === 'error') event(ERROR)
    else {
      chunk({}, given.breaks === 'length' ? 'length' : 'text' in given ? 'stop' : 'tool_calls')
      if (tells) event({ ...about, created: 1, choices: [], usage: USAGE })
    }
    response.end('data: [DONE]\n\n')
  }

  static async listen(answer: Answerer): Promise<ChatProvider> {
    const provider = new ChatProvider(answer)
    await new Promise<void>(resolve => provider.#server.listen(0, '127.0.0.1', resolve))
    return provider
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }
}

function piecesOf(text: string): string[] {
  const length = Math.ceil(text.length / PIECES)
  return Array.from({ length: PIECES }, (_, i) => text.slice(i * length, (i + 1) * length)).filter(
    piece => piece !== '',
  )
}
