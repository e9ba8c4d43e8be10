import * as assert from 'uvu/assert'
import { HELD } from '../../bench/copilot/calls/held.ts'
import { type Half, labelsOf } from '../../bench/copilot/calls/labelled-call.ts'
import { SEEN } from '../../bench/copilot/calls/seen.ts'
import { recordingsOf } from '../../bench/copilot/heard-calls.ts'
import { labelsTold, type Message, score } from '../../bench/copilot/score.ts'
import { suite } from '../harness.ts'

const test = suite('bench/copilot-score')

const PROFILE = {
  stages: [{ key: 'open' }, { key: 'close' }],
  compliance: { forbidden_phrases: [{ phrase: 'we guarantee' }] },
}

const message = (id: string, type: string, data: object, more: Partial<Message> = {}): Message => ({
  ...{ id, type, data, utterance_ids: [], replaces: null, withdraws: null },
  ...more,
})

test('what was replaced or withdrawn was not told in the end; a stage was there all the same', () => {
  const told = labelsTold(
    [
      message('1', 'stage', { key: 'open' }),
      message('2', 'field', { key: 'name', value: 'Ann' }),
      message('3', 'field', { key: 'name', value: 'Anna' }, { replaces: '2' }),
      message('4', 'alert', { key: 'cancel', kind: 'phrase' }),
      message('5', 'alert', {}, { withdraws: '4' }),
      message('6', 'alert', { key: 'quiet', kind: 'silence' }),
      message('7', 'compliance', { kind: 'forbidden_phrase', phrase: 'we guarantee' }),
      message('8', 'compliance', { kind: 'required_disclosure', key: 'recorded', status: 'missed' }),
      message('9', 'stage', { key: 'close' }, { replaces: '1' }),
    ],
    PROFILE,
  )
  assert.equal(told, ['stage:close', 'field:name=Anna', 'forbidden:0'])
})

test('each label counts once for what was wanted and once for what was told', () => {
  const wanted = ['item:a/b', 'objection:price', 'objection:price']
  assert.equal(score(wanted, ['objection:price', 'item:a/c']), {
    item: { wanted: 1, told: 1, right: 0 },
    objection: { wanted: 2, told: 1, right: 1 },
  })
})

/** All that a label of this profile can name. */
function names(profile: object): string[] {
  // biome-ignore lint/suspicious/noExplicitAny: a profile as it is sent to the API
  const { stages, fields, objections, alerts, compliance } = profile as any
  const keys = (list: { key: string }[]): string[] => list.map(({ key }) => key)
  return [
    ...stages.flatMap((stage: { key: string; checklist: { key: string }[] }) => [
      `stage:${stage.key}`,
      ...keys(stage.checklist).map(key => `item:${stage.key}/${key}`),
    ]),
    ...keys(fields).map(key => `field:${key}`),
    ...keys(objections).map(key => `objection:${key}`),
    ...keys(alerts).map(key => `alert:${key}`),
    ...keys(compliance.required_disclosures).map(key => `disclosure:${key}`),
    ...compliance.forbidden_phrases.map((_: object, at: number) => `forbidden:${at}`),
  ]
}

for (const half of [SEEN, HELD] as readonly Half[]) {
  test(`every label of the ${half.name} half names something of its profile, and every line of a recorded call has its time`, () => {
    for (const { name, profile, turns } of half.calls) {
      const known = names(half.profiles[profile]!)
      for (const line of turns.flatMap(({ lines }) => lines)) {
        for (const label of labelsOf(line, new Date()))
          assert.ok(known.includes(label.split('=')[0]!), `${name}: ${label}`)
      }
    }
    for (const { recording } of recordingsOf(half)) {
      const { call, samples, times } = recording
      const parties = call.turns.flatMap(({ party, lines }) => lines.map(() => party))
      assert.equal(
        times.map(({ party }) => party),
        parties,
      )
      assert.ok(
        times.every(({ from, to }) => from < to && to < samples.agent.length),
        call.name,
      )
      assert.is(samples.agent.length, samples.customer.length)
    }
  })
}

test.run()
