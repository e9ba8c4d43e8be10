import Type from 'typebox'
import * as assert from 'uvu/assert'
import '../../../../control/wiring/event-catalog.ts'
import { deprecationAt, deprecationHeaders, deprecationsOf } from '../../../../control/http/versions/deprecation.ts'
import { olderOperation, renderEvent } from '../../../../control/http/versions/translate.ts'
import { nullable } from '../../../../control/kernel/schema.ts'
import { renamed, revalued } from '../../../../control/kernel/versions/shape.ts'
import { type ApiVersion, added, changed, deprecated } from '../../../../control/kernel/versions/version.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/http/versions/translate')

const where = { objects: ['cup'], operations: ['createCup'] }

/** A cup was made of `stuff`, then of `material`, which had words where it now has numbers; then `material` became `made_of`. */
const VERSIONS: ApiVersion[] = [
  { date: '2020-01-01', changes: [added('Cups.')] },
  { date: '2021-01-01', changes: [changed('1', { ...where, shape: renamed('stuff', 'material') })] },
  {
    date: '2022-01-01',
    changes: [
      changed('2', {
        ...where,
        shape: revalued<string, number>('material', {
          schema: { type: 'string', enum: ['clay', 'tin'] },
          up: word => ['clay', 'tin'].indexOf(word),
          down: number => ['clay', 'tin'][number] ?? '',
        }),
      }),
      changed('3', { ...where, shape: renamed('material', 'made_of') }),
      deprecated('Version 2020-01-01.', { version: '2020-01-01', sunset: '2023-01-01' }),
      deprecated('`breakCup`.', { operations: ['breakCup'], sunset: '2023-06-01' }),
    ],
  },
]

const cup = Type.Object({
  object: Type.Literal('cup'),
  made_of: nullable(Type.Integer()),
  metadata: Type.Object({}, { additionalProperties: true }),
})
const saucer = Type.Object({ object: Type.Literal('saucer'), made_of: Type.Integer() })
const tray = Type.Object({
  object: Type.Literal('tray'),
  best: nullable(cup),
  items: Type.Array(Type.Union([cup, saucer])),
  made_of: Type.Integer(),
})
const createCup = { id: 'createCup', body: Type.Object({ made_of: Type.Integer() }), reply: cup }

test('responses are translated back through each version that came since', () => {
  const answer = { object: 'cup', made_of: 1, metadata: {} }
  const seen = (version: string) => olderOperation(createCup, version, VERSIONS)!.down(answer)
  assert.equal(seen('2021-01-01'), { object: 'cup', material: 'tin', metadata: {} })
  assert.equal(seen('2020-01-01'), { object: 'cup', stuff: 'tin', metadata: {} })
  assert.equal(answer, { object: 'cup', made_of: 1, metadata: {} })
  assert.is(olderOperation(createCup, '2022-01-01', VERSIONS), null)
})

test('a request of an older version goes up through each version, its schema and the names of its parameters down', () => {
  const older = olderOperation(createCup, '2020-01-01', VERSIONS)!
  assert.equal(older.up({ stuff: 'tin' }), { made_of: 1 })
  assert.equal(older.up({}), {})
  assert.equal(older.body, {
    ...createCup.body,
    required: ['stuff'],
    properties: { stuff: { type: 'string', enum: ['clay', 'tin'] } },
  })
  assert.equal(
    ['made_of', 'made_of.part', 'made_of[1]', 'made_of_tin'].map(path => older.param(path)),
    ['stuff', 'stuff.part', 'stuff[1]', 'made_of_tin'],
  )
})

test('an object is translated wherever an answer has it, and nothing that only looks like one', () => {
  const older = olderOperation({ id: 'getTray', reply: tray }, '2020-01-01', VERSIONS)!
  const metadata = { cup: { object: 'cup', made_of: 1 } }
  const answer = {
    object: 'tray',
    made_of: 1,
    best: { object: 'cup', made_of: null, metadata },
    items: [
      { object: 'cup', made_of: 0, metadata },
      { object: 'saucer', made_of: 0 },
    ],
  }
  assert.equal(older.down(answer), {
    object: 'tray',
    made_of: 1,
    best: { object: 'cup', stuff: null, metadata },
    items: [
      { object: 'cup', stuff: 'clay', metadata },
      { object: 'saucer', made_of: 0 },
    ],
  })
  assert.equal((older.down({ ...answer, best: null }) as { best: null }).best, null)
  assert.is(olderOperation({ id: 'getSaucer', reply: saucer }, '2020-01-01', VERSIONS), null)
})

test('of an event, what was there before is translated too', () => {
  const versions = [
    { date: '2020-01-01', changes: [] },
    {
      date: '2021-01-01',
      changes: [changed('x', { objects: ['call'], operations: [], shape: renamed('state', 'status') })],
    },
  ]
  const event = {
    type: 'call.ended',
    api_version: '2021-01-01',
    data: { object: { object: 'call', status: 'completed' }, previous_attributes: { status: 'in_progress' } },
  }
  const shown = renderEvent(event, '2020-01-01', versions)
  assert.equal(shown, {
    type: 'call.ended',
    api_version: '2020-01-01',
    data: { object: { object: 'call', state: 'completed' }, previous_attributes: { state: 'in_progress' } },
  })
  assert.equal(renderEvent(shown, '2021-01-01', versions), event)
  const unknown = { ...event, type: 'of.another.release' }
  assert.equal(renderEvent(unknown, '2020-01-01', versions).data, event.data)
})

test('a version or an operation is deprecated from its announcement on; of two sunsets the first counts', () => {
  const at = (version: string, operation: string, time: string) =>
    deprecationAt(deprecationsOf({ version, operation }, VERSIONS), new Date(time))?.sunset ?? null
  assert.is(at('2020-01-01', 'createCup', '2021-12-31T23:59:59Z'), null)
  assert.is(at('2020-01-01', 'createCup', '2022-01-01T00:00:00Z'), '2023-01-01')
  assert.is(at('2022-01-01', 'createCup', '2022-01-01T00:00:00Z'), null)
  assert.is(at('2022-01-01', 'breakCup', '2022-01-01T00:00:00Z'), '2023-06-01')
  assert.is(at('2020-01-01', 'breakCup', '2022-01-01T00:00:00Z'), '2023-01-01')
})

test('Deprecation is a date of RFC 9745, Sunset one of RFC 8594', () => {
  const deprecation = { by: '2022-01-01', since: '2022-01-01', sunset: '2023-01-01' }
  assert.equal(deprecationHeaders(deprecation, 'https://a.example'), {
    Deprecation: '@1640995200',
    Sunset: 'Sun, 01 Jan 2023 00:00:00 GMT',
    Link: '<https://a.example/changelog#2022-01-01>; rel="deprecation"; type="text/html", <https://a.example/changelog#2022-01-01>; rel="sunset"; type="text/html"',
  })
})

test.run()
