import * as assert from 'uvu/assert'
import { WorkerJobs } from '../../media/worker-jobs.ts'
import { suite } from '../harness.ts'

const test = suite('media/worker-jobs')

/** A thread that doubles numbers, and dies of 13. */
const DOUBLER = `
  import { parentPort } from 'node:worker_threads'
  parentPort.on('message', ({ id, job }) => {
    if (job === 13) throw new Error('unlucky')
    parentPort.postMessage({ id, answer: { doubled: 2 * job } })
  })`
const entry = { url: new URL(`data:text/javascript,${encodeURIComponent(DOUBLER)}`), execArgv: [] }

type Answer = { doubled: number }

test('jobs are answered, each by its own answer', async () => {
  const jobs = new WorkerJobs<number, Answer>(entry)
  const answers = await Promise.all([1, 2, 3].map(n => jobs.run(n)))
  assert.equal(answers, [{ doubled: 2 }, { doubled: 4 }, { doubled: 6 }])
  await jobs.close()
})

test('when the thread dies, what waits is answered by an error, and the next job starts another thread', async () => {
  const jobs = new WorkerJobs<number, Answer>(entry)
  assert.equal(await Promise.all([jobs.run(1), jobs.run(13), jobs.run(2)]), [
    { doubled: 2 },
    { error: 'unlucky' },
    { error: 'unlucky' },
  ])
  assert.is(jobs.lost, 2)
  assert.equal(await jobs.run(4), { doubled: 8 })
  await jobs.close()
})

test('a job that finds the queue full is refused at once, and counted', async () => {
  const jobs = new WorkerJobs<number, Answer>(entry, { maxWaiting: 2 })
  const answers = [1, 2, 3].map(n => jobs.run(n))
  assert.is(jobs.waiting, 2)
  assert.equal(await Promise.all(answers), [{ doubled: 2 }, { doubled: 4 }, { error: 'too many jobs wait' }])
  assert.is(jobs.lost, 1)
  await jobs.close()
})

test('a thread that hangs over a job is ended, and the next job starts another', async () => {
  const hanging = `
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', ({ id, job }) => {
      while (job === 13) {}
      parentPort.postMessage({ id, answer: { doubled: 2 * job } })
    })`
  const url = new URL(`data:text/javascript,${encodeURIComponent(hanging)}`)
  const jobs = new WorkerJobs<number, Answer>({ url, execArgv: [] }, { maxJobMs: () => 500 })
  assert.equal(await jobs.run(1), { doubled: 2 })
  assert.equal(await jobs.run(13), { error: 'the thread ended' })
  assert.equal(await jobs.run(4), { doubled: 8 })
  await jobs.close()
})

test('a module that is not there is an error value', async () => {
  const jobs = new WorkerJobs<number, Answer>({ url: new URL('file:///nowhere/worker.js'), execArgv: [] })
  assert.ok('error' in (await jobs.run(1)))
  await jobs.close()
})

test('after close no job is run, and what waited is answered', async () => {
  const jobs = new WorkerJobs<number, Answer>(entry)
  const waiting = jobs.run(1)
  await jobs.close()
  await jobs.close()
  assert.ok('error' in (await waiting))
  assert.equal(await jobs.run(1), { error: 'closed' })
})

test('ten thousand jobs may wait; a further one is refused and counted', async () => {
  const jobs = new WorkerJobs<number, Answer>(entry)
  const waiting = Array.from({ length: 10_000 }, (_, n) => jobs.run(n + 100))
  assert.equal(await jobs.run(0), { error: 'too many jobs wait' })
  assert.is(jobs.lost, 1)
  assert.equal((await Promise.all(waiting)).at(-1), { doubled: 2 * 10_099 })
  await jobs.close()
})

test.run()
