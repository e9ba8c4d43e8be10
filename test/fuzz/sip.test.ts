// Takes a core: it repeats one thing as fast as it can.
import { readdirSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { Product } from '../../bench/product.ts'
import { curtain } from '../e2e/scene.ts'
import { suite } from '../harness.ts'
import { Health } from './health.ts'
import { careless, DESCRIPTIONS, template } from './mischief.ts'
import { Random } from './random.ts'
import { offer, RawCall, request } from './raw-caller.ts'

const test = suite('fuzz/sip')
const TORTURE = new URL('../../fixtures/sip/torture/', import.meta.url)
const TIMEOUT = { timeoutMs: 60_000 }

let product: Product
let health: Health

test.before(async () => {
  product = await Product.start({ env: { TANDEM_MAX_CALLS: '400' } })
  health = await Health.of(product)
})
test.after(async () => {
  await curtain(product)
})

test(
  'mutations of valid requests over UDP harm nothing',
  async () => {
    const random = new Random(101)
    const socket = await careless()
    for (let n = 0; n < 600; n++) {
      await socket.send(random.mutate(Buffer.from(request(template(random, product.sip, socket.port, n)))), product.sip)
    }
    await health.check(`seed ${random.seed}`)
    socket.close()
  },
  TIMEOUT,
)

test(
  'responses that belong to nothing harm nothing',
  async () => {
    const random = new Random(102)
    const socket = await careless()
    for (let n = 0; n < 300; n++) {
      const text = request(template(random, product.sip, socket.port, n))
      const status = random.pick([
        '100 Trying',
        '180',
        '200 OK',
        '302 Moved',
        '401 No',
        '503 X',
        '699 Y',
        '99 Z',
        '1000 A',
      ])
      await socket.send(
        random.mutate(Buffer.from(text.replace(/^.*/, `SIP/2.0 ${status}`)), random.int(3)),
        product.sip,
      )
    }
    await health.check(`seed ${random.seed}`)
    socket.close()
  },
  TIMEOUT,
)

test(
  'the torture messages of RFC 4475 and their mutations harm nothing',
  async () => {
    const random = new Random(103)
    const socket = await careless()
    const messages = readdirSync(TORTURE)
      .filter(name => name.endsWith('.dat'))
      .map(name => readFileSync(new URL(name, TORTURE)))
    for (const message of messages) {
      await socket.send(message, product.sip)
      for (let n = 0; n < 4; n++) await socket.send(random.mutate(message), product.sip)
    }
    await health.check(`seed ${random.seed}`)
    socket.close()
  },
  TIMEOUT,
)

test(
  'descriptions with impossible ports, addresses, codecs and numbers harm nothing',
  async () => {
    const random = new Random(104)
    const socket = await careless()
    const sent = [...DESCRIPTIONS.map(change => change(offer(41_000)))]
    for (let n = 0; n < 120; n++) sent.push(random.mutate(Buffer.from(offer(41_000))).toString('latin1'))
    for (const [n, body] of sent.entries()) {
      const text = request({ ...template(random, product.sip, socket.port, n), method: 'INVITE', user: '1002', body })
      await socket.send(Buffer.from(text, 'latin1'), product.sip)
    }
    await health.check(`seed ${random.seed}`)
    socket.close()
  },
  TIMEOUT,
)

test(
  'contacts, routes and vias that lead nowhere harm nothing',
  async () => {
    const random = new Random(105)
    const socket = await careless()
    const targets = [
      '127.0.0.1:0',
      '127.0.0.1:65536',
      '127.0.0.1:99999',
      '[::1]:5060',
      '0.0.0.0:1',
      '255.255.255.255:9',
    ]
    targets.push(
      'no.such.host.invalid',
      '127.0.0.1:1;transport=tcp',
      '127.0.0.1:1;transport=tls',
      '127.0.0.1:0;transport=tcp',
    )
    targets.push('999.999.999.999', `${'a'.repeat(300)}.invalid`, '127.0.0.1:1;maddr=127.0.0.1:0', '%00', '[::zz]')
    for (const [n, target] of targets.entries()) {
      const valid = request({
        ...template(random, product.sip, socket.port, n),
        method: 'INVITE',
        user: '1002',
        body: offer(42_000),
      })
      const options = request({ ...template(random, product.sip, socket.port, 500 + n), method: 'OPTIONS' })
      const [host] = target.split(';')
      for (const text of [
        valid.replace(/^Contact:.*$/m, `Contact: <sip:x@${target}>`),
        valid.replace('Max-Forwards', `Record-Route: <sip:${target};lr>\r\nMax-Forwards`),
        valid.replace(/^Via: SIP\/2.0\/UDP [^;]*;/m, `Via: SIP/2.0/UDP ${host};`),
        options.replace(/^Via: SIP\/2.0\/UDP [^;]*;(.*);rport/m, `Via: SIP/2.0/UDP ${host};$1`),
        options.replace(/^Via: SIP\/2.0\/UDP [^;]*;(.*);rport/m, `Via: SIP/2.0/UDP 127.0.0.1;maddr=${host};$1`),
      ]) {
        const unique = text.replaceAll(/z9hG4bK/g, `z9hG4bK${random.int(1e9)}`)
        const call = unique.replace(/^Call-ID: .*$/m, `Call-ID: way-${n}-${random.int(1e9)}`)
        await socket.send(Buffer.from(call), product.sip)
      }
    }
    await health.check(`seed ${random.seed}`)
    socket.close()
  },
  TIMEOUT,
)

test(
  'broken requests inside a running call harm neither it nor others',
  async () => {
    const random = new Random(106)
    for (let n = 0; n < 6; n++) {
      const call = await RawCall.open('1002', product.sip, `${random.seed}-${n}`)
      for (let i = 0; i < 30; i++) {
        const method = random.pick(['INVITE', 'INVITE', 'ACK', 'INFO', 'UPDATE', 'OPTIONS', 'PRACK', 'BYE', 'CANCEL'])
        const body = method === 'INVITE' ? { body: random.pick(DESCRIPTIONS)(offer(call.rtp.port)) } : {}
        await call.say(random.mutate(Buffer.from(call.text(method, body), 'latin1'), random.int(3)))
      }
      await call.hangup()
    }
    await health.check(`seed ${random.seed}`)
  },
  TIMEOUT,
)

test(
  'huge messages, huge headers and thousands of headers over UDP harm nothing',
  async () => {
    const random = new Random(107)
    const socket = await careless()
    const base = { ...template(random, product.sip, socket.port, 0), method: 'OPTIONS' }
    const headers = [
      [`X-Long: ${'x'.repeat(60_000)}`],
      Array.from({ length: 5000 }, (_, n) => `X-${n}: y`),
      [`Via: ${'SIP/2.0/UDP a;branch=z,'.repeat(2000)}`],
      [`Subject: ${'"\\'.repeat(20_000)}`],
      [`X: ${'('.repeat(50_000)}`],
      [`Accept:${' '.repeat(50_000)}x`],
      ['Content-Length: 60000', 'Content-Length: 3'],
      [`Record-Route: ${'<sip:a;lr>,'.repeat(5000)}<sip:b;lr>`],
      [`Contact: ${'<'.repeat(30_000)}`],
      [`Folded:${'\r\n x'.repeat(10_000)}`],
    ]
    for (const [n, extra] of headers.entries()) {
      for (const method of ['OPTIONS', 'INVITE']) {
        const t = { ...base, method, callId: `huge-${method}-${n}`, branch: `z9hG4bKhuge${method}${n}`, headers: extra }
        await socket.send(Buffer.from(request(t)).subarray(0, 65_507), product.sip)
      }
    }
    for (let n = 0; n < 50; n++) await socket.send(random.bytes(1 + random.int(2000)), product.sip)
    await socket.send(Buffer.alloc(0), product.sip)
    await health.check(`seed ${random.seed}`)
    socket.close()
  },
  TIMEOUT,
)

/** Sends all parts, whatever comes back; resolves when the other side has closed, or 300 ms after the last byte. */
async function overTcp(parts: Uint8Array[]): Promise<void> {
  const socket: Socket = connect(product.sip.port, product.sip.host)
  socket.on('error', () => {})
  socket.resume()
  const closed = new Promise<void>(resolve => socket.on('close', () => resolve()))
  for (const part of parts) {
    if (socket.destroyed) break
    await new Promise<void>(written => socket.write(part, () => written()))
  }
  const patience = setTimeout(() => socket.resetAndDestroy(), 300)
  await closed
  clearTimeout(patience)
}

test(
  'garbage, lying lengths, over 64 KiB and endless headers over TCP harm nothing',
  async () => {
    const random = new Random(108)
    const valid = (n: number): Buffer =>
      Buffer.from(
        request({ ...template(random, product.sip, 5099, n), method: random.pick(['OPTIONS', 'INVITE']) }).replace(
          '/UDP',
          '/TCP',
        ),
      )
    const endless = Buffer.alloc(256 * 1024, 'X-Endless: y\r\n')
    const jobs: Uint8Array[][] = [
      [valid(0).subarray(0, 40), endless, endless],
      [
        Buffer.from(
          valid(1)
            .toString()
            .replace(/Content-Length: \d+/, 'Content-Length: 4000000000'),
        ),
        endless,
      ],
      [
        Buffer.from(
          valid(2)
            .toString()
            .replace(/Content-Length: \d+/, 'Content-Length: 70000'),
        ),
        endless,
      ],
      [
        Buffer.from(
          valid(3)
            .toString()
            .replace(/Content-Length: \d+/, 'Content-Length: -1'),
        ),
      ],
      [
        Buffer.from(
          valid(4)
            .toString()
            .replace(/Content-Length: \d+\r\n/, ''),
        ),
      ],
      [Buffer.alloc(1024 * 1024, '\r\n\r\n')],
      [Buffer.alloc(200_000)],
      [random.bytes(100_000)],
      [Buffer.concat(Array.from({ length: 300 }, (_, n) => valid(1000 + n)))],
    ]
    for (let n = 0; n < 60; n++) {
      const bytes = random.mutate(valid(2000 + n))
      const cut = random.int(bytes.length)
      jobs.push([bytes.subarray(0, cut), bytes.subarray(cut), valid(3000 + n)])
    }
    for (let n = 0; n < jobs.length; n += 10) await Promise.all(jobs.slice(n, n + 10).map(overTcp))
    await health.check(`seed ${random.seed}`)
  },
  TIMEOUT,
)

test.run()
