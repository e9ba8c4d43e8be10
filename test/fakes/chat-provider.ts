import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A model's answer: words, tool calls, or an HTTP status. */
export type ChatAnswer = { text: string } | { tool: string; input: object } | { status: number }

type Answerer = (asked: ChatAsked) => ChatAnswer | Promise<ChatAnswer>

export interface ChatAsked {
  model: string
  messages: { role: string; content?: unknown }[]
}

/** A provider of language models as OpenAI documents it: `/chat/completions`, streamed. The test sets what it answers, and when. */
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
        response.writeHead(given.status).end('{"error":{"message":"no"}}')
        return
      }
      const delta =
        'text' in given
          ? { content: given.text }
          : {
              tool_calls: [
                {
                  index: 0,
                  id: `c${this.asked.length}`,
                  function: { name: given.tool, arguments: JSON.stringify(given.input) },
                },
              ],
            }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`data: ${JSON.stringify({ choices: [{ delta }] })}\n\ndata: [DONE]\n\n`)
    })
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
