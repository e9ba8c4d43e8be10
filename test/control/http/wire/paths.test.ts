import * as assert from 'uvu/assert'
import { Paths, segmentsOf } from '../../../../control/http/wire/paths.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/http/paths')

const paths = new Paths<string>()
for (const line of [
  'GET /queues',
  'GET /queues/:id',
  'GET /queues/stats',
  'DELETE /queues/:id',
  'GET /queues/:id/stats',
  'POST /queues/:queue_id/agents/:user_id',
]) {
  const [method, path] = line.split(' ') as [string, string]
  paths.add(method, path, line)
}
paths.add('GET', '/docs')

const find = (method: string, target: string) => paths.find(method, segmentsOf(target) ?? [])

test('a path is served by the route that it fits, with its parameters', () => {
  assert.equal(find('GET', '/queues?limit=1'), { value: 'GET /queues', params: {} })
  assert.equal(find('GET', '/queues/q_1/stats'), { value: 'GET /queues/:id/stats', params: { id: 'q_1' } })
  const added = { value: 'POST /queues/:queue_id/agents/:user_id', params: { queue_id: 'q_1', user_id: 'usr_1' } }
  assert.equal(find('POST', '/queues/q_1/agents/usr_1'), added)
  for (const other of ['/', '/queue', '/queues/q_1/agents', '/queues/q_1/stats/now']) {
    assert.is(find('GET', other), undefined, other)
  }
})

test('a name of ours is preferred to a parameter, of another method too only where that is served', () => {
  assert.is(find('GET', '/queues/stats')?.value, 'GET /queues/stats')
  assert.equal(find('DELETE', '/queues/stats'), { value: 'DELETE /queues/:id', params: { id: 'stats' } })
  assert.equal(find('GET', '/queues/stats/stats')?.params, { id: 'stats' })
})

test('a parameter is neither empty nor longer than 200 characters', () => {
  for (const path of ['/queues/', '/queues//stats', `/queues/${'a'.repeat(201)}`]) {
    assert.is(find('GET', path), undefined, path)
  }
  assert.is(find('GET', `/queues/${'a'.repeat(200)}`)?.value, 'GET /queues/:id')
})

test('an encoded slash belongs to its segment, and what cannot be decoded names nothing', () => {
  assert.equal(find('GET', '/queues/a%2Fb%20c')?.params, { id: 'a/b c' })
  assert.is(find('GET', '/queues%2Fstats'), undefined)
  assert.is(segmentsOf('/queues/%zz'), null)
})

test('a request target in absolute form names its path (RFC 9112 §3.2.2)', () => {
  assert.equal(segmentsOf('http://tandem.example.com/queues/q_1?limit=1'), ['queues', 'q_1'])
})

test('all methods of a path are told, sorted', () => {
  assert.equal(paths.methods(['queues', 'stats']), ['DELETE', 'GET'])
  assert.equal(paths.methods(['docs']), ['GET'])
  assert.equal(paths.methods(['nowhere']), [])
})

test('what is served twice is told when it is added', () => {
  assert.throws(() => paths.add('GET', '/queues/:other', 'again'), 'GET /queues/:other is served twice')
})

test.run()
