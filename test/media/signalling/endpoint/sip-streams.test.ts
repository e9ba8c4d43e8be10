import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import * as assert from 'uvu/assert'
import { freePort } from '../../../../bench/free-port.ts'
import { OwnAddresses } from '../../../../media/kernel/own-addresses.ts'
import { SipEndpoint } from '../../../../media/signalling/endpoint/sip-endpoint.ts'
import { SipStreams, type SipStreamsOptions } from '../../../../media/signalling/endpoint/sip-streams.ts'
import { Names } from '../../../../media/signalling/names.ts'
import { PING } from '../../../../sip/message/framer.ts'
import { suite } from '../../../harness.ts'

/** Each has sockets of its own, and waits for time-outs. */
const test = suite('media/signalling/sip-streams', { together: true })
const HOST = '127.0.0.1'
const MESSAGE = 'OPTIONS sip:a@b SIP/2.0\r\nContent-Length: 0\r\n\r\n'

async function listening(more: Partial<SipStreamsOptions> = {}) {
  const counters = { connectionsRefused: 0, connectionsStalled: 0, sendErrors: 0, slowPeers: 0 }
  const server: Server = more.servers?.[0]?.server ?? createServer()
  const received: string[] = []
  const streams = new SipStreams({
    transport: 'tcp',
    servers: [{ server, host: HOST }],
    dial: () => {
      throw new Error('nobody is dialled here')
    },
    receive: bytes => received.push(Buffer.from(bytes).toString('latin1')),
    failed: () => {},
    isKnown: () => false,
    counters,
    ...more,
  })
  await streams.listen(0)
  const { port } = server.address() as AddressInfo
  const open = async (): Promise<Socket> => {
    const socket = connect({ host: HOST, port })
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.resume()
    return socket
  }
  return { streams, counters, received, open }
}

/** Resolves when the connection is closed, by FIN or reset; data in flight decides which. */
const closed = (socket: Socket): Promise<unknown> =>
  socket.closed ? Promise.resolve() : new Promise(resolve => socket.once('close', resolve))

/** Whether a ping is answered, before the connection is closed. */
function isServed(socket: Socket): Promise<boolean> {
  const answered = new Promise<boolean>(resolve => socket.once('data', () => resolve(true)))
  socket.write('\r\n\r\n')
  return Promise.race([answered, closed(socket).then(() => false)])
}

// Before the others, which it would hold up.
test(
  'a message that came in time counts, though this process was too busy to read it',
  async () => {
    const { streams, counters, received, open } = await listening({ patienceMs: 1000 })
    const phone = await open()
    assert.ok(await isServed(phone))
    phone.write(MESSAGE)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1100)
    while (received.length < 1 && !phone.closed) await new Promise(later => setTimeout(later, 5))
    assert.equal([received, counters.connectionsStalled], [[MESSAGE], 0])
    phone.destroy()
    streams.close()
  },
  { together: false },
)

test('who says nothing, or never ends what he began, is closed and counted', async () => {
  const { streams, counters, received, open } = await listening({ patienceMs: 200 })
  const silent = await open()
  const dripping = await open()
  dripping.write(MESSAGE)
  dripping.write(MESSAGE.slice(0, 10))
  const drip = setInterval(() => dripping.write('x'), 20)
  await Promise.all([closed(silent), closed(dripping)])
  clearInterval(drip)
  assert.is(counters.connectionsStalled, 2)
  assert.equal(received, [MESSAGE])
  streams.close()
})

test('who has brought a message stays, and its keep-alives owe nothing', async () => {
  const { streams, counters, received, open } = await listening({ patienceMs: 200 })
  const phone = await open()
  phone.write(MESSAGE)
  phone.write('\r\n')
  // Another one whose patience runs out later than the phone's would.
  await closed(await open())
  assert.is(phone.closed, false)
  phone.write(MESSAGE)
  while (received.length < 2) await new Promise(later => setTimeout(later, 5))
  assert.is(counters.connectionsStalled, 1)
  phone.destroy()
  streams.close()
})

test('a connection over which a phone has registered gets keep-alives, and is open longer than others that say nothing', async () => {
  const { streams, received, open } = await listening({
    keepOpenMs: 50,
    isFlow: () => true,
    receive: (bytes, from) => {
      received.push(Buffer.from(bytes).toString('latin1'))
      streams.keepOpen(from)
    },
  })
  const phone = await open()
  let heard = ''
  phone.on('data', bytes => (heard += bytes))
  phone.write(MESSAGE)
  while (heard.length < 12) await new Promise(later => setTimeout(later, 5))
  assert.equal([heard.slice(0, 12), phone.closed], ['\r\n'.repeat(6), false])
  // Its answer is none to a request, and owes nothing.
  phone.write('\r\n')
  while (heard.length < 16) await new Promise(later => setTimeout(later, 5))
  assert.is(received.length, 1)
  phone.destroy()
  streams.close()
})

test('whoever sends a message that is too large is told so, however much more comes, and the connection is closed', async () => {
  const REFUSAL = 'SIP/2.0 513 Message Too Large\r\nContent-Length: 0\r\n\r\n'
  let received = 0
  const { streams, open } = await listening({
    receive: (_, from) => {
      received++
      streams.send(Buffer.from(REFUSAL), from)
    },
  })
  const client = await open()
  let heard = ''
  client.on('data', bytes => {
    heard += bytes
  })
  const ended = once(client, 'end')
  client.write(`OPTIONS sip:a@b SIP/2.0\r\nX: ${'a'.repeat(500_000)}`)
  client.write(MESSAGE)
  await ended
  await closed(client)
  assert.equal([heard, received], [REFUSAL, 1])
  streams.close()
})

test('one address has so many connections, and a place again when one of them is closed', async () => {
  const { streams, counters, open } = await listening({ maxPerNetwork: 2 })
  const [first, second] = [await open(), await open()]
  await closed(await open())
  assert.is(counters.connectionsRefused, 1)
  first.destroy()
  await closed(first)
  let again = await open()
  // The server hears of the closing a little later.
  while (!(await isServed(again))) again = await open()
  for (const socket of [second, again]) socket.destroy()
  streams.close()
})

test('a message tells whether the far end has opened its connection, or we have', async () => {
  const heard: (boolean | undefined)[] = []
  const { streams, open } = await listening({
    receive: (_, { isTheirs }) => heard.push(isTheirs),
    dial: ({ host, port }) => ({ socket: connect({ host, port }), ready: 'connect' }),
  })
  const far = createServer(socket => socket.on('error', () => {}).once('data', () => socket.write(MESSAGE)))
  await new Promise<void>(resolve => far.listen(0, HOST, resolve))
  const { port } = far.address() as AddressInfo
  const phone = await open()
  phone.write(MESSAGE)
  while (heard.length < 1) await new Promise(later => setTimeout(later, 5))
  streams.send(Buffer.from(MESSAGE), { transport: 'tcp', host: HOST, port })
  while (heard.length < 2) await new Promise(later => setTimeout(later, 5))
  assert.equal(heard, [true, false])
  phone.destroy()
  streams.close()
  far.close()
})

test('over TLS those that still shake hands count', async () => {
  const server = createTlsServer({ handshakeTimeout: 60_000 })
  const { streams, counters, open } = await listening({
    transport: 'tls',
    servers: [{ server, host: HOST }],
    maxPerNetwork: 1,
  })
  const first = await open()
  await closed(await open())
  assert.is(counters.connectionsRefused, 1)
  first.destroy()
  streams.close()
})

test('over TLS a handshake that never comes is given up, and its place is free again', async () => {
  const server = createTlsServer({ handshakeTimeout: 200 })
  const { streams, counters, open } = await listening({
    transport: 'tls',
    servers: [{ server, host: HOST }],
    maxPerNetwork: 1,
  })
  await closed(await open())
  const next = await open()
  assert.is(counters.connectionsRefused, 1, 'only the handshake')
  await closed(next)
  streams.close()
})

test('a connection that we opened is given up when it answers no keep-alive any more, and not if it never answered any', async () => {
  const accepted: Socket[] = []
  const farEnd = createServer(socket => {
    socket.on('error', () => {})
    accepted.push(socket)
  })
  farEnd.listen(0, HOST)
  await once(farEnd, 'listening')
  const { port } = farEnd.address() as AddressInfo
  const gone: number[] = []
  const { streams } = await listening({
    dial: to => ({ socket: connect({ host: to.host, port: to.port }), ready: 'connect' }),
    disconnected: from => gone.push(from.port),
    pongMs: 100,
  })
  const to = { transport: 'tcp', host: HOST, port } as const
  const ping = async (): Promise<Socket> => {
    const before = accepted.length
    streams.send(PING, to)
    if (before === 0) await once(farEnd, 'connection')
    const socket = accepted.at(-1)!
    await once(socket, 'data')
    return socket
  }
  const silent = await ping()
  await new Promise(later => setTimeout(later, 300))
  assert.ok(!silent.destroyed && gone.length === 0, 'it may know no keep-alives')
  silent.write('\r\n')
  for (let times = 0; times < 3; times++) {
    const socket = await ping()
    socket.write('\r\n')
    // Two responses are not to be answered.
    const asked = await Promise.race([once(socket, 'data'), new Promise(later => setTimeout(later, 150, null))])
    assert.is(asked, null)
  }
  const dead = await ping()
  await closed(dead)
  while (gone.length === 0) await new Promise(later => setTimeout(later, 5))
  assert.equal(gone, [port])
  streams.close()
  farEnd.close()
})

/** A far end whose first connection is dead after its first answer: open, but nothing comes any more. */
async function farEndBehindForgetfulFirewall() {
  const requests: string[] = []
  const accepted: Socket[] = []
  const server = createServer(socket => {
    const isFirst = accepted.push(socket) === 1
    socket.on('error', () => {})
    socket.on('data', bytes => {
      const text = bytes.toString('latin1')
      for (const [method] of text.matchAll(/^[A-Z]+(?= sip:)/gm)) requests.push(`${method} ${accepted.indexOf(socket)}`)
      if (isFirst && requests.length > 1) return
      const kept = text.split('\r\n').filter(line => /^(Via|From|To|Call-ID|CSeq):/.test(line))
      socket.write(['SIP/2.0 486 Busy Here', ...kept, 'Content-Length: 0', '', ''].join('\r\n'))
    })
  })
  server.listen(0, HOST)
  await once(server, 'listening')
  return { requests, accepted, server, port: (server.address() as AddressInfo).port }
}

test('a connection that we opened is dead when a request finds no answer, and not if none ever came over it', async () => {
  const { requests, accepted, server, port } = await farEndBehindForgetfulFirewall()
  const closings: boolean[] = []
  const { streams, received } = await listening({
    dial: to => ({ socket: connect({ host: to.host, port: to.port }), ready: 'connect' }),
    disconnected: (_, isOwed) => closings.push(isOwed),
    answerMs: 100,
  })
  const to = { transport: 'tcp', host: HOST, port } as const
  const send = (text: string): void => streams.send(Buffer.from(text), to)
  send(MESSAGE)
  while (received.length < 1) await new Promise(later => setTimeout(later, 5))
  send(MESSAGE.replace('OPTIONS', 'ACK'))
  send(`SIP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n`)
  await new Promise(later => setTimeout(later, 200))
  assert.equal(closings, [], 'nobody answers these')
  send(MESSAGE)
  while (closings.length < 1) await new Promise(later => setTimeout(later, 5))
  assert.equal(closings, [true])
  server.removeAllListeners('connection').on('connection', socket => accepted.push(socket))
  send(MESSAGE)
  await new Promise(later => setTimeout(later, 250))
  assert.equal([closings.length, accepted.at(-1)!.destroyed, requests[0]], [1, false, 'OPTIONS 0'])
  streams.close()
  server.close()
})

test(
  'a call over a connection that is dead is made over a new one',
  async () => {
    const { requests, server, port } = await farEndBehindForgetfulFirewall()
    const endings: number[] = []
    const endpoint = new SipEndpoint({
      addresses: new OwnAddresses([HOST], []),
      port: await freePort(HOST),
      names: new Names(),
      productName: 'test',
      optionsStatus: () => ({ status: 200 }),
      allowedNetworks: ['127.0.0.0/8'],
      onEvent: event => {
        if (event.kind === 'rejected') endings.push(event.status)
      },
    })
    await endpoint.listen()
    const call = () => endpoint.invite({ to: `sip:a@${HOST}:${port};transport=tcp`, from: 'sip:b@example.com' })
    call()
    while (endings.length < 1) await new Promise(later => setTimeout(later, 5))
    call()
    while (requests.length < 5) await new Promise(later => setTimeout(later, 20))
    assert.equal(endings, [486, 486])
    assert.equal(requests, ['INVITE 0', 'ACK 0', 'INVITE 0', 'INVITE 1', 'ACK 1'])
    endpoint.close()
    server.close()
  },
  { timeoutMs: 20_000 },
)

test('a request that a phone behind a proxy leaves unanswered closes no connection to the proxy, which answers keep-alives', async () => {
  // Both ends are this process, which answers half of this time late on a busy machine.
  const ANSWER_MS = 1000
  const answers: string[] = []
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', bytes => {
      const text = bytes.toString('latin1')
      const isFirst = answers.length === 0
      if (isFirst) socket.write('SIP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n')
      else if (text.endsWith('\r\n\r\n\r\n\r\n') || text === '\r\n\r\n') socket.write('\r\n')
      answers.push(text)
    })
  })
  server.listen(0, HOST)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const closings: boolean[] = []
  let answered = 0
  const { streams, received } = await listening({
    dial: to => {
      const socket = connect({ host: to.host, port: to.port })
      socket.on('data', bytes => {
        if (String(bytes) === '\r\n') answered++
      })
      return { socket, ready: 'connect' }
    },
    disconnected: (_, isOwed) => closings.push(isOwed),
    answerMs: ANSWER_MS,
  })
  const send = (text: string): void => streams.send(Buffer.from(text), { transport: 'tcp', host: HOST, port })
  // A request and the keep-alive behind it may come as one piece.
  const keepAlives = (): number => answers.join('').split('\r\n\r\n\r\n\r\n').length - 1
  send(MESSAGE)
  while (received.length < 1) await new Promise(later => setTimeout(later, 5))
  for (let times = 1; times <= 2; times++) {
    send(MESSAGE.replace('OPTIONS', 'NOTIFY'))
    // A request that is sent before the answer to the keep-alive has come is followed by none: that answer counts for it, too.
    while (answered < times) await new Promise(later => setTimeout(later, 5))
    assert.is(keepAlives(), times)
  }
  await new Promise(later => setTimeout(later, 1.5 * ANSWER_MS))
  assert.equal(closings, [])
  streams.close()
  server.close()
})

test(
  "a BYE that finds nothing over the caller's own connection goes to the caller's Contact over a new one",
  async () => {
    const requests: string[] = []
    const contact = createServer(socket => {
      socket.on('error', () => {})
      socket.on('data', bytes => {
        const text = bytes.toString('latin1')
        requests.push(text.slice(0, text.indexOf(' ')))
        const kept = text.split('\r\n').filter(line => /^(Via|From|To|Call-ID|CSeq):/.test(line))
        socket.write(['SIP/2.0 200 OK', ...kept, 'Content-Length: 0', '', ''].join('\r\n'))
      })
    })
    contact.listen(0, HOST)
    await once(contact, 'listening')
    const port = await freePort(HOST)
    let sessionId = ''
    let isOver = false
    const endpoint = new SipEndpoint({
      addresses: new OwnAddresses([HOST], []),
      port,
      names: new Names(),
      productName: 'test',
      optionsStatus: () => ({ status: 200 }),
      allowedNetworks: ['127.0.0.0/8'],
      onEvent: event => {
        if (event.kind === 'incoming') sessionId = event.sessionId
        isOver ||= event.kind === 'ended'
      },
    })
    await endpoint.listen()
    const trunk = connect({ host: HOST, port })
    await once(trunk, 'connect')
    const said: string[] = []
    trunk.on('data', bytes => said.push(bytes.toString('latin1')))
    const heard = async (what: RegExp): Promise<string> => {
      for (;;) {
        const found = said
          .join('')
          .split(/(?=SIP\/2\.0 )/)
          .find(one => what.test(one))
        if (found !== undefined) return found
        await new Promise(later => setTimeout(later, 5))
      }
    }
    const own = `Contact: <sip:trunk@${HOST}:${(contact.address() as AddressInfo).port};transport=tcp>`
    const request = (method: string, to: string): string =>
      [
        `${method} sip:a@${HOST} SIP/2.0`,
        `Via: SIP/2.0/TCP ${HOST};branch=z9hG4bK${method};rport`,
        `From: <sip:trunk@${HOST}>;tag=1`,
        to,
        `Call-ID: over-a-dead-connection`,
        `CSeq: 1 ${method}`,
        'Max-Forwards: 70',
        own,
        'Content-Length: 0',
        '',
        '',
      ].join('\r\n')
    trunk.write(request('INVITE', `To: <sip:a@${HOST}>`))
    while (sessionId === '') await new Promise(later => setTimeout(later, 5))
    endpoint.do((agent, now) => agent.accept(sessionId, null, now))
    const ok = await heard(/^SIP\/2\.0 200 /)
    trunk.write(request('ACK', /^To:.*$/m.exec(ok)![0].trim()))
    // What comes after the ACK finds it there.
    trunk.write('\r\n\r\n')
    while (!said.join('').endsWith('\r\n\r\n\r\n')) await new Promise(later => setTimeout(later, 5))
    endpoint.do((agent, now) => agent.bye(sessionId, now))
    while (!isOver) await new Promise(later => setTimeout(later, 20))
    while (requests.length === 0) await new Promise(later => setTimeout(later, 20))
    assert.equal(requests, ['BYE'])
    await closed(trunk)
    endpoint.close()
    contact.close()
  },
  { timeoutMs: 20_000 },
)

test.run()
