import { createServer, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { httpPost, type PostOptions } from '../../../control/webhooks/http-post.ts'
import type { ResolveAll } from '../../../media/protocol.ts'
import { WebhookReceiver } from '../../fakes/webhook-receiver.ts'
import { suite } from '../../harness.ts'

const test = suite('control/webhooks/http-post')

const receiver = await new WebhookReceiver().listen()
test.after(() => receiver.close())
test.beforeEach(() => {
  receiver.say(204)
  receiver.received.length = 0
})

const LIVE = { publicOnly: true, allowed: [] }
const ANY = { publicOnly: false, allowed: [] }

const post = (url: string, more: Partial<PostOptions> = {}) =>
  httpPost(
    { url, headers: { 'content-type': 'application/json', 'webhook-id': 'evt_1' }, body: '{"é":1}' },
    { addresses: ANY, timeoutMs: 5000, signal: new AbortController().signal, ...more },
  )

const errorOf = async (outcome: ReturnType<typeof post>): Promise<string> => {
  const found = await outcome
  return 'error' in found ? found.error : String(found.status)
}

/** A resolver that gives these answers, one after the other. */
const answering =
  (...answers: string[][]): ResolveAll =>
  (_hostname, _options, callback) => {
    const addresses = answers.length > 1 ? answers.shift()! : answers[0]!
    callback(
      null,
      addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }

test('the body arrives byte by byte with its headers', async () => {
  receiver.answer = response => response.writeHead(200, { 'retry-after': '7' }).end('thanks')
  assert.equal(await post(`${receiver.url}/a?b=c`), {
    status: 200,
    body: 'thanks',
    retryAfter: '7',
    isFromPublic: false,
  })
  const [got] = receiver.received
  assert.equal([got?.path, got?.body, got?.headers['webhook-id']], ['/a?b=c', '{"é":1}', 'evt_1'])
})

test('a redirect is not followed', async () => {
  receiver.answer = (response, { path }) =>
    response.writeHead(path === '/first' ? 307 : 200, { location: `${receiver.url}/second` }).end()
  assert.is(await errorOf(post(`${receiver.url}/first`)), '307')
  assert.is(receiver.received.length, 1)
})

test('in live mode a private, loopback or link-local address is refused, in whatever form it is written', async () => {
  const { port } = receiver
  const hosts = ['127.0.0.1', '0x7f.1', '2130706433', '[::1]', '[::ffff:127.0.0.1]', '10.1.2.3', '169.254.169.254']
  for (const host of hosts) {
    assert.is(await errorOf(post(`http://${host}:${port}/`, { addresses: LIVE })), 'address_not_allowed', host)
  }
  assert.is(receiver.received.length, 0)
})

test('a name is judged by the address that is dialled, also when its answer has changed since it was checked', async () => {
  const lookup = answering(['93.184.216.34'], ['127.0.0.1'])
  lookup('rebinding.test', { all: true }, (_error, [first]) => assert.is(first?.address, '93.184.216.34'))
  const outcome = await post(`http://rebinding.test:${receiver.port}/`, { addresses: LIVE, lookup })
  assert.equal(outcome, {
    error: 'address_not_allowed',
    message: 'rebinding.test has no address that may be dialled',
  })
  assert.is(receiver.received.length, 0)
})

test('of the addresses of a name only the allowed ones are dialled', async () => {
  const addresses = { publicOnly: true, allowed: ['127.0.0.1/32'] }
  const lookup = answering(['127.0.0.2', '::1', '127.0.0.1'])
  assert.is(await errorOf(post(`http://mixed.test:${receiver.port}/`, { addresses, lookup })), '204')
})

test('an endpoint that does not answer in time fails, and its connection is closed', async () => {
  let closed = (): void => {}
  const gone = new Promise<void>(resolve => {
    closed = resolve
  })
  receiver.answer = response => response.on('close', closed)
  assert.is(await errorOf(post(receiver.url, { timeoutMs: 50 })), 'timed_out')
  await gone
})

test('the time-out counts from the look-up of the name', async () => {
  const lookup: ResolveAll = () => {}
  assert.is(await errorOf(post('http://nowhere.test/', { timeoutMs: 50, lookup })), 'timed_out')
})

test('the status decides when the body does not end', async () => {
  receiver.answer = response => response.writeHead(200).write('a')
  assert.equal(await post(receiver.url, { timeoutMs: 100 }), {
    status: 200,
    body: 'a',
    retryAfter: undefined,
    isFromPublic: false,
  })
})

test('of an endless body no more than 16 KiB are read', async () => {
  receiver.answer = response => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(8192, 120)));
    }
    response.on('drain', more)
    more()
  }
  const outcome = await post(receiver.url)
  assert.is('body' in outcome ? outcome.body.length : 0, 16 * 1024)
})

test('a refused connection, garbage and a connection closed without an answer are failures, never exceptions', async () => {
  const peers: ((socket: Socket) => void)[] = [
    socket => socket.end('SSH-2.0-server\r\n'),
    socket => socket.destroy(),
    socket => socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    socket => socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`),
  ]
  for (const peer of peers) {
    const server = createServer(socket => {
      socket.on('error', () => {})
      socket.once('data', () => peer(socket))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    assert.is(await errorOf(post(`http://127.0.0.1:${port}/`)), 'connection_failed')
    server.close()
    await new Promise(resolve => server.once('close', resolve))
    assert.is(await errorOf(post(`http://127.0.0.1:${port}/`)), 'connection_failed')
  }
})

test('a request that is given up ends at once', async () => {
  receiver.answer = () => {}
  const controller = new AbortController()
  const outcome = post(receiver.url, { signal: controller.signal })
  controller.abort()
  assert.is(await errorOf(outcome), 'aborted')
  assert.is(await errorOf(post(receiver.url, { signal: controller.signal })), 'aborted')
})

/** A server that answers each request on its connection, and counts them. */
async function countingServer() {
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('data', () => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as { port: number }
  const close = (): void => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}/`, sockets, close }
}

test('repeatable requests that follow each other share a connection; all others have one of their own', async () => {
  const { url, sockets, close } = await countingServer()
  for (let n = 0; n < 3; n++) assert.is(await errorOf(post(url, { isRepeatable: true })), '200')
  assert.is(sockets.length, 1)
  assert.is(await errorOf(post(url)), '200')
  assert.is(sockets.length, 2)
  await Promise.all([1, 2].map(() => post(url, { isRepeatable: true })))
  assert.is(sockets.length, 3, 'two at once have two')
  assert.is(await errorOf(post(url, { isRepeatable: true, addresses: LIVE })), 'address_not_allowed')
  close()
})

test('a connection that its far end closes instead of an answer costs a repeatable request nothing', async () => {
  const { url, sockets, close } = await countingServer()
  assert.is(await errorOf(post(url, { isRepeatable: true })), '200')
  const [first] = sockets
  first!.removeAllListeners('data')
  first!.on('data', () => first!.destroy())
  assert.is(await errorOf(post(url, { isRepeatable: true })), '200')
  assert.is(sockets.length, 2)
  close()
})

test.run()
