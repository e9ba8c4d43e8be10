import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { type CallsWorld, makeCallsWorld } from '../calls-world.ts'

const test = suite('control/calls/pin')

type Press = { digits: string; ended?: 'terminator' | 'length' | 'timeout' }

/** What is pressed, and where it leads: a seat with a role, or the prompt before the hang-up. */
const TABLE: { name: string; presses: Press[]; ends: { role: string } | { prompt: string } }[] = [
  { name: 'the right PIN seats a member', presses: [{ digits: '1234' }], ends: { role: 'member' } },
  { name: 'the moderator PIN seats a moderator', presses: [{ digits: '98765' }], ends: { role: 'moderator' } },
  {
    name: 'two wrong PINs and the right one seat a member',
    presses: [{ digits: '1111' }, { digits: '2222' }, { digits: '1234', ended: 'terminator' }],
    ends: { role: 'member' },
  },
  {
    name: 'after three wrong PINs the caller is hung up on',
    presses: [{ digits: '1111' }, { digits: '2222' }, { digits: '3333' }],
    ends: { prompt: 'too-many-tries' },
  },
  {
    name: 'pressing nothing counts as a try',
    presses: [
      { digits: '', ended: 'timeout' },
      { digits: '', ended: 'timeout' },
      { digits: '', ended: 'timeout' },
    ],
    ends: { prompt: 'too-many-tries' },
  },
  {
    name: 'a PIN is not matched by its beginning',
    presses: [{ digits: '123' }, { digits: '12345' }, { digits: '9876' }],
    ends: { prompt: 'too-many-tries' },
  },
]

for (const { name, presses, ends } of TABLE) {
  test(name, async () => {
    const world = await makeCallsWorld()
    const { media } = world
    media.dialIn('part_1', '1000')
    for (const [index, { digits, ended }] of presses.entries()) {
      const collect = await media.command('leg.collect', 'part_1', index + 1)
      assert.is(collect.sensitive, true)
      assert.is(collect.maxDigits, 5)
      const names = collect.prompts.map(source => (source.kind === 'prompt' ? source.name : source.kind))
      assert.equal(names, index === 0 ? ['welcome', 'enter-pin'] : ['wrong-pin', 'enter-pin'])
      media.press('part_1', digits, ended)
    }
    if ('prompt' in ends) {
      const play = await media.command('leg.play', 'part_1')
      assert.equal(play.sources[0], { kind: 'prompt', name: ends.prompt })
      assert.is(play.hangupAfter, 'rejected')
      await media.committed()
      assert.equal(media.sent('leg.move'), [])
    } else {
      await media.command('leg.move', 'part_1')
      await media.committed()
      assert.is((await leg(world)).role, ends.role)
    }
    await assertNoDigits(world, presses)
    await world.close()
  })
}

test('an answer to an earlier question is stale', async () => {
  const world = await makeCallsWorld()
  const { media } = world
  media.dialIn('part_1', '1000')
  await media.command('leg.collect', 'part_1')
  media.press('part_1', '1111')
  await media.command('leg.collect', 'part_1', 2)
  media.emit('leg.collected', { legId: 'part_1', collectId: 'pin-0', digits: '2222', ended: 'length', utterance: null })
  await media.committed()
  assert.is((await leg(world)).pin_tries, 1)
  await world.close()
})

const leg = (world: CallsWorld) =>
  world.store.db.selectFrom('participants').selectAll().where('id', '=', 'part_1').executeTakeFirstOrThrow()

/** No digit of a PIN is stored. */
async function assertNoDigits(world: CallsWorld, presses: Press[]): Promise<void> {
  const events = await world.store.db.selectFrom('events').select('data').execute()
  const stored = JSON.stringify([events, await world.store.db.selectFrom('settings').selectAll().execute()])
  for (const { digits } of presses) if (digits.length > 3) assert.not.match(stored, new RegExp(`"${digits}`))
}

test.run()
