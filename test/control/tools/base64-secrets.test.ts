import * as assert from 'uvu/assert'
import { blotter } from '../../../control/secrets/blot.ts'
import { suite } from '../../harness.ts'

const test = suite('control/tools/base64-secrets')

const SECRET = 'k7#Qp2!xZ9'

for (const encoding of ['base64', 'base64url'] as const)
  test(`no character of a secret in ${encoding} is shown, whatever surrounds it`, () => {
    for (let length = 8; length <= SECRET.length; length++) {
      const secret = SECRET.slice(0, length)
      const blot = blotter(new Map([['S8', secret]]))
      for (const before of ['', 'a', 'ab', 'abc'])
        for (const after of ['', 'y', 'yz', 'xyz']) {
          const whole = Buffer.from(before + secret + after).toString(encoding)
          const [first, last] = [before.length, before.length + length]
          // A character of base64 holds six bits: it belongs to the secret if one of them does.
          const left = whole.slice(0, Math.floor((first * 8) / 6))
          const right = whole.slice(Math.ceil((last * 8) / 6)).replace(/^=+$/, '')
          assert.is(blot(`{"key":"${whole}"}`), `{"key":"${left}[secret:S8]${right}"}`, `${before}|${length}|${after}`)
          const cut = whole.slice(0, Math.ceil((first * 8) / 6) + 6)
          assert.is(blot(cut, true), `${left}[secret:S8]`, `cut: ${before}|${length}|${after}`)
        }
    }
  })

test.run()
