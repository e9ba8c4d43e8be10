import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import * as assert from 'uvu/assert'
import { WebSocket } from 'ws'
import { BrowserServer } from '../../../../media/browsers/browser-server.ts'
import { SipWebSockets, type SipWebSocketsOptions } from '../../../../media/signalling/endpoint/sip-websockets.ts'
import type { Peer } from '../../../../sip/user-agent.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/signalling/sip-websockets')
const HOST = '127.0.0.1'
const MESSAGE = 'OPTIONS sip:a@b.invalid SIP/2.0\r\n\r\n'
const OWN = 'https://tandem.test'

async function listening(more: Partial<SipWebSocketsOptions> = {}, origins = [OWN]) {
  const counters = { connectionsRefused: 0, connectionsStalled: 0, sendErrors: 0, slowPeers: 0, framesTooLarge: 0 }
  const received: { text: string; from: Peer }[] = []
  const failed: Peer[] = []
  const gone: Peer[] = []
  const sip = new SipWebSockets({
    receive: (bytes, from) => received.push({ text: Buffer.from(bytes).toString(), from }),
    failed: peer => failed.push(peer),
    gone: peer => gone.push(peer),
    isKnown: () => false,
    counters,
    ...more,
  })
  const server = new BrowserServer({
    hosts: [HOST],
    port: 0,
    trustedProxies: ['127.0.0.0/8'],
    publicUrl: OWN,
    now: () => performance.now(),
    hasRoom: () => true,
    connecting: () => {},
    sip: { origins, hasRoom: host => sip.hasRoom(host), accept: upgrade => sip.accept(upgrade) },
  })
  await server.listen()
  const open = (headers: Record<string, string> = {}, protocols = ['sip']): WebSocket =>
    new WebSocket(`ws://${HOST}:${server.port}/v1/sip`, protocols, { headers })
  const close = (): void => {
    sip.close()
    server.close()
  }
  return { sip, server, counters, received, failed, gone, open, close }
}

async function until(is: () => boolean): Promise<void> {
  while (!is()) await new Promise(later => setTimeout(later, 5))
}

/** The status that an upgrade is refused with; 101: it was not. */
async function statusOf(client: WebSocket): Promise<number> {
  client.on('error', () => {})
  return Promise.race([
    once(client, 'open').then(() => 101),
    once(client, 'unexpected-response').then(([, response]) => response.statusCode as number),
  ])
}

test('RFC 7118 §4.2: one message comes in each frame, text or binary, and answers go back over the same connection', async () => {
  const { sip, received, open, close } = await listening()
  const client = open()
  await once(client, 'open')
  assert.is(client.protocol, 'sip')
  client.send(MESSAGE)
  client.send(Buffer.from(MESSAGE))
  await until(() => received.length === 2)
  assert.equal(
    received.map(({ text }) => text),
    [MESSAGE, MESSAGE],
  )
  const { from } = received[0]!
  assert.equal([from.transport, from.host, from.local], ['ws', HOST, HOST])
  const answered = once(client, 'message')
  sip.send(Buffer.from('SIP/2.0 200 OK\r\n\r\n'), from)
  const [bytes, isBinary] = await answered
  assert.equal([bytes.toString(), isBinary], ['SIP/2.0 200 OK\r\n\r\n', false])
  client.close()
  close()
})

test('RFC 5626 §3.5.1: a double line end is answered with one, and is no message', async () => {
  const { received, open, close } = await listening()
  const client = open()
  await once(client, 'open')
  const answered = once(client, 'message')
  client.send('\r\n\r\n')
  assert.is(String((await answered)[0]), '\r\n')
  client.send(MESSAGE)
  await until(() => received.length > 0)
  assert.is(received.length, 1)
  client.close()
  close()
})

test('a client that is gone is told of once, and what is sent to it fails', async () => {
  const { sip, received, failed, gone, open, close } = await listening()
  const client = open()
  await once(client, 'open')
  client.send(MESSAGE)
  await until(() => received.length === 1)
  const { from } = received[0]!
  client.terminate()
  await until(() => gone.length === 1)
  assert.equal(gone, [from])
  const before = failed.length
  sip.send(Buffer.from(MESSAGE), from)
  await until(() => failed.length > before)
  assert.is(gone.length, 1)
  close()
})

test('who says nothing is closed and counted, and who does not answer pings is gone', async () => {
  const { counters, gone, received, server, open, close } = await listening({
    patienceMs: 1000,
    pingEveryMs: 30,
    pongWithinMs: 1000,
  })
  const silent = open()
  const live = open()
  await once(live, 'open')
  live.send(MESSAGE)
  await once(silent, 'close')
  assert.is(counters.connectionsStalled, 1)
  // A client that has sent something, and then reads nothing. Not a WebSocket library, which would answer pings by itself.
  const deaf = await deafClient(server.port)
  await until(() => gone.length === 1)
  assert.is(received.length, 2)
  assert.is(gone[0]!.port, deaf.port)
  assert.is(live.readyState, WebSocket.OPEN)
  deaf.socket.destroy()
  live.close()
  close()
})

/** Upgrades, sends one masked frame, and answers nothing more. */
async function deafClient(port: number): Promise<{ socket: Socket; port: number | undefined }> {
  const socket = connect({ host: HOST, port })
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(
    'GET /v1/sip HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: sip\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  await once(socket, 'data')
  socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | MESSAGE.length, 0, 0, 0, 0]), Buffer.from(MESSAGE)]))
  return { socket, port: socket.localPort }
}

test('pages of our own origin and programs come in, others where the operator says so; without the sub-protocol nobody', async () => {
  const { open, close } = await listening()
  const elsewhere = await listening({}, [OWN, 'https://crm.test'])
  const anywhere = await listening({}, ['*'])
  assert.is(await statusOf(open({ origin: OWN })), 101)
  assert.is(await statusOf(open()), 101)
  assert.is(await statusOf(open({ origin: 'https://crm.test' })), 403)
  assert.is(await statusOf(elsewhere.open({ origin: 'https://crm.test' })), 101)
  assert.is(await statusOf(anywhere.open({ origin: 'https://crm.test' })), 101)
  assert.is(await statusOf(open({}, [])), 400)
  assert.is(await statusOf(open({}, ['mqtt'])), 400)
  close()
  elsewhere.close()
  anywhere.close()
})

test('behind a proxy that is believed, a client has its own address, a port of its own, and TLS where the proxy has it', async () => {
  const { received, open, close } = await listening()
  const proxied = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }
  for (const client of [open(proxied), open(proxied)]) {
    await once(client, 'open')
    client.send(MESSAGE)
  }
  await until(() => received.length === 2)
  const [one, two] = received.map(({ from }) => from)
  assert.equal([one!.transport, one!.host], ['wss', '203.0.113.9'])
  assert.is.not(one!.port, two!.port)
  close()
})

test('a message that is too long ends the connection with 1009, and is counted as that', async () => {
  const { received, counters, open, close } = await listening()
  const client = open()
  await once(client, 'open')
  client.send(`${MESSAGE}${'x'.repeat(70_000)}`)
  const [code] = await once(client, 'close')
  assert.is(code, 1009)
  assert.is(received.length, 0)
  assert.equal([counters.framesTooLarge, counters.sendErrors], [1, 0])
  close()
})

test('strangers that send without end take a share of the thread together, and a known client is read beside them', async () => {
  let [ofStrangers, ofKnown] = [0, 0]
  const { open, close } = await listening({
    isKnown: host => host === '192.0.2.7',
    receive: (_, { host }) => {
      if (host === '192.0.2.7') ofKnown++
      else ofStrangers++
      // As much as a message takes that is answered.
      for (const end = performance.now() + 1; performance.now() < end; );
    },
  })
  const message = MESSAGE + ' '.repeat(30_000)
  const sends = async (host: string, count: number): Promise<WebSocket> => {
    const client = open({ 'X-Forwarded-For': host })
    await once(client, 'open')
    for (let i = 0; i < count; i++) client.send(message)
    return client
  }
  const clients = await Promise.all(
    ['192.0.2.1', '192.0.2.2', '198.51.100.1', '198.51.100.2'].map(host => sends(host, 500)),
  )
  for (let turn = 0; turn < 300; turn++) await new Promise(later => setTimeout(later, 1))
  assert.ok(ofStrangers > 0 && ofStrangers < 600, `${ofStrangers} messages`)
  clients.push(await sends('192.0.2.7', 20))
  await until(() => ofKnown === 20)
  assert.ok(ofStrangers < 1000, `${ofStrangers} messages`)
  for (const client of clients) client.terminate()
  close()
})

test.run()
