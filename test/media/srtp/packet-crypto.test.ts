import { createCipheriv, createHash, createHmac } from 'node:crypto'
import * as assert from 'uvu/assert'
import { openNativeCrypto } from '../../../media/srtp/native-crypto.ts'
import { NodeCrypto } from '../../../media/srtp/node-crypto.ts'
import { MAX_PACKET_BYTES } from '../../../media/srtp/packet-cipher.ts'
import { suite } from '../../harness.ts'

const bytesOf = (seed: string, length: number): Uint8Array => {
  const parts = Array.from({ length: Math.ceil(length / 20) }, (_, i) =>
    createHash('sha1').update(`${seed} ${i}`).digest(),
  )
  return new Uint8Array(Buffer.concat(parts).subarray(0, length))
}
const keysOf = (seed: string) => ({
  encryption: bytesOf(`${seed} key`, 16),
  salt: bytesOf(`${seed} salt`, 14),
  authentication: bytesOf(`${seed} tag`, 20),
})

/** The counter block of a packet, as RFC 3711 §4.1.1 has it. */
function counterBlock(salt: Uint8Array, ssrc: number, index: number): Uint8Array {
  const sum = (BigInt(ssrc) << 64n) ^ (BigInt(index) << 16n) ^ BigInt(`0x${Buffer.from(salt).toString('hex')}0000`)
  return new Uint8Array(Buffer.from(sum.toString(16).padStart(32, '0'), 'hex'))
}

const test = suite('media/srtp/packet-crypto')

let problem = ''
function native(aes: 'of the processor' | 'of the library'): ReturnType<typeof openNativeCrypto> | null {
  try {
    return openNativeCrypto(aes)
  } catch (error) {
    problem = (error as Error).message
    return null
  }
}

for (const [name, open] of [
  ['node:crypto', (keys: ReturnType<typeof keysOf>) => new NodeCrypto(keys)] as const,
  ['OpenSSL itself, its AES of the processor', native('of the processor')] as const,
  ['OpenSSL itself, its AES of every machine', native('of the library')] as const,
]) {
  const sentence = `by ${name}: the key stream and the tag of packets of any length, and of streams that take turns, are those of the RFC`
  if (open === null) {
    test.skip(sentence, problem)
    continue
  }
  test(sentence, () => {
    const streams = ['one', 'other'].map(seed => ({ keys: keysOf(seed), crypto: open(keysOf(seed)) }))
    for (const length of [12, 13, 28, 64, 172, 182, 999, MAX_PACKET_BYTES]) {
      for (const [ssrc, index] of [
        [0, 0],
        [0xdecafbad, 0xffff],
        [0xffffffff, 0x123456789abc],
      ] as const) {
        for (const { keys, crypto } of streams) {
          const packet = bytesOf(String(length), length)
          crypto.work.set(packet)
          crypto.apply(12, length, ssrc, index)
          const cipher = createCipheriv('aes-128-ctr', keys.encryption, counterBlock(keys.salt, ssrc, index))
          const expected = Buffer.concat([packet.subarray(0, 12), cipher.update(packet.subarray(12))])
          assert.equal([...crypto.work.subarray(0, length)], [...expected])
          const tag = createHmac('sha1', keys.authentication).update(expected).digest()
          assert.equal([...crypto.digest(length)], [...tag])
        }
      }
    }
  })
}

test.run()
