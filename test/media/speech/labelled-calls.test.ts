// Own process: flite speaks in threads here, for a while.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { type Heard, hear } from '../../../bench/hearing/chain.ts'
import { CallMaker, CONDITIONS, EMPTY_CONDITIONS, type LabelledCall } from '../../../bench/hearing/labelled-calls.ts'
import { Prompts } from '../../../media/engine/prompts.ts'
import { suite } from '../../harness.ts'

/** Numbers of the calls of each condition; `npm run bench -- --hearing` runs more of them, with a recogniser. */
const CALLS = [0, 5]
const LIMIT = { timeoutMs: 120_000 }
/** Maximum part of a word that may be missing: the closed lips before a "b", or the air after an "s" [samples]. */
const ALLOWED = 8 * 140

const dataDir = mkdtempSync(join(tmpdir(), 'tandem-test-'))
const prompts = new Prompts({ sampleRateHz: 8000 })
const maker = new CallMaker('build')

const test = suite('media/speech/labelled-calls')
test.after(async () => {
  await Promise.all([maker.close(), prompts.close()])
  rmSync(dataDir, { recursive: true })
})

type Case = { name: string; call: LabelledCall; heard: Heard }

async function* casesOf(conditions: typeof CONDITIONS): AsyncGenerator<Case> {
  for (const condition of conditions) {
    for (const number of CALLS) {
      const call = await maker.make(condition, number)
      const heard = await hear(call, { dataDir, prompts, ear: null })
      yield { name: `${condition.name}, call ${number}`, call, heard }
    }
  }
}

/** Checks that there is one utterance, with everything that was said. */
function assertWhole({ name, call, heard }: Case): void {
  assert.is(heard.utterances.length, 1, name)
  const { from, to } = heard.utterances[0]!
  assert.ok(from - call.from < ALLOWED, `${name}: ${(from - call.from) / 8} ms are missing at the beginning`)
  assert.ok(call.to - to < ALLOWED, `${name}: ${(call.to - to) / 8} ms are missing at the end`)
}

test(
  'no word is lost in quiet: loud and soft, one second after our loud answer, and over it',
  async () => {
    for await (const made of casesOf(CONDITIONS.filter(({ isQuiet }) => isQuiet))) assertWhole(made)
  },
  LIMIT,
)

test(
  'a voice no louder than steady noise, and one 5 dB above other voices in the room, is heard whole, and its end is found',
  async () => {
    const noisy = CONDITIONS.filter(({ name }) => /^(white|car|fan) |^babble.*(20|10|5) dB/.test(name))
    assert.is(noisy.length, 15)
    for await (const made of casesOf(noisy)) assertWhole(made)
  },
  LIMIT,
)

test(
  'loud noise, others in the room and our own echo silence nothing: the announcement is heard to its end without a pause',
  async () => {
    for (const condition of EMPTY_CONDITIONS) {
      const heard = await hear(await maker.make(condition, 0), { dataDir, prompts, ear: null })
      assert.is(heard.declared, 0, condition.name)
      assert.ok(heard.answerHeard! > 0.99, condition.name)
    }
  },
  LIMIT,
)

test.run()
