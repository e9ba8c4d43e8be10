import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface EmbeddingsAsked {
  model: string
  input: string[]
  encoding_format?: string
}

/** Its answer: vectors of the texts, an HTTP status, any body, or none at all. */
export type EmbeddingsAnswer = { vectors: number[][] } | { status: number } | { body: string } | 'nothing'

type Answering = (asked: EmbeddingsAsked) => EmbeddingsAnswer | Promise<EmbeddingsAnswer>

/** A provider of embeddings as OpenAI documents it: `/embeddings`. The test sets the vectors. */
export class EmbeddingsProvider {
  readonly asked: EmbeddingsAsked[] = []
  readonly keys: (string | undefined)[] = []
  readonly #server: Server

  private constructor(answer: Answering) {
    this.#server = createServer(async (request, response) => {
      let body = ''
      for await (const part of request) body += part
      if (request.url !== '/v1/embeddings') {
        response.writeHead(404).end()
        return
      }
      const asked = JSON.parse(body) as EmbeddingsAsked
      this.keys.push(request.headers.authorization)
      this.asked.push(asked)
      const given = await answer(asked)
      if (given === 'nothing') return
      if ('status' in given) {
        response.writeHead(given.status).end('{"error":{"message":"no"}}')
        return
      }
      response.writeHead(200, { 'content-type': 'application/json' })
      if ('body' in given) {
        response.end(given.body)
        return
      }
      const data = given.vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }))
      const tokens = asked.input.reduce((sum, text) => sum + text.split(' ').length, 0)
      const usage = { prompt_tokens: tokens, total_tokens: tokens }
      // In another order than the texts: `index` says to which one a vector belongs.
      response.end(JSON.stringify({ object: 'list', data: data.reverse(), model: asked.model, usage }))
    })
  }

  static async listen(answer: Answering): Promise<EmbeddingsProvider> {
    const provider = new EmbeddingsProvider(answer)
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
