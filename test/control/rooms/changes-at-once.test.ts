import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { makeCallsWorld } from '../calls-world.ts'

const test = suite('control/rooms: changes of one participant at once')

/** How often: conflicting transactions of PostgreSQL are repeated after a random delay. */
const TIMES = 40

test('of changes that are asked for at once, the one that media made last is what is shown', async () => {
  const world = await makeCallsWorld()
  const { control, media, openRoom } = world
  await media.dialInUntil('leg.move', 'part_1', '1001')
  const path = `/v1/conference_rooms/${openRoom}/participants`
  const change = (body: object) => control.ask(`PATCH ${path}/part_1`, body)
  for (let n = 0; n < TIMES; n++) {
    const changes = [true, false, true, false].map(isOn =>
      change({ muted: isOn, deaf: isOn, audio: { auto_gain: isOn } }),
    )
    for (const { status } of await Promise.all(changes)) assert.is(status, 200)
    const [shown] = (await control.ask(`GET ${path}`)).body.data
    const { muted, deaf, sound } = media.legs.get('part_1')!
    assert.equal([shown.muted, shown.deaf, shown.audio.auto_gain], [muted, deaf, sound.autoGain], `the ${n + 1}th time`)
  }
  await world.close()
})

test.run()
