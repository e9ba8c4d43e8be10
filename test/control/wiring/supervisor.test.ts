// One database: it is about processes that start, die and end, whatever they store.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { isAlive, prepareDataDir, readPid } from '../../../control/kernel/data-dir.ts'
import { Supervisor } from '../../../control/wiring/supervisor.ts'
import { suite } from '../../harness.ts'
import { silent } from '../app-harness.ts'

const test = suite('control/wiring/supervisor')

let folder = ''
test.beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  prepareDataDir(folder)
})
test.afterEach(() => rmSync(folder, { recursive: true }))

/** A process that does what a child of the supervisor must do, and writes down its life. */
const OBEDIENT = `
import { appendFileSync } from 'node:fs'
const note = what => appendFileSync(process.env.DIARY, process.env.NAME + ' ' + what + '\\n')
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('message', () => { note('stopped'); process.exit(0) })
process.on('disconnect', () => process.exit(0))
note('started ' + (process.env.PORT ?? ''))
process.send({ type: 'ready', httpPort: 4321 })
`
const STUBBORN = OBEDIENT.replace("note('stopped'); process.exit(0)", "note('asked')")
const BROKEN = 'process.exit(1)'

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 5))
}

function build(scripts: { media?: string; control?: string } = {}) {
  const diaryFile = join(folder, 'diary')
  writeFileSync(diaryFile, '')
  const spec = (name: 'media' | 'control', port: number | null) => {
    const entry = join(folder, `${name}.mjs`)
    writeFileSync(entry, scripts[name] ?? OBEDIENT)
    const env = { ...process.env, DIARY: diaryFile, NAME: name, PORT: port === null ? '' : String(port) }
    return { name, argv: [entry], env }
  }
  let readyCount = 0
  let said: Record<string, unknown> | null = null
  let skippedMs = 0
  const supervisor = new Supervisor({
    dataDir: folder,
    drainSeconds: 30,
    media: spec('media', null),
    control: port => spec('control', port),
    onReady: control => {
      readyCount += 1
      said = control
    },
    log: silent,
    output: null,
    now: () => performance.now() + skippedMs,
  })
  const diary = (): string[] =>
    readFileSync(diaryFile, 'utf8')
      .split('\n')
      .filter(line => line !== '')
      .map(line => line.trim())
  const pid = (name: 'media' | 'control'): number => readPid(folder, name) ?? 0
  const ready = () => until(() => readyCount === 1)
  const later = () => {
    skippedMs += 1000
  }
  return { later, supervisor, diary, pid, ready, readyCount: () => readyCount, announced: () => said }
}

test('starts media, then control; stops media, then control; leaves no pid file', async () => {
  const { supervisor, diary, pid, ready } = build()
  const code = supervisor.run()
  await ready()
  assert.is(readPid(folder, 'supervisor'), process.pid)
  assert.ok(isAlive(pid('media')) && isAlive(pid('control')))
  supervisor.stop()
  assert.is(await code, 0)
  assert.equal(diary(), ['media started', 'control started', 'media stopped', 'control stopped'])
  for (const name of ['supervisor', 'media', 'control'] as const) assert.is(readPid(folder, name), null)
})

test('restarts whichever dies, leaves the other alone, and control keeps its port', async () => {
  const { supervisor, diary, pid, ready, readyCount } = build()
  const code = supervisor.run()
  await ready()
  const media = pid('media')
  process.kill(pid('control'), 'SIGKILL')
  await until(() => diary().length === 3)
  assert.is(diary()[2], 'control started 4321')
  assert.is(pid('media'), media)
  process.kill(media, 'SIGKILL')
  await until(() => diary().length === 4)
  assert.is(diary()[3], 'media started')
  await until(() => pid('media') !== media)
  supervisor.stop()
  assert.is(await code, 0)
  assert.is(readyCount(), 1)
})

/** Lives once it has started this often. */
const dyingFirst = (words: string): string => `
import { readFileSync } from 'node:fs'
${OBEDIENT.replace(/process\.send\(.*\)/, '')}
const starts = readFileSync(process.env.DIARY, 'utf8').split('\\n').filter(line => line.startsWith(process.env.NAME)).length
if (starts === 1) process.send(${words}, () => process.kill(process.pid, 'SIGKILL'))
else process.send({ type: 'ready', httpPort: 4321, keys: null })
`

for (const [sentence, words] of [
  ['a process that has begun to serve and dies before it is ready', "{ type: 'serving', httpPort: 4321, keys: ['k'] }"],
  ['a process that dies with the word that it is ready', "{ type: 'ready', httpPort: 4321, keys: ['k'] }"],
] as const) {
  test(`${sentence} is started again, and what it said of its start is not lost`, async () => {
    const { supervisor, diary, pid, ready, announced } = build({ control: dyingFirst(words) })
    const code = supervisor.run()
    await ready()
    await until(() => diary().filter(line => line.startsWith('control')).length === 2)
    assert.equal([announced()?.httpPort, announced()?.keys], [4321, ['k']])
    assert.equal(diary(), ['media started', 'control started', 'control started 4321'])
    await until(() => isAlive(pid('control')))
    supervisor.stop()
    assert.is(await code, 0)
  })
}

test('a process that dies again and again is started again and again', async () => {
  const { supervisor, diary, pid, ready } = build()
  const code = supervisor.run()
  await ready()
  for (let life = 3; life <= 5; life++) {
    process.kill(pid('control'), 'SIGKILL')
    await until(() => diary().length === life)
    await until(() => isAlive(pid('control')))
  }
  supervisor.stop()
  assert.is(await code, 0)
})

test('a media process that fails in the first start ends everything with exit code 1', async () => {
  const { supervisor, diary } = build({ media: BROKEN })
  assert.is(await supervisor.run(), 1)
  assert.equal(diary(), [])
})

test('a control process that fails in the first start ends media too', async () => {
  const { supervisor, diary, readyCount } = build({ control: BROKEN })
  assert.is(await supervisor.run(), 1)
  assert.equal(diary(), ['media started', 'media stopped'])
  assert.is(readyCount(), 0)
})

test('a second signal asks a media process that still has calls again, a third ends it at once', async () => {
  const { supervisor, diary, ready, later } = build({ media: STUBBORN })
  const code = supervisor.run()
  await ready()
  supervisor.stop()
  await until(() => diary().length === 3)
  later()
  supervisor.stop()
  await until(() => diary().length === 4)
  later()
  supervisor.stop()
  assert.is(await code, 0)
  assert.equal(diary().slice(2), ['media asked', 'media asked', 'control stopped'])
})

test('a signal that npm or an init system passes on at once is no second one', async () => {
  const { supervisor, diary, pid, ready, later } = build({ media: STUBBORN })
  const code = supervisor.run()
  await ready()
  for (let i = 0; i < 4; i++) supervisor.stop()
  await until(() => diary().length === 3)
  for (const name of ['media', 'control'] as const) process.kill(pid(name), 'SIGTERM')
  later()
  supervisor.stop()
  await until(() => diary().length === 4)
  assert.equal(diary().slice(2), ['media asked', 'media asked'])
  assert.ok(isAlive(pid('media')) && isAlive(pid('control')), 'a signal to all processes ends none of them')
  later()
  supervisor.stop()
  assert.is(await code, 0)
})

test.run()
