import { randomUUID } from 'node:crypto'
import type { Ask } from './client.ts'
import type { Served } from './messages.ts'

/** A measured operation: its name, and how each request is made. */
export interface Operation {
  name: string
  next: () => Ask
  /** What the bare server does to compare: it answers with the body of this path, or accepts a callback and, with `/inserted`, stores it. */
  bare: { copy: string } | { post: '/echoed' | '/inserted' }
}

let booked = 0
const booking = (): object => ({ phone: `+97254${1_000_000 + booked++}`, name: 'Dana' })

const PAGE = 20

const pathsOf = (ids: readonly string[], path: (id: string) => string) => ids.map(path) as [string, ...string[]]

export const bareAsk = ({ barePort }: Served, { bare }: Operation): (() => Ask) =>
  'copy' in bare
    ? () => ({ port: barePort, method: 'GET', path: '/' })
    : () => ({ port: barePort, method: 'POST', path: bare.post, body: booking() })

/** The main reads and writes. */
export function operations({ port, key, ids, calls }: Served): Operation[] {
  const authorization = `Bearer ${key}`
  const get = (path: string, ...others: string[]): Pick<Operation, 'next' | 'bare'> => {
    const paths = [path, ...others]
    let asked = 0
    return {
      next: () => ({ port, method: 'GET', path: `/v1${paths[asked++ % paths.length]}`, headers: { authorization } }),
      bare: { copy: `/v1${path}` },
    }
  }
  const send =
    (method: 'POST' | 'PATCH', path: string, body: () => object, more: () => Record<string, string> = () => ({})) =>
    (): Ask => ({ port, method, path: `/v1${path}`, body: body(), headers: { authorization, ...more() } })
  let made = 0
  const token = () => ({ assistant_id: ids.assistant, origin: 'https://shop.example.com' })
  const replayed = randomUUID()
  const newKey = () => ({ 'idempotency-key': randomUUID() })
  const book = send('POST', '/callbacks', booking)
  const echoed = { post: '/echoed' } as const
  const inserted = { post: '/inserted' } as const
  return [
    { name: 'GET /calls/{id}', ...get(`/calls/${ids.call}`) },
    { name: 'GET /calls?limit=20', ...get('/calls?limit=20') },
    // More calls than the product caches answers for, so that each is read from the database.
    { name: 'GET /calls/{id}, each another', ...get(...pathsOf(calls, id => `/calls/${id}`)) },
    {
      name: 'GET /calls?limit=20, each another',
      ...get(...pathsOf(calls.slice(PAGE), id => `/calls?limit=${PAGE}&starting_after=${id}`)),
    },
    { name: 'GET /callbacks?limit=20', ...get('/callbacks?limit=20') },
    { name: 'POST /callbacks, beside one that inserts', next: book, bare: inserted },
    { name: 'POST /callbacks, beside one that answers', next: book, bare: echoed },
    { name: 'POST /callbacks with a key', next: send('POST', '/callbacks', booking, newKey), bare: inserted },
    {
      name: 'POST /callbacks replayed',
      next: send(
        'POST',
        '/callbacks',
        () => ({ phone: '+972541111111' }),
        () => ({ 'idempotency-key': replayed }),
      ),
      bare: echoed,
    },
    { name: 'POST /client_tokens', next: send('POST', '/client_tokens', token), bare: inserted },
    {
      name: 'PATCH /queues/{id}',
      next: send('PATCH', `/queues/${ids.queue}`, () => ({ name: `Q${made++}` })),
      bare: inserted,
    },
  ]
}
