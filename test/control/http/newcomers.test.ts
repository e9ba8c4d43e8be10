import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { createServer } from '../../../control/http/server.ts'
import { Newcomers } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'

const test = suite('control/http/newcomers')

async function listening(more: object = {}) {
  const app = await createServer({ log: silent, ...more })
  app.post('/echo', async request => request.body)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as { port: number }
  const sockets: Socket[] = []
  const dial = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port, localAddress })
    sockets.push(socket)
    socket.on('error', () => {})
    await once(socket, 'connect')
    return socket
  }
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    app.server.closeAllConnections()
    await app.close()
  }
  return { dial, close }
}

test('a body that drips is given up, and its connection closed', async () => {
  const { dial, close } = await listening({ requestMs: 200, checkMs: 50 })
  const socket = await dial('127.0.0.2')
  let got = ''
  socket.on('data', bytes => (got += bytes))
  socket.write('POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{')
  const drip = setInterval(() => socket.write(' '), 20)
  await once(socket, 'close')
  clearInterval(drip)
  assert.match(got, /^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"|^$/)
  await close()
})

test('what is not HTTP, or has too long a header, is told so in the form of all errors', async () => {
  const { dial, close } = await listening()
  for (const [text, status, code] of [
    ['GET /v1/calls?to=caf\u00e9 HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'request_malformed'],
    ['hello\r\n\r\n', 400, 'request_malformed'],
    [`GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['GET /v1/calls HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'request_malformed'],
    ['GET /none HTTP/1.1\r\nHost: a\r\nExpect: more\r\nConnection: close\r\n\r\n', 404, 'resource_missing'],
  ] as const) {
    const socket = await dial('127.0.0.2')
    let got = ''
    socket.on('data', bytes => (got += bytes))
    socket.write(text)
    await once(socket, 'close')
    const [head = '', body = ''] = got.split('\r\n\r\n')
    assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `))
    const { error } = JSON.parse(body)
    assert.equal([error.type, error.code, error.param], ['invalid_request_error', code, null])
    assert.match(head.toLowerCase(), `request-id: ${error.request_id}`)
    assert.match(head, /^service-version: 2026-11-01\r?$/im, 'every response echoes the version that rendered it')
  }
  await close()
})

test('one address that brings no key has 200 connections, and another finds room beside it', async () => {
  const { dial, close } = await listening()
  const closed: Promise<unknown>[] = []
  for (let n = 0; n < 200; n++) await dial('127.0.0.2')
  for (let n = 0; n < 5; n++) closed.push(once(await dial('127.0.0.2'), 'close'))
  await Promise.all(closed)
  const other = await dial('127.0.0.3')
  other.write('POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}')
  const [answer] = await once(other, 'data')
  assert.match(String(answer), /^HTTP\/1\.1 200 /)
  await close()
})

test('who has shown a key, or is gone, counts no more; proxies are not counted', () => {
  const newcomers = new Newcomers(2, ['10.0.0.0/8'])
  const make = (remoteAddress: string) => {
    const listeners: (() => void)[] = []
    const socket = { remoteAddress, once: (_: 'close', listener: () => void) => listeners.push(listener) }
    return { socket, close: () => listeners.forEach(listener => listener()) }
  }
  const [a, b, c] = [make('2001:db8::1'), make('2001:db8::2'), make('2001:db8::3')]
  assert.equal(
    [a, b, c].map(({ socket }) => newcomers.enter(socket)),
    [true, true, false],
    'of one /64',
  )
  newcomers.known(a.socket)
  assert.ok(newcomers.enter(c.socket))
  a.close()
  b.close()
  assert.ok(newcomers.enter(make('2001:db8::4').socket))
  assert.not(newcomers.enter(make('2001:db8::5').socket))
  for (let n = 0; n < 10; n++) assert.ok(newcomers.enter(make('10.0.0.1').socket))
  assert.is(newcomers.refused, 2)
})

test.run()
