import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import WebSocket from 'ws'
import { suite } from '../../harness.ts'

/** `tandem listen PORT`, as somebody starts it in a terminal. */
const test = suite('control/wiring/stream-listener')

const cli = fileURLToPath(new URL('../../../dist/control/wiring/cli.js', import.meta.url))

class Listening {
  readonly child: ChildProcess
  out = ''
  err = ''

  constructor(port: number) {
    this.child = spawn(process.execPath, [cli, 'listen', String(port)], { stdio: ['ignore', 'pipe', 'pipe'] })
    this.child.stdout!.on('data', data => {
      this.out += String(data)
    })
    this.child.stderr!.on('data', data => {
      this.err += String(data)
    })
  }

  async prints(line: string): Promise<void> {
    while (!this.out.split('\n').includes(line)) {
      if (this.child.exitCode !== null) throw new Error(`it has ended: ${this.out}${this.err}`)
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }
}

/** A port that was free a moment ago, and the server that holds it until it is closed. */
async function portHolder() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return { port, free: () => new Promise(resolve => server.close(resolve)) }
}

test('it prints what a stream sends, its audio as a count, and ends with Ctrl-C', async () => {
  const { port, free } = await portHolder()
  await free()
  const listening = new Listening(port)
  await listening.prints(`Listening on ws://127.0.0.1:${port}/ until Ctrl-C.`)
  const ws = new WebSocket(`ws://127.0.0.1:${port}/`)
  await once(ws, 'open')
  const say = (message: object): void => ws.send(JSON.stringify(message))
  say({ event: 'connected', protocol: 'Call' })
  const mediaFormat = { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 }
  say({ event: 'start', start: { streamSid: 'ms_1', callSid: 'call_1', tracks: ['inbound', 'outbound'], mediaFormat } })
  const payload = Buffer.alloc(160).toString('base64')
  for (let n = 0; n < 3; n++) say({ event: 'media', media: { track: 'inbound', payload } })
  say({ event: 'dtmf', dtmf: { track: 'inbound_track', digit: '5' } })
  ws.send('no JSON')
  ws.close()
  await listening.prints('ms_1 closed')
  const counted = [...listening.out.matchAll(/^ms_1 inbound: (\d+) frames, (\d+) bytes$/gm)]
  const sum = (at: number): number => counted.reduce((total, found) => total + Number(found[at]), 0)
  assert.equal([sum(1), sum(2)], [3, 480])
  assert.equal(
    listening.out.split('\n').filter(line => !line.includes(' frames, ')),
    [
      `Listening on ws://127.0.0.1:${port}/ until Ctrl-C.`,
      'a stream: {"event":"connected","protocol":"Call"}',
      'ms_1 starts: call call_1, inbound and outbound, audio/x-mulaw at 8000 Hz',
      'ms_1 inbound_track: key 5',
      'ms_1: no JSON',
      'ms_1 closed',
      '',
    ],
  )
  const ended = once(listening.child, 'exit')
  listening.child.kill('SIGINT')
  assert.equal(await ended, [0, null])
  assert.is(listening.err, '')
})

test('a port that is taken, and what is no port, are one line and exit code 1', async () => {
  const { port, free } = await portHolder()
  for (const [wanted, line] of [
    [port, /^Cannot listen on port \d+: .*EADDRINUSE/],
    [70_000, /^Usage: tandem listen PORT \(1 to 65535\)\.$/],
  ] as const) {
    const listening = new Listening(wanted)
    const [code] = await once(listening.child, 'close')
    assert.equal([code, listening.out], [1, ''])
    assert.match(listening.err.trimEnd(), line)
    assert.is(listening.err.trimEnd().split('\n').length, 1)
  }
  await free()
})

test.run()
