import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { BrowserServer } from '../../../media/browsers/browser-server.ts'
import { suite } from '../../harness.ts'
import { LocalMedia } from '../local-media.ts'

const test = suite('media/browsers/browser-server')

/** A server that calls `connecting` with the ID of each page that waits. */
async function serverWith(
  connecting: (server: BrowserServer, browserId: string) => void,
  maxConnections?: number,
  hasRoom: (use: 'call' | 'phone') => boolean = () => true,
  trustedProxies = ['127.0.0.0/8'],
): Promise<BrowserServer> {
  const server: BrowserServer = new BrowserServer({
    hosts: ['127.0.0.1'],
    port: 0,
    trustedProxies,
    publicUrl: 'https://tandem.test',
    now: () => performance.now(),
    hasRoom,
    connecting: ({ browserId }) => connecting(server, browserId),
    ...(maxConnections === undefined ? {} : { maxConnections }),
  })
  await server.listen()
  return server
}

/** A client that never closes its own half. */
async function knock(server: BrowserServer, path: string, key: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: server.port, allowHalfOpen: true })
  await once(socket, 'connect')
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  )
  return socket
}

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='

async function statusOf(socket: Socket): Promise<string> {
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return bytes.toString('latin1').split(' ')[1]!
}

test('a page for which there is no call capacity is refused with 429, and with the address of what that means', async () => {
  const server = await serverWith(
    () => {},
    undefined,
    () => false,
  )
  const page = await knock(server, '/v1/web_calls?client_token=t', KEY)
  const [bytes] = (await once(page, 'data')) as [Buffer]
  const [head = '', body = ''] = bytes.toString('latin1').split('\r\n\r\n')
  assert.match(head, /^HTTP\/1\.1 429 /)
  assert.match(head, /Retry-After: 5/)
  const { error } = JSON.parse(body)
  assert.equal([error.type, error.code], ['rate_limit_error', 'capacity_exhausted'])
  assert.is(error.doc_url, 'https://tandem.test/docs/errors#capacity_exhausted')
  page.destroy()
  server.close()
})

test('every error answers in the form of all: what is not HTTP, no upgrade, an unknown path, no token, no handshake', async () => {
  const server = await serverWith((at, id) => at.admit(id, () => {}))
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key'
  for (const [request, status, code] of [
    ['hello', 400, 'request_malformed'],
    ['GET /v1/web_calls HTTP/1.1\r\nHost: here', 426, 'request_malformed'],
    ['GET /v1/nowhere HTTP/1.1\r\nHost: here', 404, 'resource_missing'],
    [`GET /v1/web_calls HTTP/1.1\r\nHost: here\r\n${upgrade}: ${KEY}`, 401, 'client_token_invalid'],
    [`GET /v1/web_calls?client_token=t HTTP/1.1\r\nHost: here\r\n${upgrade}: short`, 400, 'request_malformed'],
  ] as const) {
    const socket = connect({ host: '127.0.0.1', port: server.port })
    let got = ''
    socket.on('data', bytes => (got += bytes))
    socket.write(`${request}\r\n\r\n`)
    await once(socket, 'close')
    const [head = '', ...rest] = got.split('\r\n\r\n')
    assert.match(head, new RegExp(`^HTTP/1\\.1 ${status} `), request)
    if (status === 426) assert.match(head, /^upgrade: websocket\r?$/im, 'RFC 9110 §15.5.22')
    const { error } = JSON.parse(/\{.*\}/s.exec(rest.join(''))![0])
    assert.equal([error.code, error.param, error.doc_url], [code, null, `https://tandem.test/docs/errors#${code}`])
    assert.match(error.request_id, /^brw_[0-9a-z]{26}$/)
  }
  server.close()
})

test('a handshake that is none does not come to control, which would use up its token', async () => {
  const asked: string[] = []
  const server = await serverWith((at, id) => {
    asked.push(id)
    at.admit(id, () => {})
  })
  for (const wrong of ['Sec-WebSocket-Key: short', 'Sec-WebSocket-Version: 12', 'Sec-WebSocket-Protocol: a,,b']) {
    const [name = ''] = wrong.split(':')
    const right = `Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n`.split('\r\n')
    const fields = [wrong, ...right.filter(field => !field.startsWith(name))].join('\r\n')
    const socket = connect({ host: '127.0.0.1', port: server.port })
    socket.write(`GET /v1/web_calls?client_token=t HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\n${fields}\r\n\r\n`)
    assert.is(await statusOf(socket), '400', wrong)
    socket.destroy()
  }
  assert.equal([asked, server.counters.refused], [[], 3])
  const right = await knock(server, '/v1/web_calls?client_token=t', KEY)
  assert.equal([await statusOf(right), asked.length], ['101', 1])
  right.destroy()
  server.close()
})

test('while the engine threads are full, only pages that call are refused: a softphone that connects is no call yet; while media drains, both are', async () => {
  let inSlotsMs = 0
  const lateness = { clocks: () => ({ slots: 0, late: 0, inSlotsMs: [inSlotsMs] }), legs: () => 1000 }
  const media = await LocalMedia.open({}, { lateness })
  const { switchboard } = media
  const server = await serverWith(
    (at, id) => at.admit(id, () => {}),
    undefined,
    use => switchboard.takesPage(use),
  )
  const statuses = async (): Promise<string[]> => {
    const pages = []
    for (const path of ['/v1/web_calls', '/v1/softphones']) {
      const page = await knock(server, `${path}?client_token=t`, KEY)
      pages.push(await statusOf(page))
      page.destroy()
    }
    return pages
  }
  switchboard.lookAtClocks()
  assert.equal(await statuses(), ['101', '101'])
  inSlotsMs = 1e6
  switchboard.lookAtClocks()
  assert.equal(await statuses(), ['429', '101'])
  switchboard.lookAtClocks()
  assert.equal(await statuses(), ['101', '101'], 'they have time again')
  switchboard.drain()
  assert.equal(await statuses(), ['429', '429'])
  server.close()
  await media.close()
})

test('a format that there is not is refused, and its token is not used', async () => {
  const asked: string[] = []
  const server = await serverWith((_, id) => asked.push(id))
  const page = await knock(server, '/v1/web_calls?client_token=t&format=opus', KEY)
  const [bytes] = (await once(page, 'data')) as [Buffer]
  const [head = '', body = ''] = bytes.toString('latin1').split('\r\n\r\n')
  assert.match(head, /^HTTP\/1\.1 400 /)
  const { error } = JSON.parse(body)
  assert.equal([error.code, error.param, asked], ['parameter_invalid', 'format', []])
  page.destroy()
  server.close()
})

test('a page that is refused and keeps its half of the connection open holds nothing of ours', async () => {
  const refused = { error: { code: 'client_token_used' } }
  const server = await serverWith((at, id) => at.refuse(id, 401, refused))
  const cases = [
    ['/v1/web_calls?client_token=t', '401'],
    ['/v1/nowhere', '404'],
  ] as const
  for (const [path, status] of cases) {
    const socket = await knock(server, path, KEY)
    assert.is(await statusOf(socket), status)
    // Writing to a connection that is gone causes a reset.
    socket.on('error', () => {})
    const timer = setInterval(() => socket.write('more'), 5)
    await new Promise(resolve => socket.once('close', resolve))
    clearInterval(timer)
  }
  server.close()
})

test('there are so many connections, silent ones included; a further one is closed and counted', async () => {
  const server = await serverWith(() => {}, 2)
  const open = () => connect({ host: '127.0.0.1', port: server.port })
  const silent = [open(), open()]
  for (const socket of silent) await once(socket, 'connect')
  const further = open()
  further.on('error', () => {})
  await once(further, 'close')
  assert.is(server.counters.refused, 1)
  for (const socket of silent) socket.destroy()
  server.close()
})

test('one network has 100 connections whose token nobody has judged; another network is let in, and so is it behind one that is admitted', async () => {
  let admits = false
  const judge = (at: BrowserServer, id: string): void => {
    if (admits) at.admit(id, () => {})
  }
  const server = await serverWith(judge, undefined, undefined, [])
  const from = (localAddress: string): Socket => {
    const socket = connect({ host: '127.0.0.1', port: server.port, localAddress })
    socket.on('error', () => {})
    return socket
  }
  const open = async (localAddress: string): Promise<Socket> => {
    const socket = from(localAddress)
    await once(socket, 'connect')
    return socket
  }
  const isLetIn = async (socket: Socket): Promise<boolean> => {
    socket.write(
      `GET /v1/web_calls?client_token=t HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`,
    )
    return Promise.race([
      once(socket, 'data').then(([bytes]) => String(bytes).includes(' 101 ')),
      once(socket, 'close').then(() => false),
    ])
  }
  const silent: Socket[] = []
  for (let n = 0; n < 100; n++) silent.push(await open('127.0.0.1'))
  admits = true
  const further = from('127.0.0.1')
  await once(further, 'close')
  const other = await open('127.0.0.2')
  assert.ok(await isLetIn(other), 'another network')
  assert.ok(await isLetIn(silent[0]!), 'it was in before')
  const next = await open('127.0.0.1')
  assert.ok(await isLetIn(next), 'who was admitted makes room')
  for (const socket of [...silent, other, next]) socket.destroy()
  server.close()
})

test.run()
