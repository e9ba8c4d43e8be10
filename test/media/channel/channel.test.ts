import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { Channel } from '../../../media/channel/channel.ts'
import {
  encodeMessage,
  type FromMedia,
  MAX_MESSAGE_BYTES,
  type MediaEvent,
  MessageReader,
  PROTOCOL_VERSION,
  type ToMedia,
} from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'

const BOOT = 'boot1'
let dir: string
let path: string
let channel: Channel
let clients: Client[]

/** The socket of a control process. */
class Client {
  readonly received: FromMedia[] = []
  closed = false
  readonly #socket: Socket
  readonly #reader = new MessageReader()
  #wake: () => void = () => {}

  constructor() {
    this.#socket = connect(path)
    this.#socket.on('data', bytes => {
      const result = this.#reader.read(bytes)
      if ('messages' in result) this.received.push(...(result.messages as unknown as FromMedia[]))
      this.#wake()
    })
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => {
      this.closed = true
      this.#wake()
    })
    clients.push(this)
  }

  send(message: ToMedia): void {
    this.#socket.write(encodeMessage(message))
  }

  raw(bytes: Uint8Array): void {
    this.#socket.write(bytes)
  }

  hello(lastSeq = 0, bootId: string | null = BOOT, version = PROTOCOL_VERSION): void {
    this.send({ type: 'hello', version, bootId, lastSeq })
  }

  /** Resolves when the condition holds. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  get sequences(): number[] {
    return this.received.flatMap(message => (message.type === 'event' ? [message.seq] : []))
  }

  end(): void {
    this.#socket.destroy()
  }
}

const event = (legId: string): MediaEvent => ({ name: 'leg.ringing', at: '2026-01-01T00:00:00.000Z', body: { legId } })

const test = suite('media/channel/channel')

test.beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  path = join(dir, 'media.sock')
  clients = []
  channel = new Channel(BOOT, async (name, body) => {
    if (name === 'raise') channel.emit(event('part_raised'))
    if (name === 'throw') throw new Error('a bug')
    return { name, body } as object
  })
  await channel.listen(path)
})

test.afterEach(() => {
  for (const client of clients) client.end()
  channel.close()
  rmSync(dir, { recursive: true })
})

test('both sides begin with hello', async () => {
  const client = new Client()
  client.hello()
  await client.until(() => client.received.length > 0)
  assert.equal(client.received[0], { type: 'hello', version: PROTOCOL_VERSION, bootId: BOOT, eventsLost: 0 })
})

test('a control process that knew another media process is told whom that one may have called, if that is known', async () => {
  const hellos: FromMedia[] = []
  for (const [dialled, knows] of [
    [['prt_1'], 'boot-before'],
    [['prt_1'], BOOT],
    [null, 'boot-before'],
  ] as const) {
    const own = new Channel(BOOT, async () => ({}), dialled)
    await own.listen(path)
    const client = new Client()
    client.hello(0, knows)
    await client.until(() => client.received.length > 0)
    hellos.push(client.received[0]!)
    own.close()
  }
  const hello = { type: 'hello', version: PROTOCOL_VERSION, bootId: BOOT, eventsLost: 0 }
  assert.equal(hellos, [{ ...hello, dialled: ['prt_1'] }, hello, hello])
})

test('control is awaited until it has come once; when it is gone again, it is away', async () => {
  assert.ok(channel.isAwaited)
  const client = new Client()
  client.hello()
  await client.until(() => client.received.length > 0)
  assert.equal([channel.isAwaited, channel.connected], [false, true])
  client.end()
  while (channel.connected) await new Promise(later => setTimeout(later, 5))
  assert.not(channel.isAwaited)
})

test('another version is told ours and closed', async () => {
  const client = new Client()
  client.hello(0, BOOT, PROTOCOL_VERSION + 1)
  await client.until(() => client.closed)
  assert.is(client.received[0]?.type, 'hello')
  assert.not(channel.connected)
})

test('events wait for control and come in order when it is there', async () => {
  for (const id of ['part_1', 'part_2', 'part_3']) channel.emit(event(id))
  const client = new Client()
  client.hello()
  await client.until(() => client.sequences.length === 3)
  channel.emit(event('part_4'))
  await client.until(() => client.sequences.length === 4)
  assert.equal(client.sequences, [1, 2, 3, 4])
})

test('what is not acknowledged comes again after a reconnect, what is acknowledged does not', async () => {
  for (const id of ['part_1', 'part_2', 'part_3']) channel.emit(event(id))
  const first = new Client()
  first.hello()
  await first.until(() => first.sequences.length === 3)
  first.send({ type: 'ack', seq: 1 })
  first.send({ type: 'request', id: 1, name: 'media.stats', body: {} })
  await first.until(() => first.received.some(message => message.type === 'reply'))
  first.end()
  const second = new Client()
  second.hello(1)
  await second.until(() => second.sequences.length === 2)
  assert.equal(second.sequences, [2, 3])
  // Control had committed 3 before it died, but its acknowledgement was lost.
  const third = new Client()
  third.hello(3)
  await third.until(() => third.received.length > 0)
  assert.is(channel.waiting, 0)
})

test('what control committed of another start of media acknowledges nothing', async () => {
  channel.emit(event('part_1'))
  const client = new Client()
  client.hello(99, 'another-boot')
  await client.until(() => client.sequences.length === 1)
  assert.is(channel.waiting, 1)
})

test('a reply comes after the events that were raised before it', async () => {
  const client = new Client()
  client.hello()
  client.send({ type: 'request', id: 7, name: 'raise' as never, body: {} })
  await client.until(() => client.received.some(message => message.type === 'reply'))
  assert.equal(
    client.received.map(message => message.type),
    ['hello', 'event', 'reply'],
  )
})

test('a command that fails by a bug is answered, and the channel goes on', async () => {
  const client = new Client()
  client.hello()
  client.send({ type: 'request', id: 1, name: 'throw' as never, body: {} })
  client.send({ type: 'request', id: 2, name: 'media.stats', body: {} })
  await client.until(() => client.received.filter(message => message.type === 'reply').length === 2)
  const replies = client.received.filter(message => message.type === 'reply')
  assert.is((replies[0]!.body as { failure: string }).failure, 'unanswered', 'how far it came nobody knows')
})

test('the event buffer is bounded: the oldest is dropped and counted', async () => {
  for (let i = 0; i < 50_003; i++) channel.emit(event('part_1'))
  assert.is(channel.waiting, 50_000)
  assert.is(channel.eventsLost, 3)
  const client = new Client()
  client.hello()
  await client.until(() => client.sequences.length > 0)
  assert.is(client.sequences[0], 4)
})

test('a message over the limit, or one that is no JSON object, closes the connection and nothing else', async () => {
  const tooLong = new Client()
  tooLong.raw(Buffer.from([0x7f, 0xff, 0xff, 0xff]))
  await tooLong.until(() => tooLong.closed)
  const noJson = new Client()
  noJson.raw(Buffer.from([0, 0, 0, 2, 0x5b, 0x5d]))
  await noJson.until(() => noJson.closed)
  assert.is(channel.badMessages, 2)
  const client = new Client()
  client.hello()
  await client.until(() => client.received.length > 0)
})

test('a message that is too long for one part goes in several, in both directions, with others before and after it', async () => {
  const client = new Client()
  client.hello()
  const body = { text: 'ü'.repeat(MAX_MESSAGE_BYTES) }
  client.send({ type: 'request', id: 1, name: 'media.stats', body: {} })
  client.send({ type: 'request', id: 2, name: 'media.stats', body })
  client.send({ type: 'request', id: 3, name: 'media.stats', body: {} })
  await client.until(() => client.received.length === 4)
  const replies = client.received.flatMap(message => (message.type === 'reply' ? [message] : []))
  assert.equal(
    replies.map(({ id }) => id),
    [1, 2, 3],
  )
  assert.equal(replies[1]!.body, { name: 'media.stats', body })
  assert.is(channel.badMessages, 0)
})

test('a message whose parts have no end closes the connection', async () => {
  const client = new Client()
  const part = Buffer.alloc(4 + MAX_MESSAGE_BYTES, ' ')
  part.writeUInt32BE(0x8000_0000 + MAX_MESSAGE_BYTES, 0)
  for (let n = 0; n < 20 && !client.closed; n++) client.raw(part)
  await client.until(() => client.closed)
  assert.is(channel.badMessages, 1)
})

test('a message may arrive in any number of pieces', async () => {
  const client = new Client()
  for (const byte of encodeMessage({ type: 'hello', version: PROTOCOL_VERSION, bootId: BOOT, lastSeq: 0 })) {
    client.raw(Uint8Array.of(byte))
  }
  await client.until(() => client.received.length === 1)
})

test('the latest client takes the place of the one before', async () => {
  const first = new Client()
  first.hello()
  await first.until(() => first.received.length > 0)
  const second = new Client()
  second.hello()
  await first.until(() => first.closed)
  await second.until(() => second.received.length > 0)
})

test.run()
