import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { freePort } from '../../../bench/free-port.ts'
import { chooseDoors } from '../../../media/rtp/datagrams/choose.ts'
import {
  type DoorOptions,
  type DoorSocket,
  type OpenDoor,
  openNodeDoor,
} from '../../../media/rtp/datagrams/door-socket.ts'
import type { NativeDoor } from '../../../media/rtp/datagrams/native-door.ts'
import { suite } from '../../harness.ts'

const test = suite('media/rtp/doors')

const { problem } = await chooseDoors('auto')

async function nativeDoors(): Promise<((options: DoorOptions, isRush?: boolean) => NativeDoor) | null> {
  if (problem !== null) return null
  const { NativeDoor, doorTools } = await import('../../../media/rtp/datagrams/native-door.ts')
  const { Libc } = await import('../../../media/rtp/datagrams/libc.ts')
  const tools = doorTools(new Libc())
  return (options, isRush) => NativeDoor.open(tools, options, isRush)
}

const native = await nativeDoors()
const ways: readonly (readonly [string, OpenDoor | null])[] = [
  ['node', openNodeDoor],
  ['native, calm', native === null ? null : async options => native(options)],
  ['native, in a rush', native === null ? null : async options => native(options, true)],
]
const hasIpv6 = Object.values(networkInterfaces()).some(all => all?.some(({ address }) => address === '::1'))
const BUFFER = 4 * 1024 * 1024

interface Came {
  text: string
  host: string
  port: number
}

async function listener(open: OpenDoor, host: string, more: Partial<DoorOptions> = {}) {
  const came: Came[] = []
  const port = await freePort()
  const door = await open({
    ...{ host, port, receiveBufferBytes: BUFFER, admits: () => true },
    take: (bytes, from, fromPort) => came.push({ text: Buffer.from(bytes).toString(), host: from, port: fromPort }),
    ...more,
  })
  return { door, port, came }
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let i = 0; i < 5000 && !isTrue(); i++) await sleep(1)
  assert.ok(isTrue())
}

const send = (door: DoorSocket, text: string, host: string, port: number): void =>
  door.send(Buffer.from(text), host, port, () => assert.unreachable(`${text} was refused`))

for (const [way, open] of ways) {
  const name = (sentence: string): string => `${way}: ${sentence}`
  if (open === null) {
    test.skip(name('a door of our own'), problem ?? '')
    continue
  }

  for (const host of ['127.0.0.1', '::1']) {
    const sentence = name(`a datagram over ${host} comes with its sender and its bytes, and the answer goes back`)
    if (host === '::1' && !hasIpv6) {
      test.skip(sentence, 'no IPv6 here')
      continue
    }
    test(sentence, async () => {
      const [a, b] = [await listener(open, host), await listener(open, host)]
      send(a.door, 'hello', host, b.port)
      await until(() => b.came.length === 1)
      assert.equal(b.came, [{ text: 'hello', host, port: a.port }])
      send(b.door, 'and back', host, a.port)
      await until(() => a.came.length === 1)
      assert.equal(a.came, [{ text: 'and back', host, port: b.port }])
      for (const { door } of [a, b]) door.close()
    })
  }

  test(name('who is not admitted is not heard, and nobody else suffers'), async () => {
    const asked: string[] = []
    const b = await listener(open, '127.0.0.1', {
      admits: host => {
        asked.push(host)
        return host !== '127.0.0.2'
      },
    })
    const [stranger, friend] = [await listener(open, '127.0.0.2'), await listener(open, '127.0.0.3')]
    for (let i = 0; i < 3; i++) send(stranger.door, 'let me in', '127.0.0.1', b.port)
    send(friend.door, 'hello', '127.0.0.1', b.port)
    await until(() => b.came.length > 0)
    assert.equal(b.came, [{ text: 'hello', host: '127.0.0.3', port: friend.port }])
    assert.equal(asked, ['127.0.0.2', '127.0.0.2', '127.0.0.2', '127.0.0.3'])
    for (const { door } of [b, stranger, friend]) door.close()
  })

  test(name('a datagram of any size comes whole and stays as it is when others follow'), async () => {
    const kept: Uint8Array[] = []
    const b = await listener(open, '127.0.0.1', { take: bytes => kept.push(bytes) })
    const a = await listener(open, '127.0.0.1')
    const sizes = [0, 1, 1500, 20_000, 65_507]
    for (const [i, size] of sizes.entries()) {
      send(a.door, String(i).repeat(size), '127.0.0.1', b.port)
      await until(() => kept.length === i + 1)
    }
    assert.equal(
      kept.map(bytes => bytes.length),
      sizes,
    )
    for (const [i, bytes] of kept.entries()) assert.ok(bytes.every(byte => byte === 48 + i))
    for (const { door } of [a, b]) door.close()
  })

  test(name('of a rush from many senders each datagram is its own, and they keep their order'), async () => {
    const b = await listener(open, '127.0.0.1')
    const senders = await Promise.all([2, 3, 4].map(last => listener(open, `127.0.0.${last}`)))
    const texts = Array.from({ length: 1500 }, (_, i) => `datagram ${i}`)
    for (const [i, text] of texts.entries()) {
      send(senders[i % 3]!.door, text, '127.0.0.1', b.port)
      if (i % 100 === 0) await sleep(1)
    }
    await until(() => b.came.length === texts.length)
    for (const [at, { port }] of senders.entries()) {
      assert.equal(
        b.came.filter(one => one.port === port).map(({ text, host }) => [text, host]),
        texts.filter((_, i) => i % 3 === at).map(text => [text, `127.0.0.${at + 2}`]),
      )
    }
    for (const { door } of [b, ...senders]) door.close()
  })

  test(name('a port that is taken, and an address that is not ours, are refused by their names'), async () => {
    const { door, port } = await listener(open, '127.0.0.1')
    const refused = (host: string) =>
      open({ host, port, receiveBufferBytes: BUFFER, admits: () => true, take: () => {} }).then(
        () => 'open',
        ({ code }) => code,
      )
    assert.is(await refused('127.0.0.1'), 'EADDRINUSE')
    assert.is(await refused('192.0.2.1'), 'EADDRNOTAVAIL')
    door.close()
    door.close()
    const again = await open({
      ...{ host: '127.0.0.1', port, receiveBufferBytes: BUFFER },
      ...{ admits: () => true, take: () => {} },
    })
    again.close()
  })

  test(name('who sends what the system refuses is told, later'), async () => {
    const { door } = await listener(open, '127.0.0.1')
    let failures = 0
    door.send(Buffer.from('x'), '255.255.255.255', 5060, () => failures++)
    assert.is(failures, 0)
    await until(() => failures === 1)
    door.close()
    door.send(Buffer.from('x'), '127.0.0.1', 5060, () => failures++)
    await sleep(5)
    assert.is(failures, 1)
  })

  test(name('it may be closed by whom it tells of a datagram'), async () => {
    const a = await listener(open, '127.0.0.1')
    let told = 0
    const b = await listener(open, '127.0.0.1', {
      take: () => {
        told++
        b.door.close()
      },
    })
    for (let i = 0; i < 3; i++) send(a.door, 'close', '127.0.0.1', b.port)
    await until(() => told > 0)
    await sleep(20)
    assert.is(told, 1)
    a.door.close()
  })
}

if (native !== null) {
  test('native: in a rush nobody tells of each datagram, and after it each is told of again', async () => {
    let taken = 0
    const port = await freePort()
    const door = native({
      ...{ host: '127.0.0.1', port, receiveBufferBytes: BUFFER },
      ...{ admits: () => true, take: () => taken++ },
    })
    const a = await listener(async options => native(options), '127.0.0.1')
    assert.is(door.isRushed, false)
    for (let sent = 0; !door.isRushed; sent++) {
      assert.ok(sent < 20_000)
      send(a.door, 'rush', '127.0.0.1', port)
      if (sent % 200 === 0) await sleep(1)
    }
    for (let i = 0; i < 200; i++) send(a.door, 'rush', '127.0.0.1', port)
    await until(() => !door.isRushed)
    const before = taken
    send(a.door, 'calm', '127.0.0.1', port)
    await until(() => taken === before + 1)
    for (const one of [door, a.door]) one.close()
  })

  test('native: what the system drops, since nobody fetches it in time, is counted', async () => {
    const b = await listener(async options => native(options), '127.0.0.1', { receiveBufferBytes: 4096 })
    const a = await listener(async options => native(options), '127.0.0.1')
    assert.is(b.door.dropped, 0)
    for (let i = 0; i < 1000; i++) send(a.door, 'x'.repeat(500), '127.0.0.1', b.port)
    const { dropped } = b.door
    assert.ok(dropped > 900, `${dropped}`)
    await until(() => b.came.length === 1000 - dropped)
    for (const { door } of [a, b]) door.close()
  })

  test('native: nobody else gets the port, also one who would share it', async () => {
    const { createSocket } = await import('node:dgram')
    const { door, port } = await listener(async options => native(options), '127.0.0.1')
    const thief = createSocket({ type: 'udp4', reuseAddr: true })
    const code = await new Promise(resolve => {
      thief.once('error', (error: NodeJS.ErrnoException) => resolve(error.code))
      thief.bind(port, '127.0.0.1', () => resolve('bound'))
    })
    assert.is(code, 'EADDRINUSE')
    thief.close()
    door.close()
  })
}

for (const host of ['127.0.0.1', '::1'] as const) {
  const sentence = `SIP to ${host} is marked as signalling (CS5, RFC 4594 §4.2)`
  if (native === null || (host === '::1' && !hasIpv6)) test.skip(sentence, 'not on this system')
  else {
    test(sentence, async () => {
      const { markReader } = await import('./mark-reader.ts')
      const port = await freePort()
      const reader = markReader(host, port)
      const { door } = await listener(async options => native(options), host)
      send(door, 'x', host, port)
      let mark: number | null = null
      await until(() => {
        mark ??= reader.next()
        return mark !== null
      })
      assert.is(mark, 40)
      door.close()
      reader.close()
    })
  }
}

test.run()
