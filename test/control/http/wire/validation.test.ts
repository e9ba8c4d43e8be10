import { Ajv } from 'ajv'
import * as assert from 'uvu/assert'
import { compilerOf } from '../../../../control/http/wire/validation.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/http/wire/validation')

/** What Ajv itself keeps; it has no name for it that it promises. */
const keptBy = (ajv: Ajv): number => (ajv as unknown as { _cache: Map<unknown, unknown> })._cache.size

const schemaOf = (n: number): object => ({ type: 'object', properties: { [`field_${n}`]: { type: 'integer' } } })

test('of the schemas that were ever compiled only so many are kept, those that were wanted last', () => {
  const ajv = new Ajv()
  const compile = compilerOf(ajv, 3)
  const first = compile(schemaOf(0))
  const kept = keptBy(ajv)
  for (let n = 1; n <= 50; n++) {
    compile(schemaOf(n))
    assert.is(compile(schemaOf(0)), first, 'one that is wanted again and again stays')
  }
  assert.is(keptBy(ajv), kept)
  const second = compile(schemaOf(1))
  assert.is(second({ field_1: 'one' }), false, 'one that had made way judges as before')
  assert.is(second({ field_1: 1 }), true)
})

test.run()
