// Judges timing: it compares audio sample by sample, and when it arrives.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { freePort } from '../../bench/free-port.ts'
import { RestClient } from '../../bench/rest-client.ts'
import {
  encodeMessage,
  MAX_MESSAGE_BYTES,
  type MediaSnapshot,
  type MediaStats,
  MessageReader,
  PROTOCOL_VERSION,
} from '../../media/protocol.ts'
import { suite } from '../harness.ts'
import { Random } from './random.ts'

const test = suite('fuzz/control-channel')
const ENTRY = fileURLToPath(new URL('../../dist/control/wiring/main.js', import.meta.url))
/** The name of every event that media sends: types have no names at run time. */
const DECLARED = new URL('../../media/protocol/events.ts', import.meta.url)
const EVENTS = [...readFileSync(DECLARED, 'utf8').matchAll(/^ {2}'([a-z]+\.[a-z_]+)': /gm)].map(([, name]) => name!)
assert.ok(EVENTS.length > 40)
const ODD: unknown[] = [
  null,
  0,
  -1,
  1.5,
  '',
  'x',
  '\0',
  '__proto__',
  [],
  {},
  [[]],
  true,
  { legId: 1 },
  'x'.repeat(50_000),
]

let dataDir: string
let server: Server
let control: ChildProcess
let rest: RestClient
let output = ''
/** What media sends after hello and snapshot, one script for each connection; without one, it behaves. */
const scripts: Buffer[][] = []
let connections = 0
const snapshot: MediaSnapshot = {
  seq: 0,
  legs: [],
  rooms: [],
  captures: [],
  streams: [],
  recordings: [],
  browserIds: [],
  refers: [],
}
const stats: MediaStats = { counters: {}, gauges: {}, histograms: {} }
const sockets = new Set<Socket>()

/** The reply to a command. `/readyz` asks for the stats each time; no other reply matters. */
function answerTo(command: unknown): object {
  if (command === 'media.snapshot') return snapshot
  return command === 'media.stats' ? stats : {}
}

/** Plays a media process that keeps to the protocol until its script begins. */
function play(socket: Socket): void {
  connections++
  const script = scripts.length > 0 ? scripts.shift()! : []
  const reader = new MessageReader()
  sockets.add(socket)
  socket.on('error', () => {})
  socket.on('close', () => sockets.delete(socket))
  socket.write(encodeMessage({ type: 'hello', version: PROTOCOL_VERSION, bootId: 'boot', eventsLost: 0 }))
  socket.on('data', bytes => {
    const result = reader.read(bytes)
    if ('error' in result) throw new Error(`control sent what cannot be read: ${result.error}`)
    for (const { type, id, name } of result.messages) {
      if (type === 'request') socket.write(encodeMessage({ type: 'reply', id: id as number, body: answerTo(name) }))
    }
    for (const part of script.splice(0)) socket.write(part)
    if (scripts.length > 0) setTimeout(() => socket.destroy(), 150)
  })
}

test.before(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'tandem-control-'))
  for (const folder of ['run', 'recordings']) mkdirSync(join(dataDir, folder))
  server = createServer(play)
  await new Promise<void>(listening => server.listen(join(dataDir, 'run', 'media.sock'), listening))
  const port = await freePort()
  const env = { TANDEM_DATA_DIR: dataDir, TANDEM_HTTP_PORT: String(port), TANDEM_LIVE_KEY: 'sk_live_0000000000000fuzz' }
  control = spawn(process.execPath, [ENTRY], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  control.stdout!.on('data', text => (output += text))
  control.stderr!.on('data', text => (output += text))
  rest = new RestClient(`http://127.0.0.1:${port}`, env.TANDEM_LIVE_KEY)
  await untilReady()
})
test.after(() => {
  control?.kill('SIGKILL')
  for (const socket of sockets) socket.destroy()
  server?.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const untilReady = () => rest.until('control is ready', async () => ((await status('/readyz')) === 200 ? true : null))

const status = (path: string): Promise<number> =>
  fetch(rest.baseUrl + path).then(
    async response => {
      await response.arrayBuffer()
      return response.status
    },
    () => 0,
  )

function frame(text: string): Buffer {
  const json = Buffer.from(text, 'latin1')
  const length = Buffer.alloc(4)
  length.writeUInt32BE(json.length)
  return Buffer.concat([length, json])
}

/** Plays every script in a connection of its own; afterwards media behaves, and control must work as before. */
async function assertSurvives(label: string, ...parts: Buffer[][]): Promise<void> {
  scripts.push(...parts)
  for (const socket of sockets) socket.destroy()
  await rest.until(`${label}: every script is played`, async () => (scripts.length === 0 ? true : null), 50_000)
  for (const socket of sockets) socket.destroy()
  const before = connections
  await rest.until(`${label}: control connects again`, async () => (connections > before ? true : null))
  await untilReady()
  assert.is(control.exitCode ?? control.signalCode, null, `${label}: control is alive\n${output.slice(-2000)}`)
  assert.is((await rest.api('GET', '/calls')).status, 200, label)
}

test(
  'frames with bad lengths, no JSON, unknown types and replies to nothing cost control its connection at most',
  async () => {
    const random = new Random(501)
    const tooLong = Buffer.alloc(4)
    tooLong.writeUInt32BE(MAX_MESSAGE_BYTES + 1)
    const hello = encodeMessage({ type: 'hello', version: PROTOCOL_VERSION, bootId: 'boot', eventsLost: 0 })
    const frames = [
      Buffer.from([0xff, 0xff, 0xff, 0xff]),
      Buffer.alloc(4),
      tooLong,
      ...['', 'null', '[]', '{', '\xff\xfe', '{}', '{"type":"hello"}', '{"type":"hello","version":99}'].map(frame),
      ...['{"type":"reply"}', '{"type":"reply","id":7}', '{"type":"reply","id":1,"body":3}'].map(frame),
      ...['{"type":"event"}', '{"type":"event","seq":1}', '{"type":"event","seq":-1,"event":{}}'].map(frame),
      ...['{"type":"event","seq":1,"event":null}', '{"type":"event","seq":1,"event":{"name":"__proto__"}}'].map(frame),
      frame(`{"type":"event","seq":1,"event":${'['.repeat(50_000)}${']'.repeat(50_000)}}`),
      ...Array.from({ length: 10 }, () => random.mutate(hello)),
    ]
    await assertSurvives(`seed ${random.seed}`, ...frames.map(one => [one]))
  },
  { timeoutMs: 60_000 },
)

test(
  'events with wrong types and holes do not end control, and what comes after them is served',
  async () => {
    const random = new Random(502)
    let seq = 100
    const odd = (): object => {
      const fields = [
        'legId',
        'to',
        'from',
        'source',
        'roomId',
        'key',
        'state',
        'target',
        'streamId',
        'recordingId',
        'quality',
      ]
      return Object.fromEntries(fields.filter(() => random.chance(0.6)).map(field => [field, random.pick(ODD)]))
    }
    const event = (name: string, body: unknown): Buffer =>
      frame(
        JSON.stringify({
          type: 'event',
          seq: ++seq,
          event: { name, at: random.pick(['2026-01-01T00:00:00Z', '', null]), body },
        }),
      )
    const parts = EVENTS.map(name => [event(name, odd()), event(name, random.pick(ODD))])
    await assertSurvives(`seed ${random.seed}`, ...parts)
  },
  { timeoutMs: 60_000 },
)

test.run()
