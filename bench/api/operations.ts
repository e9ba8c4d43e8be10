import { randomUUID } from 'node:crypto'
import type { Ask } from './client.ts'
import type { Served } from './messages.ts'

/** What is measured: a name, which bare route it is held against, and how each request is made. */
export interface Operation {
  name: string
  bare: 'GET' | 'POST'
  next: () => Ask
}

export const bareOperations = ({ barePort, ids }: Served): Record<'GET' | 'POST', () => Ask> => ({
  GET: () => ({ port: barePort, method: 'GET', path: '/' }),
  POST: () => ({ port: barePort, method: 'POST', path: '/', body: { id: ids.call, name: 'bare' } }),
})

/** The main reads and writes. */
export function operations({ port, key, ids }: Served): Operation[] {
  const authorization = `Bearer ${key}`
  const get = (path: string) => (): Ask => ({ port, method: 'GET', path: `/v1${path}`, headers: { authorization } })
  const send =
    (method: 'POST' | 'PATCH', path: string, body: () => object, more: () => Record<string, string> = () => ({})) =>
    (): Ask => ({ port, method, path: `/v1${path}`, body: body(), headers: { authorization, ...more() } })
  let made = 0
  const callback = () => ({ phone: `+97254${1_000_000 + made++}`, name: 'Dana' })
  const token = () => ({ assistant_id: ids.assistant, origin: 'https://shop.example.com' })
  const replayed = randomUUID()
  return [
    { name: 'GET /calls/{id}', bare: 'GET', next: get(`/calls/${ids.call}`) },
    { name: 'GET /calls, 20 of them', bare: 'GET', next: get('/calls?limit=20') },
    { name: 'GET /callbacks, 20 of them', bare: 'GET', next: get('/callbacks?limit=20') },
    { name: 'POST /callbacks', bare: 'POST', next: send('POST', '/callbacks', callback) },
    {
      name: 'POST /callbacks with a key',
      bare: 'POST',
      next: send('POST', '/callbacks', callback, () => ({ 'idempotency-key': randomUUID() })),
    },
    { name: 'POST /client_tokens', bare: 'POST', next: send('POST', '/client_tokens', token) },
    {
      name: 'PATCH /queues/{id}',
      bare: 'POST',
      next: send('PATCH', `/queues/${ids.queue}`, () => ({ name: `Q${made++}` })),
    },
    {
      name: 'POST /callbacks replayed',
      bare: 'POST',
      next: send(
        'POST',
        '/callbacks',
        () => ({ phone: '+972541111111' }),
        () => ({ 'idempotency-key': replayed }),
      ),
    },
  ]
}
