import * as assert from 'uvu/assert'
import { Moonshine } from '../../../../media/speech/moonshine/moonshine.ts'
import type { MoonshineAnswer, MoonshineJob } from '../../../../media/speech/moonshine-worker.ts'
import type { Manner } from '../../../../media/speech/speech-engines.ts'
import { suite } from '../../../harness.ts'

const test = suite('media/speech/moonshine/moonshine-turns')

/** A thread that takes one job after the other, and finishes one when the test says so. */
class Thread {
  readonly jobs: { job: MoonshineJob; resolve: (answer: MoonshineAnswer) => void }[] = []

  get waiting(): number {
    return this.jobs.length
  }

  run(job: MoonshineJob): Promise<MoonshineAnswer> {
    return new Promise(resolve => this.jobs.push({ job, resolve }))
  }

  async close(): Promise<void> {}

  async finish(text: string): Promise<void> {
    this.jobs.shift()!.resolve({ text, confidence: 0, isSure: true })
    await new Promise(resolve => setImmediate(resolve))
  }

  async giveUp(): Promise<void> {
    this.jobs.shift()!.resolve({ givenUp: true })
    await new Promise(resolve => setImmediate(resolve))
  }

  /** The lengths of what it was given and has not finished. */
  get lengths(): number[] {
    return this.jobs.map(({ job }) => job.samples.length)
  }
}

let thread: Thread
let ear: Moonshine
let answers: string[]

test.beforeEach(() => {
  thread = new Thread()
  ear = new Moonshine(thread)
  answers = []
})

async function ask(manner: Manner, length: number, legId = 'part_a'): Promise<void> {
  const owner = { legId, callId: null, affinity: 'org' }
  void ear.transcribe(new Int16Array(length), null, manner, owner).then(answer => {
    answers.push('error' in answer ? `${length}: ${answer.error}` : `${length}: ${answer.text}`)
  })
  await new Promise(resolve => setImmediate(resolve))
}

test('while another one waits, the thread knows that one look must do', async () => {
  await ask('whole', 1)
  const { job } = thread.jobs[0]!
  assert.is(Atomics.load(job.others, 0), 0)
  await ask('whole', 2, 'part_b')
  assert.is(Atomics.load(job.others, 0), 1)
  await ask('glance', 3, 'part_c')
  assert.is(Atomics.load(job.others, 0), 2)
  await thread.finish('one')
  assert.is(Atomics.load(job.others, 0), 1)
  await thread.finish('two')
  assert.is(Atomics.load(job.others, 0), 0)
})

test('a glance waits until nothing else is to be done, and a whole that came later is done before it', async () => {
  await ask('whole', 1)
  await ask('glance', 2, 'part_b')
  await ask('whole', 3, 'part_c')
  assert.equal(thread.lengths, [1, 3])
  await thread.finish('one')
  assert.equal(thread.lengths, [3])
  await thread.finish('three')
  assert.equal(thread.lengths, [2])
  assert.is(thread.jobs[0]?.job.look, 0)
  await thread.finish('two')
  assert.equal(answers, ['1: one', '3: three', '2: two'])
})

test('of the glances of a leg the newest alone waits, in the place of the first', async () => {
  await ask('whole', 1, 'part_x')
  await ask('glance', 2, 'part_a')
  await ask('glance', 3, 'part_b')
  await ask('glance', 4, 'part_a')
  assert.equal(answers, ['2: busy'])
  await thread.finish('one')
  assert.equal(thread.lengths, [4])
})

test('who only peeks or guesses is refused while anything is to be done', async () => {
  await ask('glance', 1)
  await ask('peek', 2)
  await ask('guess', 3)
  assert.equal(answers, ['2: busy', '3: busy'])
  await thread.finish('one')
  await ask('peek', 4)
  assert.equal(thread.lengths, [4])
})

test('an utterance that ends while it is glanced at is not looked at twice, and one that waited is done as a whole', async () => {
  await ask('glance', 5)
  await ask('whole', 5)
  assert.equal(thread.lengths, [5])
  await thread.finish('five')
  assert.equal(answers, ['5: five', '5: five'])
  await ask('whole', 1, 'part_b')
  await ask('glance', 6)
  await ask('whole', 6)
  assert.equal(thread.lengths, [1, 6])
  assert.equal(answers.at(-1), '6: busy')
})

test('what was made of a leg by now is the draft of the next look at it, until its utterance ends', async () => {
  const draftOf = async (manner: Manner, legId: string, made: string): Promise<string> => {
    await ask(manner, 1, legId)
    const { draft } = thread.jobs[0]!.job
    await thread.finish(made)
    return draft
  }
  assert.is(await draftOf('peek', 'part_a', 'I want to'), '')
  assert.is(await draftOf('peek', 'part_b', 'We'), '')
  assert.is(await draftOf('glance', 'part_a', 'I want to cancel'), 'I want to')
  assert.is(await draftOf('whole', 'part_a', 'I want to cancel.'), 'I want to cancel')
  assert.is(await draftOf('peek', 'part_a', 'Two'), '')
  assert.is(await draftOf('guess', 'part_b', 'We go'), 'We')
})

test('who speaks on is skimmed: that is given up as soon as anything else is to be done', async () => {
  await ask('skim', 1)
  const { job } = thread.jobs[0]!
  assert.ok(job.givesWay)
  assert.is(Atomics.load(job.others, 0), 0)
  await ask('skim', 2, 'part_b')
  assert.equal(answers, ['2: busy'])
  assert.is(Atomics.load(job.others, 0), 0)
  await ask('glance', 3, 'part_b')
  assert.is(Atomics.load(job.others, 0), 1)
  await thread.giveUp()
  assert.equal(answers, ['2: busy', '1: busy'])
  assert.not(thread.jobs[0]!.job.givesWay)
  await thread.finish('three')
  assert.is(answers.at(-1), '3: three')
})

test('drafts of more legs than speak at once are not kept', async () => {
  for (let i = 0; i < 200; i++) {
    await ask('peek', 1, `part_${i}`)
    await thread.finish(`words of ${i}`)
  }
  await ask('peek', 2, 'part_0')
  assert.is(thread.jobs[0]!.job.draft, '')
  await thread.finish('')
  await ask('peek', 2, 'part_199')
  assert.is(thread.jobs[0]!.job.draft, 'words of 199')
})

test.run()
