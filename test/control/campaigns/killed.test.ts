import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import * as assert from 'uvu/assert'
import { openStore } from '../../../control/kernel/store/store.ts'
import { forkFile } from '../../fork.ts'
import { suite } from '../../harness.ts'
import { makeDatabase } from '../database.ts'
import { addCampaign, numbers } from './campaign-rows.ts'
import { DialledParties } from './dialled-parties.ts'

const test = suite('control/campaigns/killed')

const ENTRY = 'control/campaigns/killable-dialler.ts'
const LIMIT = { timeoutMs: 120_000 }
const CONTACTS = 132
const KILLS = 10
/** Contacts that are added where too few are left. */
const MORE = 30

async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await done())) await new Promise(resolve => setTimeout(resolve, 40))
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

const byPhone = <T extends { phone: string }>(rows: readonly T[]): string[] => rows.map(({ phone }) => phone).toSorted()

test(
  'two nodes are killed with -9 ten times in turn, at any moment of a campaign: nobody is lost, and each is called once for each attempt',
  async () => {
    const { target, remove } = await makeDatabase()
    const store = await openStore(target)
    const phones = numbers(CONTACTS)
    const campaign = await addCampaign(store, phones, { max_attempts: 1, calls_per_second: 50, max_concurrent: 12 })
    const nodes = await runNodes(target, 60)
    for (let round = 0; round < KILLS; round++) {
      // Some are killed as they start, the others while calls begin, ring and end.
      const enough = round * (CONTACTS / (KILLS + 1))
      await until(() => nodes.dialled().length >= enough)
      await new Promise(resolve => setTimeout(resolve, Math.random() * 60))
      // While one node starts on a busy machine, the other may dial all.
      if (phones.length - nodes.dialled().length < MORE) {
        const more = numbers(phones.length + MORE).slice(phones.length)
        await campaign.add(more)
        phones.push(...more)
      }
      await nodes.kill(round % 2)
    }
    assert.ok((await campaign.finished()) < phones.length, 'nothing was left: the test proves nothing')
    await until(async () => (await campaign.finished()) === phones.length)
    const attempts = await campaign.attempts()
    assert.equal(byPhone(nodes.dialled()), phones)
    assert.equal(byPhone(attempts), phones)
    for (const { result } of attempts) assert.ok(['answered', 'busy'].includes(result ?? ''), `${result}`)
    await nodes.close()
    await store.close()
    await remove()
  },
  LIMIT,
)

test(
  'two nodes that dial one campaign call nobody twice, and keep its limits and those of its connection together',
  async () => {
    const { target, remove } = await makeDatabase()
    const store = await openStore(target)
    const phones = numbers(60)
    const [atOnce, perSecond] = [5, 40]
    const limits = { max_attempts: 1, calls_per_second: perSecond, max_concurrent: atOnce }
    const campaign = await addCampaign(store, phones, limits)
    const nodes = await runNodes(target, 150)
    const hasIdleNode = (): boolean => nodes.media.some(({ dialled }) => dialled.length === 0)
    await until(async () => {
      const finished = await campaign.finished()
      // Chance says which node has its turn, for seconds: until both have had one, there is somebody to call.
      if (hasIdleNode() && phones.length - finished < MORE) {
        const more = numbers(phones.length + MORE).slice(phones.length)
        await campaign.add(more)
        phones.push(...more)
      }
      return finished === phones.length
    })
    assert.equal(byPhone(nodes.dialled()), phones)
    const attempts = await campaign.attempts()
    assert.equal(byPhone(attempts), phones)
    assert.not(hasIdleNode(), 'one node has dialled all: the test proves nothing')
    assert.ok(nodes.most() <= atOnce, `${nodes.most()} at once`)
    const begun = attempts.map(({ started_at }) => Date.parse(started_at)).toSorted((a, b) => a - b)
    for (const from of begun) {
      const within = begun.filter(at => at >= from && at <= from + 1000).length
      assert.ok(within <= perSecond, `${within} in a second`)
    }
    await nodes.close()
    await store.close()
    await remove()
  },
  LIMIT,
)

test(
  'calls of two nodes that find the connection full are no attempts, and the connection never carries more',
  async () => {
    const { target, remove } = await makeDatabase()
    const store = await openStore(target)
    const phones = numbers(12)
    const eager = { max_attempts: 1, calls_per_second: 50, max_concurrent: 50 }
    const campaign = await addCampaign(store, phones, eager, { max_calls: 3 })
    const nodes = await runNodes(target, 400)
    const full = async () => (await campaign.attempts()).filter(({ result }) => result === 'capacity').length
    await until(async () => (await full()) >= 4 && nodes.dialled().length >= 6)
    assert.ok(nodes.most() <= 3, `${nodes.most()} at once`)
    assert.is(new Set(byPhone(nodes.dialled())).size, nodes.dialled().length)
    await nodes.close()
    await store.close()
    await remove()
  },
  LIMIT,
)

/** Two control processes with a media of their own each. */
async function runNodes(target: string, legMs: number) {
  const media = [new DialledParties(legMs), new DialledParties(legMs)]
  const children: ChildProcess[] = []
  for (const [n, one] of media.entries()) {
    await one.listen()
    children.push(forkFile(ENTRY, [target, `node-${n}`, one.path]))
  }
  let most = 0
  const count = (): void => {
    most = Math.max(
      most,
      media.reduce((sum, { legs }) => sum + legs.size, 0),
    )
  }
  const timer = setInterval(count, 2)
  return {
    media,
    dialled: () => media.flatMap(({ dialled }) => dialled),
    most: () => most,
    /** With -9; it is started again at once. */
    kill: async (n: number) => {
      await kill(children[n]!)
      children[n] = forkFile(ENTRY, [target, `node-${n}`, media[n]!.path])
    },
    close: async () => {
      clearInterval(timer)
      await Promise.all(children.map(kill))
      for (const one of media) await one.close()
    },
  }
}

test.run()
