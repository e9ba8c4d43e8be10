import * as assert from 'uvu/assert'
import { SpeechChild } from '../../../media/speech/speech-child.ts'
import { SpeechClient } from '../../../media/speech/speech-client.ts'
import { SpeechHost } from '../../../media/speech/speech-host.ts'
import { abilitiesOf, OFFLINE_SPEECH } from '../../../media/speech/speech-protocol.ts'
import { suite } from '../../harness.ts'

/** Allows processes to start on a busy machine. */
const STARTING = { timeoutMs: 60_000 }

let lines: { message: string; fields: Record<string, unknown> }[]
let host: SpeechHost
let client: SpeechClient

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
const kill = (): void => {
  process.kill(host.pid!, 'SIGKILL')
}

const test = suite('media/speech/speech-host')

test.beforeEach(() => {
  lines = []
  const note = (fields: Record<string, unknown>, message: string): void => {
    lines.push({ message, fields })
  }
  host = new SpeechHost(OFFLINE_SPEECH, { info: note, warn: note } as never)
  client = new SpeechClient(host.port(), abilitiesOf(OFFLINE_SPEECH))
})
test.afterEach(() => host.close())

test(
  'the process starts with the first request, and its log line names the leg and the call, but not the words',
  async () => {
    assert.is(host.pid, null)
    const owner = { legId: 'part_1', callId: 'call_1', affinity: 'org_1:live' }
    assert.ok('samples' in (await client.speak('All is well.', null, null, owner)))
    const [used] = lines.filter(({ message }) => message === 'speech.used').map(({ fields }) => fields)
    assert.equal([used?.legId, used?.callId, used?.kind], ['part_1', 'call_1', 'speak'])
    assert.not.match(JSON.stringify(lines), 'well')
    assert.ok(host.pid !== null)
    assert.is(host.counters.speech_spoken_total, 1)
    assert.is(host.gauges.speech_waiting, 0)
  },
  STARTING,
)

test(
  'when the process dies, what was under way is asked once more of a new one; what that one dies of too fails',
  async () => {
    const spoken = client.speak('All is well.', null, null)
    while (host.pid === null) await turn()
    const killed = host.pid
    kill()
    assert.ok('samples' in (await spoken))
    assert.is.not(host.pid, killed)
    assert.is(host.counters.speech_restarts_total, 1)

    const unlucky = client.speak('It dies of this.', null, null)
    await turn()
    kill()
    // Two deaths at once: the third process waits a little, and until then nothing is waited for.
    assert.equal(await unlucky, { error: 'the speech process died' })
    assert.equal(await client.speak('Now?', null, null), { error: 'the speech process is being started again' })
    while (host.pid === null) await turn()
    assert.ok('samples' in (await client.speak('And now.', null, null)))
    assert.equal(
      lines.filter(({ message }) => message === 'speech.died').map(({ fields: { hint: _, ...fields } }) => fields),
      [
        { code: null, signal: 'SIGKILL', waitMs: 0, open: 1 },
        { code: null, signal: 'SIGKILL', waitMs: 100, open: 1 },
      ],
    )
  },
  STARTING,
)

test(
  'where memory does not suffice for the models, they are loaded at growing intervals, and the log says what to do',
  async () => {
    const deaths: { waitMs: number; hint: string | undefined }[] = []
    let child: SpeechChild | null = null
    const threeDeaths = new Promise<void>(resolve => {
      const hooks = {
        // The voice is there, the recogniser is being loaded: then the kernel kills it.
        told: ({ kind }: { kind: string }) => {
          if (kind === 'loaded') process.kill(child!.pid!, 'SIGKILL')
        },
        died: ({ hint }: { hint?: string }, waitMs: number) => {
          if (deaths.push({ waitMs, hint }) === 3) resolve()
        },
      }
      child = new SpeechChild({ ...OFFLINE_SPEECH, preload: true }, hooks, 0)
      child.start()
    })
    await threeDeaths
    assert.equal(
      deaths.map(({ waitMs }) => waitMs),
      [0, 100, 200],
    )
    assert.match(deaths[0]!.hint!, /memory is short.*600 to 900 MB/)
    await child!.close()
  },
  STARTING,
)

test(
  'a process that hangs is ended, and another one takes its place',
  async () => {
    let tellDeath = (_signal: string | null): void => {}
    const died = new Promise<string | null>(resolve => {
      tellDeath = resolve
    })
    const child = new SpeechChild(OFFLINE_SPEECH, { told: () => {}, died: ({ signal }) => tellDeath(signal) })
    child.start()
    const { pid } = child
    // Two minutes without a word.
    child.endSilent(performance.now() + 121_000)
    assert.is(await died, 'SIGKILL')
    assert.is(child.restarts, 1)
    assert.is.not(child.pid, pid)
    await child.close()
  },
  STARTING,
)

test(
  'a host that is closed leaves no process, and answers what was open',
  async () => {
    const spoken = client.speak('Too late.', null, null)
    while (host.pid === null) await turn()
    const { pid } = host
    await host.close()
    assert.equal(await spoken, { error: 'closed' })
    assert.throws(() => process.kill(pid!, 0), /ESRCH/)
  },
  STARTING,
)

test.run()
