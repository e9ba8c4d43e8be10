// Sleeps most: it waits for keys.
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import type { Product } from '../../bench/product.ts'
import { curtain, endedCall } from '../e2e/scene.ts'
import { sharedProduct } from '../e2e/shared-product.ts'
import { missingPrograms, suite } from '../harness.ts'
import { Sipp } from './peers/sipp.ts'

const test = suite('interop/type-ahead')
// It sends keys through a raw socket.
const missing = missingPrograms('sipp') ?? (process.getuid?.() === 0 ? null : 'SIPp sends no keys without root')
const LIMIT = { timeoutMs: 60_000 }
const NUMBER = '1090'
const PIN = '80315'

let product: Product
let server: Server
/** Requests of the flow's action that wait for their answer. */
const asked: ServerResponse[] = []

test.before(async () => {
  if (missing !== null) return
  product = await sharedProduct()
  server = createServer((request, response) => {
    request.resume()
    asked.push(response)
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
})
test.after(async () => {
  server?.closeAllConnections()
  server?.close()
  await curtain(product)
})

const to = (next: string, condition: object = { kind: 'always' }) => ({ condition, next })
const input = { modes: ['dtmf'], timeout_ms: 20_000 }

/** Two menus and a PIN, and a server that is asked between the menus and the PIN. */
const desk = (url: string) => ({
  kind: 'ivr',
  nodes: [
    { key: 'start', type: 'start', transitions: [to('first')] },
    {
      key: 'first',
      type: 'menu',
      script: 'Press one for your account, two to leave.',
      input,
      transitions: [to('second', { kind: 'dtmf', digits: '1' }), to('wrong', { kind: 'else' })],
    },
    {
      key: 'second',
      type: 'menu',
      script: 'Press twenty two to hear what you owe, twenty three to pay.',
      input,
      transitions: [to('lookup', { kind: 'dtmf', digits: '22' }), to('wrong', { kind: 'else' })],
    },
    { key: 'lookup', type: 'action', action: { kind: 'api', name: 'lookup', url }, transitions: [to('pin')] },
    {
      key: 'pin',
      type: 'collect',
      script: 'Your PIN, and the hash key.',
      save_as: 'pin',
      input: { ...input, sensitive: true },
      transitions: [to('third')],
    },
    {
      key: 'third',
      type: 'menu',
      script: 'Press seven to go on.',
      input,
      transitions: [to('bye', { kind: 'dtmf', digits: '7' }), to('wrong', { kind: 'else' })],
    },
    { key: 'wrong', type: 'end', script: 'That was wrong.' },
    { key: 'bye', type: 'end', script: 'Goodbye.' },
  ],
})

const sentence =
  'a caller who types all answers as soon as the call is answered gets through: two menus, a PIN while a server is asked, another menu'
const run = async (): Promise<void> => {
  const { port } = server.address() as AddressInfo
  const graph = desk(`http://127.0.0.1:${port}/`)
  const flow = await product.ok('POST', '/flows', { name: 'Desk', kind: 'ivr', graph })
  await product.ok('POST', `/flows/${flow.id}/publish`, {})
  await product.ok('POST', '/inbound_routes', { match: { to: NUMBER }, target: { type: 'flow', id: flow.id } })
  const sipp = await Sipp.caller('typing', product.sip, { to: NUMBER, keys: { digits: `122${PIN}#7` } })
  const { id } = await product.until('the call', async () =>
    (await product.all('/calls?status=in_progress')).find(({ from }) => from.includes('sipp@')),
  )
  const keys = async (): Promise<string[]> => {
    const events = await product.all(`/calls/${id}/events`)
    return events.filter(({ type }) => type === 'call.dtmf').map(({ data }) => data.object.digit)
  }
  await product.until('the server is asked', async () => asked[0] ?? null)
  await product.until('all keys are typed', async () => ((await keys()).length === 10 ? true : null))
  asked[0]!.setHeader('content-type', 'application/json').end('{"owes": 3}')
  await endedCall(product, id)
  await sipp.passed()
  const flowRun = await product.ok('GET', `/calls/${id}/flow_run`)
  const heard = flowRun.turns.filter(({ role }: { role: string }) => role === 'customer')
  assert.equal(
    heard.map(({ node_key, text }: { node_key: string; text: string }) => [node_key, text]),
    [
      ['first', '1'],
      ['second', '22'],
      ['pin', '*'.repeat(PIN.length)],
      ['third', '7'],
    ],
  )
  assert.is(flowRun.current_node_key ?? flowRun.path.at(-1).node_key, 'bye')
  // Between the questions nobody knows yet which keys are the PIN.
  const shown = (await keys()).join('')
  assert.match(shown, /^1[2*]{2}\*{7}$/)
}

test(sentence, run, { ...LIMIT, missing })

test.run()
