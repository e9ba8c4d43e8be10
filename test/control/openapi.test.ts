import { Validator } from '@seriousme/openapi-schema-validator'
import * as assert from 'uvu/assert'
import { suite } from '../harness.ts'
import { makeWholeApp } from './whole-app.ts'

const test = suite('control/openapi')

test('the description is valid OpenAPI 3.1', async () => {
  const whole = await makeWholeApp()
  const answer = await whole.app.inject({ url: '/openapi.json' })
  const document = answer.json()
  assert.match(document.openapi, /^3\.1/)
  const result = await new Validator().validate(document)
  assert.ok(result.valid, JSON.stringify(result.errors ?? '').slice(0, 2000))
  await whole.close()
})

test.run()
