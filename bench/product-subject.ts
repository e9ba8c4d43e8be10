import { setTimeout as sleep } from 'node:timers/promises'
import type { StreamFormat } from '../media/protocol.ts'
import type { SocketChoice } from '../media/rtp/datagrams/choose.ts'
import { onMeasuredCore } from './pin.ts'
import { Product } from './product.ts'
import { COLLECTABLE, collectGarbage } from './soak/collect-garbage.ts'
import type { Subject } from './subject.ts'

/** The number of the echo that a first start sets up. */
const ECHO_NUMBER = '1002'
const MAX_CALLS = 4000
const RTP_PORTS = '20000-29999'
const PAGE = 100
/** The API's maximum for a room. */
const MAX_ROOM = 500

interface Start {
  sockets: SocketChoice
  threads: number
}

/** As `startProduct`, but started on one core, on which media stays: V8's garbage collection depends on the number of cores. */
export const startOnOneCore = (options: Start): Promise<Subject> => startProduct(options, onMeasuredCore())

/** Starts the product as `npm start` does; it is used over its REST API only. */
export async function startProduct(
  { sockets, threads }: Start,
  prefix: string[] = [],
  env: Record<string, string> = {},
): Promise<Subject> {
  const product = await Product.start({
    prefix,
    env: {
      TANDEM_MAX_CALLS: String(MAX_CALLS),
      // A room and its route for every two legs.
      TANDEM_MAX_OBJECTS: String(MAX_CALLS),
      TANDEM_RTP_PORTS: RTP_PORTS,
      TANDEM_RTP_SOCKETS: sockets,
      TANDEM_ENGINE_THREADS: String(threads),
      TANDEM_LOG_LEVEL: 'warn',
      TANDEM_WARM_UP: 'yes',
      ...COLLECTABLE,
      ...env,
    },
  })
  const { pids } = product
  let rooms = 0
  const streams: string[] = []
  return {
    api: product,
    sip: product.sip,
    mediaPid: pids.media,
    controlPid: pids.control,
    otherPids: [pids.supervisor, pids.control],
    echoNumber: ECHO_NUMBER,
    openRooms: async count => {
      const numbers = Array.from({ length: count }, () => `bench-${++rooms}`)
      for (const number of numbers) await openRoom(product, number)
      return numbers
    },
    startStreams: async (legs, format, url) => {
      streams.push(...(await startStreams(product, legs, format, url)))
    },
    stopStreams: async () => {
      for (const path of streams.splice(0)) await patiently(product, 'DELETE', path)
    },
    lateSlots: () => lateSlots(product),
    metrics: () => metricsOf(product),
    collect: async () => {
      for (const pid of [pids.media, pids.control]) await collectGarbage(pid, () => product.output)
    },
    stop: async () => {
      await product.stop()
    },
  }
}

async function openRoom(product: Product, number: string): Promise<void> {
  const settings = { max_participants: MAX_ROOM }
  const room = await patiently(product, 'POST', '/conference_rooms', { name: number, settings })
  await patiently(product, 'POST', '/inbound_routes', { match: { to: number }, target: { type: 'room', id: room.id } })
}

/** Starts a stream for each call of the load. @returns the paths of the streams */
async function startStreams(product: Product, legs: number, format: StreamFormat, url: string): Promise<string[]> {
  const calls = await callsByCaller(product, legs)
  const paths: string[] = []
  for (const [leg, callId] of calls) {
    const of = `/calls/${callId}/streams`
    const stream = await patiently(product, 'POST', of, { url: `${url}/${leg}`, tracks: 'both', format })
    paths.push(`${of}/${stream.id}`)
  }
  return paths
}

/** The IDs of the load's running calls, by the number of the leg. Throws if one is missing. */
async function callsByCaller(product: Product, legs: number): Promise<Map<number, string>> {
  const calls = new Map<number, string>()
  let after = ''
  do {
    const list = await patiently(product, 'GET', `/calls?status=in_progress&limit=${PAGE}${after}`)
    for (const call of list.data) {
      const caller = /load-(\d+)/.exec(call.from)
      if (caller !== null) calls.set(Number(caller[1]), call.id)
    }
    after = list.has_more ? `&starting_after=${list.next_cursor}` : ''
  } while (after !== '')
  if (calls.size !== legs) throw new Error(`${calls.size} of ${legs} calls are in progress`)
  return calls
}

async function metricsOf(product: Product): Promise<Map<string, number>> {
  const text = await (await fetch(`${product.baseUrl}/metrics`)).text()
  return new Map(
    [...text.matchAll(/^tandem_(\w+(?:\{le="[^"]+"\})?) (\S+)$/gm)].map(([, name, value]) => [name!, Number(value)]),
  )
}

async function lateSlots(product: Product): Promise<number> {
  const metrics = await metricsOf(product)
  return ['late', 'skipped'].reduce((sum, kind) => sum + (metrics.get(`media_clock_${kind}_slots_total`) ?? 0), 0)
}

/** Sends a request that must succeed; sends it again if it was refused with 429. */
async function patiently(product: Product, method: string, path: string, body?: unknown) {
  for (;;) {
    const answer = await product.api(method, path, body)
    if (answer.status < 300) return answer.body
    if (answer.status !== 429)
      throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    await sleep(1000 * Number(answer.headers.get('retry-after') ?? 1))
  }
}
