import * as assert from 'uvu/assert'
import type { CommandName, Commands, MediaEvent } from '../../media/protocol.ts'
import { isFailure } from '../../media/protocol.ts'
import { FakeMedia } from '../fakes/media.ts'
import { suite } from '../harness.ts'
import { LocalMedia, RawPhone } from './local-media.ts'

const test = suite('media/contract')

/** Media as control sees it. */
interface Party {
  run<N extends CommandName>(name: N, body: Commands[N]['request']): Promise<object>
  /** The legs whose end was told, and why. */
  ends(): [string, string][]
  port: number
  close(): Promise<void>
}

async function real(): Promise<Party> {
  const media = await LocalMedia.open()
  const phone = await RawPhone.open(media)
  const close = async (): Promise<void> => {
    await media.close()
    phone.close()
  }
  const ends = () => media.of('leg.ended').map(({ legId, reason }): [string, string] => [legId, reason])
  return { run: (name, body) => media.run(name, body), ends, port: phone.port, close }
}

async function double(): Promise<Party> {
  const media = new FakeMedia()
  const events: MediaEvent[] = []
  const emit = media.emit.bind(media)
  media.emit = (name, body, at) => {
    events.push({ name, at: at ?? '', body } as MediaEvent)
    emit(name, body, at)
  }
  return {
    run: async (name, body) => media.carryOut(name, body),
    ends: () => events.flatMap(({ name, body }) => (name === 'leg.ended' ? [[body.legId, body.reason]] : [])),
    port: 5060,
    close: () => media.close(),
  }
}

const room = { roomId: 'call_1', kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 8 }

const dial = ({ run, port }: Party): Promise<object> =>
  run('leg.dial', {
    legId: 'part_1',
    target: {
      uri: `sip:callee@127.0.0.1:${port}`,
      from: { uri: 'sip:tandem@192.0.2.1', displayName: null },
      via: null,
      publicOnly: false,
      credentials: null,
      codecs: ['PCMU'],
    },
    room,
    affinity: 'org',
    timeoutS: 30,
  })

const failureOf = (reply: object): string | null => (isFailure(reply) ? reply.failure : null)
const hangup = (party: Party): Promise<object> => party.run('leg.hangup', { legId: 'part_1', reason: 'api_hangup' })

// What control relies on, of the media process's own parts and of the double that its tests use.
for (const [name, open] of [
  ['the real one', real],
  ['the double', double],
] as const) {
  const proves = (sentence: string, run: (party: Party) => Promise<void>): void =>
    test(`${name}: ${sentence}`, async () => {
      const party = await open()
      await run(party)
      await party.close()
    })

  proves('a leg is dialled once, while it runs and after its end', async party => {
    assert.is(failureOf(await dial(party)), null)
    assert.is(failureOf(await dial(party)), 'conflict')
    await hangup(party)
    assert.is(failureOf(await dial(party)), 'conflict')
  })

  proves('a snapshot has every leg that was dialled before it', async party => {
    void dial(party)
    const snapshot = (await party.run('media.snapshot', {})) as Commands['media.snapshot']['reply']
    assert.equal(
      snapshot.legs.map(({ legId, state }) => [legId, state]),
      [['part_1', 'dialing']],
    )
  })

  proves('a hang-up is answered after the one event that tells of the end', async party => {
    await dial(party)
    assert.is(failureOf(await hangup(party)), null)
    assert.equal(party.ends(), [['part_1', 'api_hangup']])
    assert.is(failureOf(await hangup(party)), 'not_found')
    assert.is(party.ends().length, 1)
  })

  proves('what is not there is not found', async party => {
    assert.is(failureOf(await hangup(party)), 'not_found')
    const legId = 'part_1'
    assert.is(failureOf(await party.run('leg.stop_play', { legId })), 'not_found')
    assert.is(failureOf(await party.run('leg.hold', { legId, held: false, sources: [] })), 'not_found')
    assert.is(failureOf(await party.run('room.close', { roomId: 'call_1', reason: 'api_hangup' })), 'not_found')
    assert.is(failureOf(await party.run('stream.stop', { streamId: 'ms_1' })), 'not_found')
    assert.is(failureOf(await party.run('recording.stop', { recordingId: 'call_1' })), 'not_found')
    assert.is(failureOf(await party.run('leg.move', { legId, room, mustExist: true, muted: false })), 'not_found')
  })

  proves('nothing of a leg that is not there is started', async party => {
    const target = { legId: 'part_1' }
    assert.is(failureOf(await party.run('recording.start', { recordingId: 'call_1', target })), 'not_found')
    const pause = { maxSeconds: 9, reason: 'payment', maskDtmf: true, destinationLegId: null }
    assert.is(failureOf(await party.run('capture.pause', { target, ...pause })), 'not_found')
  })
}

test.run()
