import * as assert from 'uvu/assert'
import { SINKS } from '../../../media/engine/sinks.ts'
import { isFailure } from '../../../media/protocol.ts'
import { meters } from '../../examples/meters/meters.ts'
import { suite } from '../../harness.ts'
import { LocalMedia, RawPhone } from '../local-media.ts'
import { Speaker, toneFrame } from './party.ts'

const test = suite('media/engine/new-sink')

test("CONTRIBUTING's example: one folder and one line make a sink that is asked for by the channel and hears a call", async () => {
  const media = await LocalMedia.open({ sinks: [...SINKS, meters] })
  const phone = await RawPhone.open(media)
  await phone.call()
  await media.engine.until(() => media.of('leg.incoming').length > 0)
  const { legId } = media.of('leg.incoming')[0]!
  await media.run('leg.answer', { legId, room: room('call_1'), affinity: 'a', codecs: ['PCMU'] })
  await media.engine.until(() => media.of('leg.joined').length > 0)
  const ask = (name: string, body: object): Promise<object> => media.commands.run(name, body)

  assert.equal(await ask('meter.start', { meterId: 'meter_1' }), {
    failure: 'invalid',
    message: 'meter.start: the body does not fit the command',
  })
  assert.equal(await ask('meter.start', { meterId: 'meter_1', target: { legId: 'nobody' } }), {
    failure: 'not_found',
    message: 'meter.start: nothing of that ID is here',
  })
  assert.equal(await ask('meter.start', { meterId: 'meter_1', target: { legId } }), {})
  const { engine } = media
  const speaker = new Speaker(packet => media.farEnds[0]!.receiver!.rtp(packet, '127.0.0.1', 4000, engine.now))
  engine.run(10, tick => speaker.speak(toneFrame(440, tick, 8000), engine.now))
  // Its types are known wherever the protocol is.
  const measured = await media.run('meter.stop', { meterId: 'meter_1' })
  assert.ok(!isFailure(measured))
  assert.is(measured.frames, 10)
  assert.ok(measured.peak > 7000 && measured.peak < 9000, `${measured.peak}`)

  assert.equal(await ask('meter.start', { meterId: 'meter_2', target: { legId } }), {})
  await media.run('leg.hangup', { legId, reason: 'api_hangup' })
  await media.engine.until(() => media.of('leg.ended').length > 0)
  assert.ok('failure' in (await ask('meter.stop', { meterId: 'meter_2' })), 'it has ended with its call')
  await media.close()
  phone.close()
})

const room = (roomId: string) => ({
  roomId,
  kind: 'call' as const,
  chimes: false,
  musicWhenAlone: false,
  maxMembers: 8,
})

test.run()
