// Judges timing: it compares audio sample by sample, and when it arrives.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import * as assert from 'uvu/assert'
import { freePort } from '../../../bench/free-port.ts'
import { Phone } from '../../../bench/phone/phone.ts'
import { Product, type ProductOptions } from '../../../bench/product.ts'
import { isAlive, noise } from '../../fuzz/health.ts'
import { suite } from '../../harness.ts'
import { callFrom, curtain, dialledIn, invited, newRoom, seat } from '../scene.ts'
import { assertGapless } from '../witness.ts'

const test = suite('e2e/deaths/shutdown')
const SLOW = { timeoutMs: 60_000 }
const CLI = fileURLToPath(new URL('../../../dist/control/wiring/cli.js', import.meta.url))

/** The tests pass the product on, and each says in what state, since a start takes one and a half seconds of CPU. */
let running: Product | null = null
/** Data directory of an installation that is stopped and started again. */
const dataDir = mkdtempSync(join(tmpdir(), 'tandem-again-'))

/** The running product, for a test that stops it; a new one if the test before has failed. */
async function last(options: ProductOptions): Promise<Product> {
  const product = running ?? (await Product.start(options))
  running = null
  return product
}

const BRIEF = { env: { TANDEM_DRAIN_SECONDS: '3' } }
const LONG = { dataDir, env: { TANDEM_DRAIN_SECONDS: '60' } }

test.after(async () => {
  await running?.stop()
  rmSync(dataDir, { recursive: true })
  await curtain(undefined)
})

const gone = (product: Product, pids: Record<string, number>) =>
  product.until('no process is left', async () => (Object.values(pids).some(isAlive) ? null : true))

/** Runs `tandem start` with settings that it must refuse. */
async function refused(env: Record<string, string>): Promise<{ code: number | null; lines: string[] }> {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TANDEM_')))
  const child: ChildProcess = spawn(process.execPath, [CLI, 'start'], { env: { ...inherited, ...env } })
  let said = ''
  child.stderr!.on('data', text => (said += text))
  const [code] = await once(child, 'close')
  return { code, lines: said.split('\n').filter(line => line !== '' && !line.startsWith('{')) }
}

test(
  'a busy SIP, WebSocket or HTTP port, a locked or unwritable data directory, a bad value: one line that says what to do, exit code 1',
  async () => {
    const product = await last(BRIEF)
    running = product
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const folder = mkdtempSync(join(tmpdir(), 'tandem-refused-'))
    writeFileSync(join(folder, 'file'), '')
    const fine = {
      TANDEM_DATA_DIR: join(folder, 'data'),
      TANDEM_HTTP_PORT: '0',
      TANDEM_SIP_PORT: String(await freePort()),
      TANDEM_WS_PORT: String(await freePort()),
      TANDEM_RTP_PORTS: '33000-33099',
      // Loading models would take CPU until the stop.
      TANDEM_SPEECH_PRELOAD: 'no',
      TANDEM_WARM_UP: 'no',
    }
    const cases: [Record<string, string>, RegExp][] = [
      [{ TANDEM_SIP_PORT: String(port) }, /TANDEM_SIP_PORT/],
      [{ TANDEM_SIP_PORT: String(product.sip.port) }, /TANDEM_SIP_PORT/],
      [{ TANDEM_WS_PORT: String(port) }, /TANDEM_WS_PORT/],
      [{ TANDEM_HTTP_PORT: String(port) }, /TANDEM_HTTP_PORT/],
      [{ TANDEM_SIP_HOST: '192.0.2.1' }, /TANDEM_SIP_HOST/],
      [{ TANDEM_DATA_DIR: product.dataDir }, /TANDEM_DATA_DIR/],
      [{ TANDEM_DATA_DIR: join(folder, 'file', 'data') }, /TANDEM_DATA_DIR/],
      [{ TANDEM_DATA_DIR: '/proc/nowhere' }, /TANDEM_DATA_DIR/],
      [{ TANDEM_RTP_PORTS: '9-5' }, /TANDEM_RTP_PORTS/],
      [{ TANDEM_MAX_CALLS: 'many' }, /TANDEM_MAX_CALLS/],
    ]
    for (const [env, names] of cases) {
      const { code, lines } = await refused({ ...fine, ...env })
      const label = `${JSON.stringify(env)}: ${lines.join(' | ')}`
      assert.is(code, 1, label)
      assert.is(lines.length, 1, label)
      assert.match(lines[0]!, names, label)
    }
    assert.is((await product.api('GET', '/calls')).status, 200, 'the instance that was there has not noticed')
    taken.close()
    rmSync(folder, { recursive: true })
  },
  SLOW,
)

test(
  'SIGHUP, which for a service means to read its certificates again, does not end one that is only starting',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tandem-reloaded-'))
    mkdirSync(join(folder, 'run'))
    // A media process that is left over: the start waits for its end.
    const orphan = spawn('sleep', ['60'])
    writeFileSync(join(folder, 'run', 'media.pid'), String(orphan.pid))
    const env = {
      ...process.env,
      TANDEM_DATA_DIR: folder,
      TANDEM_HTTP_PORT: '0',
      TANDEM_SIP_PORT: String(await freePort()),
      TANDEM_WS_PORT: String(await freePort()),
      TANDEM_RTP_PORTS: '33100-33199',
      TANDEM_SPEECH_PRELOAD: 'no',
      TANDEM_WARM_UP: 'no',
    }
    const child = spawn(process.execPath, [CLI, 'start'], { env, stdio: ['ignore', 'pipe', 'ignore'] })
    const ended = once(child, 'exit')
    while (!existsSync(join(folder, 'run', 'lock'))) await sleep(5)
    child.kill('SIGHUP')
    orphan.kill()
    await Promise.race([once(child.stdout, 'data'), ended])
    child.kill('SIGTERM')
    assert.equal(await ended, [0, null])
    rmSync(folder, { recursive: true })
  },
  SLOW,
)

test(
  'SIGUSR1 and SIGUSR2, with which rotations of logs ask for another file, neither end it nor open a debugger',
  async () => {
    const product = await last(BRIEF)
    for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.kill(product.pids.supervisor, signal)
    assert.is(await product.stop(), 0)
    assert.not.match(product.output, 'Debugger listening')
  },
  SLOW,
)

test(
  'a disk that fails: the recording fails and is told, the call goes on',
  async () => {
    const product = await last(BRIEF)
    running = product
    const recordings = join(product.dataDir, 'recordings')
    rmSync(recordings, { recursive: true })
    writeFileSync(recordings, 'no directory any more')
    const room = await newRoom(product, {}, { record: true })
    const anna = await seat(product, room, 'disk-a', { voice: noise(1) })
    const mark = anna.call.packets.length
    await anna.call.heard.next(1500)
    const failed = await product.until('the recording has failed', async () => {
      const recording = await product.ok('GET', `/calls/${anna.sessionId}/recording`)
      return recording.status === 'failed' ? recording : null
    })
    assert.is(failed.status, 'failed')
    assertGapless(anna.call.packets.slice(mark), 'the call')
    const events = (await product.events()).filter(({ type }) => type === 'call.recording.failed')
    assert.is(events.length, 1)
    assert.is((await product.ok('GET', `/calls/${anna.callId}`)).ended_at, null, 'the call goes on')
    await anna.phone.close()
  },
  SLOW,
)

test(
  'SIGTERM drains: no new calls, running ones go on up to the limit, then BYE, exit code 0',
  async () => {
    const product = await last(BRIEF)
    const phone = await Phone.open('patient')
    const call = await phone.call('1002', product.sip, { voice: noise(1) })
    await call.heard.next(500)
    const mark = call.packets.length
    const begun = performance.now()
    const said = product.output.length
    const stopped = product.stop()
    await call.heard.next(500)
    const refused = await (await (await Phone.open('latecomer')).dial('1002', product.sip)).outcome
    assert.is(refused.status, 503)
    assert.ok('retryAfterS' in refused && (refused.retryAfterS ?? 0) > 0, 'with Retry-After')
    const over = await call.ended
    assert.is(over.by, 'remote', 'we got a BYE')
    assert.is(over.cause, 'bye')
    assert.ok(performance.now() - begun > 2800, 'not before the limit')
    assertGapless(call.packets.slice(mark), 'while it drains')
    assert.is(await stopped, 0)
    assert.match(product.output.slice(said), /"reason":"shutdown","msg":"call ended"/, 'and its call says why')
    assert.not.match(product.output.slice(said), /"level":[456]0/, 'what is in order is not warned of')
  },
  SLOW,
)

test(
  'a drain ends with the last call, long before the limit, and what happened in it is stored',
  async () => {
    // The mode of a directory that an operator has created.
    chmodSync(dataDir, 0o755)
    const product = await Product.start({ dataDir, env: { TANDEM_DRAIN_SECONDS: '30' } })
    assert.is(statSync(join(dataDir, 'tandem.db')).mode & 0o007, 0, 'the database is of no concern to others')
    const phone = await Phone.open('hasty')
    const call = await phone.call('1002', product.sip)
    const pids = product.pids
    process.kill(pids.supervisor, 'SIGTERM')
    await call.heard.next(300)
    const begun = performance.now()
    await call.hangup()
    await gone(product, pids)
    assert.ok(performance.now() - begun < 15_000)
    assert.is(await product.stop(), 0)
    running = await Product.start(LONG)
    const [ended] = await running.all('/calls')
    assert.is(ended.ended_reason, 'caller_hangup', 'the end was written before control left')
  },
  SLOW,
)

test(
  'what belongs to a running call begins while it drains: an agent is rung for who waits in a queue, somebody is dialled into a room. No other does',
  async () => {
    const product = await last(LONG)
    running = null
    const { userId, account } = await invited(product, 'late@example.com')
    const agent = await Phone.open('late')
    await agent.register(account, product.sip)
    const { id: queueId } = await product.ok('POST', '/queues', { name: 'Late', member_user_ids: [userId] })
    await product.ok('POST', '/inbound_routes', { match: { to: '4711' }, target: { type: 'queue', id: queueId } })
    const room = await newRoom(product)
    const seated = await seat(product, room, 'seated')
    const waiting = await (await Phone.open('waits')).call('4711', product.sip)
    const friend = await Phone.open('friend')
    const trunk = { name: 'Trunk', kind: 'trunk', host: friend.host, port: friend.port }
    await product.ok('POST', '/connections', trunk)
    const nodes = [
      { key: 'start', type: 'start', transitions: [{ condition: { kind: 'always' }, next: 'bye' }] },
      { key: 'bye', type: 'end', script: 'Bye.' },
    ]
    const { id: flowId } = await product.ok('POST', '/flows', {
      name: 'Late',
      kind: 'ivr',
      graph: { kind: 'ivr', nodes },
    })
    await product.ok('POST', `/flows/${flowId}/publish`, {})
    const campaign = { name: 'Late', flow_id: flowId, allowed_hours: null }
    const { id: campaignId } = await product.ok('POST', '/campaigns', campaign)
    process.kill(product.pids.supervisor, 'SIGTERM')
    await product.until('it drains', async () =>
      (await fetch(`${product.baseUrl}/readyz`)).status === 503 ? true : null,
    )

    assert.is((await product.api('POST', '/calls', { to: friend.uri })).status, 503, 'a new call')
    await product.ok('POST', `/campaigns/${campaignId}/contacts`, { contacts: [{ phone: '+14155550181' }] })
    await product.ok('POST', `/campaigns/${campaignId}/start`, {})
    await product.ok('PUT', `/agents/${userId}/status`, { status: 'available' })
    const atAgent = await agent.next()
    atAgent.answer()
    const guest = await dialledIn(product, room, 'guest')
    const [contact] = await product.all(`/campaigns/${campaignId}/contacts`)
    assert.equal([contact.status, contact.last_result], ['pending', null], 'no campaign dials')
    await Promise.all([waiting.hangup(), seated.call.hangup(), guest.call.hangup()])
    await product.stop()
  },
  SLOW,
)

test(
  'Ctrl-C that the terminal and npm send, twice to all processes, is one: the call goes on and is served. The next one hangs it up',
  async () => {
    const product = await last(LONG)
    const phone = await Phone.open('cut-off')
    const call = await phone.call('1002', product.sip, { voice: noise(1) })
    await call.heard.next(300)
    const mark = call.packets.length
    const { pids } = product
    const ready = async () => {
      const answer = await fetch(`${product.baseUrl}/readyz`)
      return [answer.status, ((await answer.json()) as { status: string }).status]
    }
    assert.equal(await ready(), [200, 'ready'])
    for (const name of ['SIGINT', 'SIGTERM'] as const) for (const pid of Object.values(pids)) process.kill(pid, name)
    await call.heard.next(1000)
    assertGapless(call.packets.slice(mark), 'the call')
    const [running] = await product.all('/calls?status=in_progress')
    assert.is(running.status, 'in_progress', 'control serves what goes on')
    assert.equal(await ready(), [503, 'draining'], 'a load balancer sees that nobody is taken any more')
    process.kill(pids.supervisor, 'SIGTERM')
    assert.is((await call.ended).by, 'remote', 'a BYE')
    await gone(product, pids)
    assert.is(await product.stop(), 0)
    const next = await Product.start(LONG)
    const [ended] = (await next.all('/calls')).filter(({ id }) => id === running.id)
    const failedAt = Date.parse(ended.ended_at)
    assert.ok(failedAt > Date.parse(running.answered_at) && failedAt < Date.now() - 300, 'written when it ended')
    await next.stop()
  },
  SLOW,
)

test(
  'the supervisor killed with -9 takes its children with it, and the next one starts on the same data',
  async () => {
    const product = await Product.start({ dataDir })
    const { pids } = product
    const phone = await Phone.open('orphan')
    await phone.call('1002', product.sip)
    process.kill(pids.supervisor, 'SIGKILL')
    await gone(product, pids)
    await product.stop()
    const next = await Product.start({ dataDir })
    const call = await callFrom(next, 'orphan')
    assert.is(call.ended_reason, 'media_failed', 'its calls have ended')
    await next.stop()
  },
  SLOW,
)

test.run()
