import { createSocket } from 'node:dgram'
import { fstatSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { freePort } from '../../../bench/free-port.ts'
import { chooseDatagrams } from '../../../media/rtp/datagrams/choose.ts'
import type { CallKind, Datagrams } from '../../../media/rtp/datagrams/datagrams.ts'
import { nodeDatagrams } from '../../../media/rtp/datagrams/node-datagrams.ts'
import { newDescriptorList, OwnDescriptors } from '../../../media/rtp/datagrams/own-descriptors.ts'
import { PortPool } from '../../../media/rtp/port-pool.ts'
import { type RtpReceiver, RtpSocket } from '../../../media/rtp/rtp-socket.ts'
import { suite } from '../../harness.ts'

const test = suite('media/rtp/datagrams')

const { datagrams: chosen, problem } = await chooseDatagrams('auto')
/** Native sockets with this kind of calls; null: the system does not have it. */
const native = async (calls: CallKind): Promise<Datagrams | null> => {
  if (chosen.kind !== 'native') return null
  const { NativeDatagrams } = await import('../../../media/rtp/datagrams/native-datagrams.ts')
  try {
    return new NativeDatagrams(calls)
  } catch {
    return null
  }
}
const ways = [
  ['node', nodeDatagrams],
  ['native, a call each', await native('single')],
  ['native, by a ring', await native('ring')],
] as const
const hasIpv6 = Object.values(networkInterfaces()).some(all => all?.some(({ address }) => address === '::1'))

interface Came {
  text: string
  host: string
  port: number
  at: number
}

/** A socket, and what it has heard. */
async function listener(datagrams: Datagrams, host: string) {
  for (;;) {
    const port = await freePort()
    const socket = await datagrams.bind(host, port)
    if (socket === null) continue
    const came: Came[] = []
    socket.listen(
      {
        rtp: (bytes, from, fromPort, at) =>
          came.push({ text: Buffer.from(bytes).toString(), host: from, port: fromPort, at }),
      },
      thrown,
    )
    return { socket, port, came }
  }
}

async function until(datagrams: Datagrams, isTrue: () => boolean): Promise<void> {
  for (let i = 0; i < 2000 && !isTrue(); i++) {
    datagrams.poll()
    await sleep(1)
  }
  assert.ok(isTrue())
}

/** For errors, of which there must be none. */
const thrown = (error: unknown): void => {
  throw error
}

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))

for (const [way, datagrams] of ways) {
  const name = (sentence: string): string => `${way}: ${sentence}`
  if (datagrams === null) {
    test.skip(name("the system's own sockets carry packets"), problem ?? 'the system gives no ring')
    continue
  }
  const { kind } = datagrams

  for (const host of ['127.0.0.1', '::1']) {
    const sentence = name(
      `a datagram over ${host} comes with its sender, its bytes and its time, and the answer goes back`,
    )
    if (host === '::1' && !hasIpv6) {
      test.skip(sentence, 'no IPv6 here')
      continue
    }
    test(sentence, async () => {
      const [a, b] = [await listener(datagrams, host), await listener(datagrams, host)]
      const before = performance.now()
      a.socket.send(bytesOf('hello, twice'), 5, host, b.port)
      await until(datagrams, () => b.came.length === 1)
      const [{ text, host: from, port, at }] = b.came as [Came]
      assert.equal([text, from, port], ['hello', host, a.port])
      assert.ok(at >= before - 1 && at <= performance.now(), `${before} ${at}`)
      b.socket.send(bytesOf('and back'), 8, from, port)
      await until(datagrams, () => a.came.length === 1)
      assert.is(a.came[0]!.text, 'and back')
      for (const { socket } of [a, b]) socket.close()
    })
  }

  test(
    name('a datagram that comes as soon as it is listened for is heard, also where another takes the processor'),
    async () => {
      const [a, b] = [await listener(datagrams, '127.0.0.1'), await listener(datagrams, '127.0.0.1')]
      a.socket.send(bytesOf('hello'), 5, '127.0.0.1', b.port)
      const { now } = performance
      performance.now = () => {
        const at = now.call(performance)
        while (now.call(performance) < at + 20) {}
        return at
      }
      try {
        datagrams.poll()
      } finally {
        performance.now = now
      }
      await until(datagrams, () => b.came.length === 1)
      for (const { socket } of [a, b]) socket.close()
    },
  )

  test(
    name('attended, each is handed over as it comes with nobody polling, and what else is due has its turn'),
    async () => {
      const [a, b] = [await listener(datagrams, '127.0.0.1'), await listener(datagrams, '127.0.0.1')]
      let turns = 0
      datagrams.attend(() => {
        turns++
        return 5
      })
      for (let i = 0; i < 3; i++) {
        a.socket.send(bytesOf('hello'), 5, '127.0.0.1', b.port)
        // A timer is told, too.
        const limit = performance.now() + 2000
        while (b.came.length === i && performance.now() < limit) await sleep(1)
        assert.is(b.came.length, i + 1)
      }
      datagrams.attend(null)
      await sleep(10)
      const before = turns
      await sleep(20)
      assert.is(turns, before)
      assert.ok(kind === 'node' || before > 0)
      for (const { socket } of [a, b]) socket.close()
    },
  )

  test(
    name('what follows a slot comes with the polls of that slot, or of all, and later with each again'),
    async () => {
      const [a, b, c] = [
        await listener(datagrams, '127.0.0.1'),
        await listener(datagrams, '127.0.0.1'),
        await listener(datagrams, '127.0.0.1'),
      ]
      const said = async (poll: () => void): Promise<number[]> => {
        const before = [b, c].map(({ came }) => came.length)
        for (const { port } of [b, c]) a.socket.send(bytesOf('hello'), 5, '127.0.0.1', port)
        const limit = performance.now() + 2000
        // Both come the same way, so that whoever is left out would have been there.
        while (c.came.length === before[1]! && performance.now() < limit) {
          poll()
          await sleep(1)
        }
        return [b, c].map(({ came }, n) => came.length - before[n]!)
      }
      const held = kind === 'node' ? 1 : 0
      b.socket.follow(2)
      assert.equal(await said(() => datagrams.poll(1)), [held, 1])
      await until(datagrams, () => b.came.length === 1)
      assert.equal(await said(() => datagrams.poll(2)), [1, 1])
      b.socket.follow(3)
      assert.equal(await said(() => datagrams.poll(2)), [held, 1])
      datagrams.poll(3)
      assert.is(b.came.length, 3)
      b.socket.follow(null)
      assert.equal(await said(() => datagrams.poll(0)), [1, 1])
      c.socket.close()
      // Its descriptor and its number are the next one's.
      const d = await listener(datagrams, '127.0.0.1')
      c.socket.follow(1)
      a.socket.send(bytesOf('hello'), 5, '127.0.0.1', d.port)
      for (let i = 0; i < 500 && d.came.length === 0; i++) {
        datagrams.poll(0)
        await sleep(1)
      }
      assert.is(d.came.length, 1)
      for (const { socket } of [a, b, d]) socket.close()
    },
  )

  test(name('senders who take turns are each known by their own address, and packets keep their order'), async () => {
    const [a, b, c] = [
      await listener(datagrams, '127.0.0.1'),
      await listener(datagrams, '127.0.0.1'),
      await listener(datagrams, '127.0.0.1'),
    ]
    for (let i = 0; i < 20; i++) {
      const from = i % 3 === 0 ? a : b
      from.socket.send(bytesOf(`packet ${String(i).padStart(3, '0')}`), 10, '127.0.0.1', c.port)
    }
    await until(datagrams, () => c.came.length === 20)
    assert.equal(
      c.came.map(({ text, port }) => [text, port]),
      Array.from({ length: 20 }, (_, i) => [`packet ${String(i).padStart(3, '0')}`, i % 3 === 0 ? a.port : b.port]),
    )
    for (const { socket } of [a, b, c]) socket.close()
  })

  test(name('a packet that is changed after it was sent goes as it was, and the next as it is then'), async () => {
    const [a, b] = [await listener(datagrams, '127.0.0.1'), await listener(datagrams, '127.0.0.1')]
    const packet = bytesOf('first ')
    a.socket.send(packet, 6, '127.0.0.1', b.port)
    if (kind === 'node') await until(datagrams, () => b.came.length === 1)
    packet.set(bytesOf('second'))
    a.socket.send(packet, 6, '127.0.0.1', b.port)
    await until(datagrams, () => b.came.length === 2)
    assert.equal(
      b.came.map(({ text }) => text),
      ['first ', 'second'],
    )
    for (const { socket } of [a, b]) socket.close()
  })

  test(name('what is sent together, small and large, by several sockets, all goes, each in its order'), async () => {
    const [a, b, c, d] = [
      await listener(datagrams, '127.0.0.1'),
      await listener(datagrams, '127.0.0.1'),
      await listener(datagrams, '127.0.0.1'),
      await listener(datagrams, '127.0.0.1'),
    ]
    const small = Array.from({ length: 100 }, (_, i) => 100 + i)
    const large = [40_000, 40_001, 40_002, 40_003]
    datagrams.sendTogether(() => {
      for (const length of small) {
        const { socket } = length % 2 === 0 ? a : b
        socket.send(bytesOf('x'.repeat(length)), length, '127.0.0.1', c.port)
        if (length % 25 !== 24) continue
        const size = large[(length - 124) / 25]!
        socket.send(bytesOf('y'.repeat(size)), size, '127.0.0.1', d.port)
      }
    })
    await until(datagrams, () => c.came.length === 100 && d.came.length === 4)
    assert.equal(
      d.came.map(({ text }) => text.length),
      large,
    )
    for (const [{ port }, rest] of [[a, 0] as const, [b, 1] as const]) {
      const came = c.came.filter(datagram => datagram.port === port).map(({ text }) => text)
      const sent = small.filter(length => length % 2 === rest)
      assert.equal(
        came.map(text => text.length),
        sent,
      )
    }
    for (const { socket } of [a, b, c, d]) socket.close()
  })

  test(name('a socket that is closed while packets are sent together has sent its own'), async () => {
    const [a, b] = [await listener(datagrams, '127.0.0.1'), await listener(datagrams, '127.0.0.1')]
    if (kind === 'native') {
      datagrams.sendTogether(() => {
        a.socket.send(bytesOf('goodbye'), 7, '127.0.0.1', b.port)
        a.socket.close()
      })
      await until(datagrams, () => b.came.length === 1)
      assert.equal([b.came[0]!.text, b.came[0]!.port], ['goodbye', a.port])
    }
    const c = await listener(datagrams, '127.0.0.1')
    assert.throws(() =>
      datagrams.sendTogether(() => {
        c.socket.send(bytesOf('before'), 6, '127.0.0.1', b.port)
        throw new Error('of a tick')
      }),
    )
    await until(datagrams, () => b.came.some(({ text }) => text === 'before'))
    for (const { socket } of [a, b, c]) socket.close()
  })

  test(name('a datagram of any size comes whole, and none is sent longer than it is'), async () => {
    const [a, b] = [await listener(datagrams, '127.0.0.1'), await listener(datagrams, '127.0.0.1')]
    for (const length of [0, 1, 2048, 2049, 20_000])
      a.socket.send(bytesOf('x'.repeat(length)), length, '127.0.0.1', b.port)
    await until(datagrams, () => b.came.length === 5)
    assert.equal(
      b.came.map(({ text }) => text.length),
      [0, 1, 2048, 2049, 20_000],
    )
    assert.throws(() => a.socket.send(bytesOf('short'), 6, '127.0.0.1', b.port))
    for (const { socket } of [a, b]) socket.close()
  })

  test(name('what came before somebody listens is lost'), async () => {
    const port = await freePort()
    const socket = (await datagrams.bind('127.0.0.1', port))!
    const sender = await listener(datagrams, '127.0.0.1')
    const came: string[] = []
    sender.socket.send(bytesOf('too early'), 9, '127.0.0.1', port)
    await sleep(5)
    datagrams.poll()
    await sleep(5)
    socket.listen({ rtp: bytes => came.push(Buffer.from(bytes).toString()) }, thrown)
    sender.socket.send(bytesOf('in time'), 7, '127.0.0.1', port)
    await until(datagrams, () => came.includes('in time'))
    assert.equal(came, ['in time'])
    for (const one of [socket, sender.socket]) one.close()
  })

  test(name('a port that is taken is not given twice, and is free again once it is closed'), async () => {
    const { socket, port } = await listener(datagrams, '127.0.0.1')
    assert.is(await datagrams.bind('127.0.0.1', port), null)
    socket.close()
    socket.close()
    await sleep(5)
    const again = await datagrams.bind('127.0.0.1', port)
    assert.ok(again)
    again!.close()
  })

  test(name('a receiver may close its socket, and others, while it is being told'), async () => {
    const [a, b, c] = [
      await listener(datagrams, '127.0.0.1'),
      await listener(datagrams, '127.0.0.1'),
      await listener(datagrams, '127.0.0.1'),
    ]
    let told = 0
    for (const { socket } of [b, c]) {
      const rtp = (): void => {
        told++
        b.socket.close()
        c.socket.close()
      }
      socket.listen({ rtp }, thrown)
    }
    for (const { port } of [b, c]) a.socket.send(bytesOf('close'), 5, '127.0.0.1', port)
    await until(datagrams, () => told > 0)
    for (let i = 0; i < 5; i++) {
      datagrams.poll()
      await sleep(1)
    }
    assert.ok(told >= 1 && told <= 2, `${told}`)
    a.socket.send(bytesOf('gone'), 4, '127.0.0.1', b.port)
    a.socket.close()
    a.socket.send(bytesOf('closed'), 6, '127.0.0.1', b.port)
  })

  test(name('what a receiver throws is told to whom it belongs, and the socket goes on'), async () => {
    const [a, b] = [await listener(datagrams, '127.0.0.1'), await listener(datagrams, '127.0.0.1')]
    const broken: unknown[] = []
    b.socket.listen(
      {
        rtp: bytes => {
          throw new Error(`cannot take ${bytes.length}`)
        },
      },
      error => broken.push((error as Error).message),
    )
    for (const length of [3, 4]) a.socket.send(bytesOf('abcd'), length, '127.0.0.1', b.port)
    await until(datagrams, () => broken.length >= 2)
    assert.ok(broken.includes('cannot take 3') && broken.includes('cannot take 4'))
    for (const { socket } of [a, b]) socket.close()
  })

  test(name('who floods a socket keeps nobody else from being heard'), async () => {
    const flooded = await listener(datagrams, '127.0.0.1')
    const quiet = await listener(datagrams, '127.0.0.1')
    const stranger = createSocket('udp4')
    for (let i = 0; i < 2000; i++) stranger.send('garbage', flooded.port, '127.0.0.1')
    stranger.send('a word', quiet.port, '127.0.0.1')
    await until(datagrams, () => quiet.came.length === 1)
    for (const { socket } of [flooded, quiet]) socket.close()
    await new Promise<void>(resolve => stranger.close(() => resolve()))
  })

  test(
    name('a leg has RTP on an even port and RTCP on the next, and sockets that are closed give their ports back'),
    async () => {
      const first = 2 * Math.ceil((await freePort()) / 2)
      const ports = new PortPool({ first, last: first + 3 })
      const [one, two] = [
        await RtpSocket.open(ports, '127.0.0.1', datagrams),
        await RtpSocket.open(ports, '127.0.0.1', datagrams),
      ]
      if (one === null || two === null) return assert.unreachable('somebody took a port')
      assert.is(await RtpSocket.open(ports, '127.0.0.1', datagrams), null)
      const heard: string[] = []
      const take = (label: string): RtpReceiver => ({
        rtp: (bytes, _host, port) => heard.push(`${label} rtp ${bytes.length} ${port}`),
        rtcp: (bytes, _host, port) => heard.push(`${label} rtcp ${bytes.length} ${port}`),
      })
      one.listen(take('one'), thrown)
      two.listen(take('two'), thrown)
      one.sendRtp(new Uint8Array(172), 172, '127.0.0.1', two.port)
      one.sendRtcp(new Uint8Array(100), 28, '127.0.0.1', two.port + 1)
      await until(datagrams, () => heard.length === 2)
      assert.equal(heard.sort(), [`two rtcp 28 ${one.port + 1}`, `two rtp 172 ${one.port}`])
      assert.is(one.port % 2, 0)
      for (const socket of [one, two]) socket.close()
      await sleep(5)
      const again = await RtpSocket.open(ports, '127.0.0.1', datagrams)
      assert.ok(again)
      again!.close()
    },
  )
}

for (const [way, datagrams] of ways) {
  if (datagrams === null || datagrams.kind === 'node') continue
  test(`${way}: what is sent nowhere is counted: the system's refusals, and hosts that are no address`, async () => {
    const [{ socket }, b] = [await listener(datagrams, '127.0.0.1'), await listener(datagrams, '127.0.0.1')]
    const before = datagrams.sendErrors
    datagrams.sendTogether(() => {
      socket.send(bytesOf('x'), 1, 'sip.example.com', 5000)
      socket.send(bytesOf('x'), 1, '::1', 5000)
      socket.send(bytesOf('x'), 1, '255.255.255.255', 5000)
      socket.send(bytesOf('heard'), 5, '127.0.0.1', b.port)
      socket.send(new Uint8Array(70_000), 70_000, '127.0.0.1', b.port)
    })
    assert.is(datagrams.sendErrors, before + 4)
    await until(datagrams, () => b.came.length === 1)
    for (const one of [socket, b.socket]) one.close()
  })

  test(`${way}: long datagrams that are fetched together are each whole`, async () => {
    const [a, b, c] = [
      await listener(datagrams, '127.0.0.1'),
      await listener(datagrams, '127.0.0.1'),
      await listener(datagrams, '127.0.0.1'),
    ]
    const texts = [b, c].map(({ port }, i) => {
      const text = 'pq'.charAt(i).repeat(3000 + i)
      a.socket.send(bytesOf(text), text.length, '127.0.0.1', port)
      return text
    })
    await until(datagrams, () => b.came.length === 1 && c.came.length === 1)
    assert.equal([b.came[0]!.text, c.came[0]!.text], texts)
    for (const { socket } of [a, b, c]) socket.close()
  })
}

test('of native sockets the ring is chosen where the system gives one', async () => {
  if (chosen.kind === 'native') assert.is(chosen.calls, (await native('ring')) === null ? 'single' : 'ring')
})

test('packets are fetched without a clock too: of sockets that have no room yet', async () => {
  const { socket, port, came } = await listener(chosen, '127.0.0.1')
  const sender = createSocket('udp4')
  sender.send('hello', port, '127.0.0.1')
  for (let i = 0; i < 1000 && came.length === 0; i++) await sleep(2)
  assert.is(came.length, 1)
  socket.close()
  await new Promise<void>(resolve => sender.close(() => resolve()))
})

for (const host of ['127.0.0.1', '::1'] as const) {
  const sentence = `audio to ${host} is marked as voice (EF, RFC 4594 §4.1)`
  if (chosen.kind !== 'native' || (host === '::1' && !hasIpv6)) test.skip(sentence, 'not on this system')
  else {
    test(sentence, async () => {
      const { markReader } = await import('./mark-reader.ts')
      const port = await freePort()
      const reader = markReader(host, port)
      const { socket } = await listener(chosen, host)
      let mark: number | null = null
      await until(chosen, () => {
        socket.send(bytesOf('x'), 1, host, port)
        mark ??= reader.next()
        return mark !== null
      })
      assert.is(mark, 46)
      socket.close()
      reader.close()
    })
  }
}

test('what a thread has opened by itself is closed by its list when it has died, once, and not what it had closed', async () => {
  if (chosen.kind !== 'native') return
  const { AF_INET, Libc, SharedMemory } = await import('../../../media/rtp/datagrams/libc.ts')
  const memory = newDescriptorList()
  const libc = new Libc(new OwnDescriptors(memory))
  const params = new SharedMemory(120)
  const opened = [libc.socket(AF_INET), libc.epoll(), libc.ring(8, params.address)].filter(fd => fd >= 0)
  assert.ok(opened.length >= 2)
  libc.close(libc.socket(AF_INET))
  for (const fd of opened) fstatSync(fd)
  const ofMainThread = new OwnDescriptors(memory)
  assert.is(ofMainThread.closeAll(), opened.length)
  for (const fd of opened) assert.throws(() => fstatSync(fd), /EBADF/)
  assert.is(ofMainThread.closeAll(), 0)
})

test.run()
