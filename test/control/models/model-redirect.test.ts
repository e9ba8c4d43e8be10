import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { OpenAiClient } from '../../../control/models/openai-client.ts'
import { suite } from '../../harness.ts'

const test = suite('control/models/model-redirect')

async function listening(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

for (const status of [302, 307, 308]) {
  test(`a provider that answers ${status} is not followed: what callers say, and its key, go nowhere else`, async () => {
    let elsewhereAsked = 0
    const elsewhere = createServer((_, response) => {
      elsewhereAsked++
      response.end('{"choices":[{"message":{"content":"Hello."}}]}')
    })
    const location = await listening(elsewhere)
    let asked = 0
    const provider = createServer((_, response) => {
      asked++
      response.writeHead(status, { location }).end()
    })
    const to = { baseUrl: await listening(provider), apiKey: 'k' }
    for (const api of ['chat', 'responses'] as const) {
      for (const form of ['streamed', 'whole'] as const) {
        const messages = [{ role: 'customer' as const, text: 'My card is lost.' }]
        const request = { instructions: 'Answer.', passages: [], messages, tools: [], form }
        const model = new OpenAiClient(to).model({ model: 'm', temperature: null, api, priority: false })
        const parts = []
        for await (const part of model.chat(request, new AbortController().signal)) parts.push(part)
        assert.equal(
          parts.map(part => part.kind === 'failure' && part.failure.failure),
          ['unavailable'],
          `${api} ${form}`,
        )
      }
    }
    assert.equal([asked, elsewhereAsked], [4, 0])
    for (const server of [provider, elsewhere]) {
      server.closeAllConnections()
      server.close()
    }
  })
}

test.run()
