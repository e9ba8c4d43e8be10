import { once } from 'node:events'
import { type AddressInfo, connect, createServer, Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import * as assert from 'uvu/assert'
import { chooseDatagrams } from '../../../media/rtp/datagrams/choose.ts'
import { ClientFrames, StreamLane, TEXT } from '../../../media/streams/stream-lane.ts'
import { suite } from '../../harness.ts'

const test = suite('media/streams/stream-lane')
const { datagrams, problem } = await chooseDatagrams('auto')
const { connections } = datagrams
const immediate = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** A lane on a connection of its own, and the server's end of that. */
async function connected() {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  const ours = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [theirs] = (await accepted) as [Socket]
  if (ours.connecting) await once(ours, 'connect')
  const told: string[] = []
  /** What Node has read. */
  const read: Buffer[] = []
  ours.on('data', bytes => read.push(bytes))
  const lane = StreamLane.open(connections!, ours, {
    pong: payload => told.push(`pong ${Buffer.from(payload).toString('hex')}`),
    ping: payload => told.push(`ping ${Buffer.from(payload).toString('hex')}`),
    ignored: () => told.push('ignored'),
    taken: bytes => told.push(`taken ${bytes}`),
  })!
  const looked = async (until: () => boolean): Promise<void> => {
    while (!until()) {
      lane.look()
      await immediate()
    }
  }
  const close = (): void => {
    lane.leave()
    ours.destroy()
    theirs.destroy()
    server.close()
  }
  return { lane, ours, theirs, told, read, looked, close }
}

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')
const SMALL = '8a04 00000007 8900 8901ff 8102 6869 8203 000102 8a00'
const LONG = Buffer.concat([hex('817e0100'), Buffer.alloc(256, 0x61)])

if (connections === null)
  test.skip("what a receiver says to a fork is read by the system's own calls", problem ?? 'they are not chosen')
else {
  test('pongs, pings and messages are handed over by a look, each once, and Node reads nothing', async () => {
    const { theirs, told, read, looked, close } = await connected()
    theirs.write(hex(SMALL))
    theirs.write(LONG)
    await looked(() => told.length === 7)
    assert.equal(told, ['pong 00000007', 'ping ', 'ping ff', 'ignored', 'ignored', 'pong ', 'ignored'])
    assert.equal(read, [])
    close()
  })

  for (const [what, bytes] of [
    ['a close frame', '8802 03e8'],
    ['a fragment', '0103 616263'],
    ['a frame of which a part has come', '8a04 0000'],
    ['a frame whose header has not come whole', '81'],
    ['a masked frame', '8a84 00000000 00000000'],
    ['a frame with a reserved bit', 'ca00'],
    ['a ping that is too long', '897e 0080'],
    ['a frame that is longer than a look', '817e 4000 61'],
    ['a frame with a length of 64 bits', '817f 0000000000000001 61'],
  ] as const) {
    test(`${what} is left to Node, with all that follows, and what came before is not read twice`, async () => {
      const { lane, theirs, told, read, looked, close } = await connected()
      theirs.write(hex('8a00'))
      await looked(() => told.length === 1)
      theirs.write(hex(bytes))
      await looked(() => read.length > 0)
      theirs.write(hex('8a00'))
      const all = hex(`${bytes} 8a00`)
      while (Buffer.concat(read).length < all.length) await immediate()
      lane.look()
      assert.equal(Buffer.concat(read), all)
      assert.equal(told, ['pong '])
      close()
    })
  }

  test('the end of a connection reaches Node', async () => {
    const { ours, theirs, looked, close } = await connected()
    let isOver = false
    ours.on('end', () => (isOver = true))
    theirs.end()
    await looked(() => isOver)
    close()
  })

  test('who is not looked at is read by Node again after a while', async () => {
    const { theirs, told, read, close } = await connected()
    theirs.write(hex('8a00'))
    while (read.length === 0) await new Promise(resolve => setTimeout(resolve, 10))
    assert.equal(Buffer.concat(read), hex('8a00'))
    assert.equal(told, [])
    close()
  })

  test('what is sent arrives as it was; a far end that does not read leaves a rest, and a socket that is gone takes nothing', async () => {
    const { lane, ours, theirs, close } = await connected()
    const frames = new ClientFrames()
    frames.add(TEXT, Buffer.from('hello'))
    const arrived = once(theirs, 'data')
    assert.is(lane.send(frames), frames.length)
    assert.equal((await arrived)[0], frames.bytes.subarray(0, frames.length))
    theirs.pause()
    const large = new ClientFrames()
    large.add(TEXT, Buffer.alloc(1 << 20))
    let taken = large.length
    while (taken === large.length) taken = lane.send(large)
    assert.ok(taken < large.length)
    ours.destroy()
    assert.is(lane.send(frames), 0)
    close()
  })

  const framesOf = (text: string): ClientFrames => {
    const frames = new ClientFrames()
    frames.add(TEXT, Buffer.from(text))
    return frames
  }

  test('what lanes send in a slot goes out behind its work, with what was added until then, each to its own far end', async () => {
    const ends = [await connected(), await connected(), await connected()]
    const all = ends.map((_, i) => framesOf(`frame ${i}`))
    const came = ends.map(() => Buffer.alloc(0))
    for (const [i, { theirs }] of ends.entries()) {
      theirs.on('data', bytes => (came[i] = Buffer.concat([came[i]!, bytes])))
    }
    datagrams.sendTogether(() => {
      for (const [i, { lane }] of ends.entries()) assert.ok(lane.hold(all[i]!) && lane.isHolding)
      all[1]!.add(TEXT, Buffer.from('more'))
      assert.ok(ends[1]!.lane.hold(all[1]!))
      assert.ok(ends.every(({ told }) => told.length === 0))
    })
    for (const [i, { told, lane }] of ends.entries()) {
      assert.equal([told, lane.isHolding], [[`taken ${all[i]!.length}`], false])
    }
    while (came.some((bytes, i) => bytes.length < all[i]!.length)) await immediate()
    for (const [i, bytes] of came.entries()) assert.equal(bytes, all[i]!.bytes.subarray(0, all[i]!.length))
    assert.not(ends[0]!.lane.hold(all[0]!), 'outside of a slot each sends by itself')
    for (const { close } of ends) close()
  })

  test('nothing is sent for a lane whose socket is closed in that slot, nor for one that has sent by itself', async () => {
    const [gone, own] = [await connected(), await connected()]
    const frames = framesOf('once')
    const came: Buffer[] = []
    own.theirs.on('data', bytes => came.push(bytes))
    datagrams.sendTogether(() => {
      assert.ok(gone.lane.hold(framesOf('lost')) && own.lane.hold(frames))
      gone.ours.destroy()
      own.lane.release()
      assert.is(own.lane.send(frames), frames.length)
    })
    assert.equal([gone.told, own.told], [['taken 0'], []])
    own.theirs.end('bye')
    own.ours.end()
    await once(own.theirs, 'end')
    assert.equal(Buffer.concat(came), frames.bytes.subarray(0, frames.length))
    for (const { close } of [gone, own]) close()
  })

  test('of what is sent together, too, a far end that does not read leaves a rest', async () => {
    const { lane, theirs, told, close } = await connected()
    theirs.pause()
    const large = framesOf('x'.repeat(1 << 20))
    const whole = `taken ${large.length}`
    while (told.every(event => event === whole)) datagrams.sendTogether(() => lane.hold(large))
    assert.ok(Number(told.at(-1)!.split(' ')[1]) < large.length)
    close()
  })

  test('more lanes than are sent together send by themselves', () => {
    let taken = 0
    const none = { fd: -1, address: 0, length: 0, taken: () => taken++ }
    let held = 0
    datagrams.sendTogether(() => {
      while (connections.hold(none)) held++
    })
    assert.ok(held >= 256)
    assert.is(taken, held)
  })

  test('what is encrypted has no lane', () => {
    const secret = new TLSSocket(new Socket())
    assert.is(
      StreamLane.open(connections, secret, { pong: () => {}, ping: () => {}, ignored: () => {}, taken: () => {} }),
      null,
    )
    secret.destroy()
  })
}

test.run()
