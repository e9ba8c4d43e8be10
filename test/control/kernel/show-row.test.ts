import Type from 'typebox'
import * as assert from 'uvu/assert'
import { nullable, timestamp } from '../../../control/kernel/schema.ts'
import { sentColumns, showRow } from '../../../control/kernel/show-row.ts'
import { suite } from '../../harness.ts'

const test = suite('control/kernel/show-row')

const schema = Type.Object({
  object: Type.Literal('kite'),
  id: Type.String(),
  livemode: Type.Boolean(),
  tags: Type.Array(Type.String()),
  wind: nullable(Type.Object({ speed: Type.Integer() })),
  flies: nullable(Type.Boolean()),
  note: nullable(Type.String()),
  created: timestamp(),
})

interface Row {
  organisation_id: string
  id: string
  livemode: number
  tags: string
  wind: string | null
  flies: number | null
  note: string | null
  created: string
}

const row: Row = {
  organisation_id: 'org_1',
  id: 'kite_1',
  livemode: 0,
  tags: '["red"]',
  wind: null,
  flies: null,
  note: '{"no": "JSON"}',
  created: '2026-11-25T00:00:00.000Z',
}

test('a field is the column of its name: a boolean from 0 or 1, an object or a list from JSON, a text as it is', () => {
  const { organisation_id: _, ...columns } = row
  assert.equal(showRow(schema, row), {
    ...columns,
    object: 'kite',
    livemode: false,
    tags: ['red'],
  })
  const flying = showRow(schema, { ...row, livemode: 1, wind: '{"speed":4}', flies: 1 })
  assert.equal([flying.livemode, flying.wind, flying.flies], [true, { speed: 4 }, true])
})

test('what is made in another way takes the place of the column, and the fields stay in the order of the schema', () => {
  const shown = showRow(schema, row, { note: 'seen', created: 'now' })
  assert.equal([shown.note, shown.created], ['seen', 'now'])
  assert.equal(Object.keys(shown), Object.keys(schema.properties))
})

test('what a request sends is stored as it is read, and what it does not send has no column', () => {
  const sent = { tags: ['red'], wind: null, flies: true, note: 'up', created: undefined }
  const columns = sentColumns(sent)
  assert.equal(columns, { tags: '["red"]', wind: null, flies: 1, note: 'up' })
  const { tags, wind, flies, note } = showRow(schema, { ...row, ...columns })
  assert.equal({ tags, wind, flies, note, created: undefined }, sent)
})

test('the compiler asks for a field that no column holds', () => {
  const { note: _, ...rest } = row
  // @ts-expect-error: there is no note
  showRow(schema, rest)
  assert.is(showRow(schema, rest, { note: null }).note, null)
})

test.run()
