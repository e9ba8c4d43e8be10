// One database: it reads the OpenAPI document, which is made of the routes.
import * as assert from 'uvu/assert'
import { PREFIXES } from '../../../control/kernel/ids.ts'
import { suite } from '../../harness.ts'
import { makeWholeApp } from '../whole-app.ts'
import { branches, type Shape } from './shapes.ts'
import { FIELDS, ID_PREFIXES, OPERATIONS } from './specification.ts'

const test = suite('control/conformance/specification')

interface Parameter {
  name: string
  in: string
  required: boolean
  schema: Shape
}
interface Operation {
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Shape }> }
  responses: Record<string, { content?: Record<string, { schema: { $ref: string } }> }>
}
interface Description {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Shape> }
}

const whole = await makeWholeApp()
const { paths, components }: Description = (await whole.app.inject({ url: '/openapi.json' })).json()

const operationOf = (line: string): Operation => {
  const [method = '', path = ''] = line.split(' ')
  const operation = paths[`/v1${path}`]?.[method.toLowerCase()]
  if (operation === undefined) throw new Error(`no ${line}`)
  return operation
}

/** The shape at a path such as `stages[].key`, and whether every object on the way has to have it. */
function at(shape: Shape, path: string): { shape: Shape; required: boolean } {
  let [here, required] = [shape, true]
  for (const name of path.replaceAll('[]', '.[]').split('.')) {
    const part = branches(here).parts[0]!
    const next = name === '[]' ? part.items : part.properties?.[name]
    if (next === undefined) throw new Error(`nothing at ${path}`)
    if (name !== '[]') required &&= part.required?.includes(name) ?? false
    here = next
  }
  return { shape: here, required }
}

/** What is wrong with a field by the type that the specification gives it; null: nothing. */
function faultOf(shape: Shape, type: string): string | null {
  const { parts, nullable } = branches(shape)
  const types = parts.flatMap(part => part.type ?? [])
  if (!type.endsWith('*') && (nullable || types.includes('null')) !== type.endsWith('?')) return 'null or not'
  const bare = type.replace(/[?*]$/, '')
  if (bare.endsWith('[]')) return types[0] === 'array' ? faultOf(parts[0]!.items!, bare.slice(0, -2)) : 'no list'
  if (['string', 'integer', 'number', 'boolean', 'object'].includes(bare)) return types[0] === bare ? null : `${types}`
  const { enum: words, description = '' } = parts[0] as Shape & { description?: string }
  const missing = bare.split('|').filter(word => !(words?.includes(word) ?? description.includes(word)))
  return missing.length === 0 ? null : `lacks ${missing}`
}

for (const [object, fields] of Object.entries(FIELDS)) {
  test(`${object} has the fields of its table, always present, of their types`, () => {
    for (const field of fields.split(',')) {
      const [path = '', type = ''] = field.trim().split(' ')
      const { shape, required } = at(components.schemas[object]!, path)
      assert.is(faultOf(shape, type), null, `${object}.${path} is to be ${type}`)
      assert.ok(required, `${object}.${path} is not always there`)
    }
  })
}

for (const [line, success, errors, takes] of OPERATIONS) {
  test(`${line} answers and takes what its row says`, () => {
    const operation = operationOf(line)
    const [status = '', reply] = success.split(' ')
    const content = operation.responses[status]?.content?.['application/json']
    assert.is(content?.schema.$ref, `#/components/schemas/${reply}`)
    for (const error of `400 401 403 429 500 ${errors}`.trim().split(' ')) assert.ok(operation.responses[error], error)
    const headers = operation.parameters?.filter(one => one.in === 'header').map(({ name }) => name)
    const isRetried = line.startsWith('POST') || line.startsWith('DELETE')
    assert.equal(headers, ['Service-Version', ...(isRetried ? ['Idempotency-Key'] : [])])
    for (const taken of takes.split(/\s+/).filter(word => word !== '')) {
      const name = taken.replace('!', '')
      assert.is(isRequired(operation, name), taken.endsWith('!'), name)
    }
  })
}

/** Whether what an operation takes has to be there; throws when it takes no such thing. */
function isRequired({ parameters = [], requestBody }: Operation, name: string): boolean {
  const inQuery = parameters.find(one => one.in === 'query' && one.name === name)
  if (inQuery !== undefined) return inQuery.required
  return at(requestBody?.content['application/json']?.schema ?? {}, name).required
}

test('limits: page size, cursors, metadata, ttl_s, PINs and priorities have the bounds of their table', () => {
  for (const line of OPERATIONS.flatMap(([line, , , takes]) => (takes.includes('limit') ? [line] : []))) {
    const query = new Map(operationOf(line).parameters?.map(({ name, schema }) => [name, schema]))
    const { minimum, maximum, default: size } = query.get('limit')!
    assert.equal([minimum, maximum, size], [1, 100, 20], line)
    for (const cursor of ['starting_after', 'ending_before']) {
      assert.equal([query.get(cursor)?.minLength, query.get(cursor)?.maxLength], [1, 512], line)
    }
  }
  const bodyOf = (line: string) => operationOf(line).requestBody!.content['application/json']!.schema
  for (const line of ['POST /client_tokens', 'POST /callbacks']) {
    const { maxProperties, propertyNames, additionalProperties } = at(bodyOf(line), 'metadata').shape
    assert.equal([maxProperties, propertyNames], [50, { maxLength: 40 }])
    assert.equal(additionalProperties, { type: 'string', maxLength: 500 })
  }
  const boundsOf = (line: string, path: string) => {
    const { minimum, maximum } = at(bodyOf(line), path).shape
    return [minimum, maximum]
  }
  assert.equal(boundsOf('POST /client_tokens', 'ttl_s'), [300, 900])
  assert.equal(boundsOf('POST /callbacks', 'priority'), [1, 10])
  assert.equal(boundsOf('PATCH /queues/{id}', 'callbacks.priority'), [1, 10])
  assert.equal(boundsOf('PATCH /copilot_profiles/{id}', 'kb.min_score'), [0, 1])
})

test('every answer that shows an object says whether it is of live mode', () => {
  for (const [name, shape] of Object.entries(components.schemas)) {
    const { properties = {} } = shape
    const isList = properties.object?.enum?.includes('list')
    if (properties.object === undefined || isList) continue
    assert.is(branches(properties.livemode ?? {}).parts[0]?.type, 'boolean', name)
    assert.ok(shape.required?.includes('livemode'), name)
  }
})

test('IDs have the prefix of their object', () => {
  for (const [object, prefix] of Object.entries(ID_PREFIXES)) {
    assert.is((PREFIXES as Record<string, string>)[object], prefix, object)
  }
})

test.after(whole.close)
test.run()
