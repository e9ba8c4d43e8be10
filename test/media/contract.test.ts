import { once } from 'node:events'
import { createConnection } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { MediaRequests } from '../../control/media-link/requests.ts'
import type { CaptureState, CommandName, Commands, DialTarget, LegSnapshot, MediaEvent } from '../../media/protocol.ts'
import { encodeMessage, isFailure, MessageReader } from '../../media/protocol.ts'
import { FakeMedia } from '../fakes/media.ts'
import type { MediaDouble } from '../fakes/media-double.ts'
import { PocketMedia } from '../fakes/pocket-media.ts'
import { suite } from '../harness.ts'
import { LocalMedia, MAX_CALLS, RawPhone } from './local-media.ts'

const test = suite('media/contract')

/** Media as control sees it. */
interface Party {
  run<N extends CommandName>(name: N, body: Commands[N]['request']): Promise<object>
  events(): MediaEvent[]
  /** Lets somebody call. @returns the leg's ID */
  callIn(): Promise<string>
  /** Makes the engine carry out commands, but reply too late. */
  fallSilent(isSilent: boolean): void
  /** Lets everybody be silent for this time. */
  nobodySpeaks(ms: number): void
  /** The called party of this leg redirects the call. */
  redirect(legId: string, to: string): Promise<void>
  port: number
  close(): Promise<void>
}

async function real(): Promise<Party> {
  const media = await LocalMedia.open()
  const phones = [await RawPhone.open(media)]
  const callIn = async (): Promise<string> => {
    const phone = await RawPhone.open(media)
    phones.push(phone)
    const before = media.of('leg.incoming').length
    await phone.call()
    await media.engine.until(() => media.of('leg.incoming').length > before)
    return media.of('leg.incoming').at(-1)!.legId
  }
  const close = async (): Promise<void> => {
    await media.close()
    for (const phone of phones) phone.close()
  }
  const fallSilent = (isSilent: boolean): void => {
    media.thread.isSilent = isSilent
  }
  return {
    run: (name, body) => media.run(name, body),
    events: () => media.events,
    callIn,
    fallSilent,
    nobodySpeaks: ms => media.engine.run(ms / 20),
    redirect: async (_legId, to) => {
      const [phone] = phones
      await phone!.expect('INVITE')
      await phone!.respond(302, { contact: to })
      await media.engine.until(() => media.of('leg.redirected').length > 0)
    },
    port: phones[0]!.port,
    close,
  }
}

/** The double as a party, whichever way it is reached. */
function double(media: MediaDouble, run: Party['run'], close: () => Promise<void>): Party {
  media.maxCalls = MAX_CALLS
  let calls = 0
  const callIn = async (): Promise<string> => {
    const legId = `part_in_${++calls}`
    media.dialIn(legId, '1000')
    return legId
  }
  const fallSilent = (isSilent: boolean): void => {
    media.isSilent = isSilent
  }
  const redirect = async (legId: string, to: string): Promise<void> => void media.redirect(legId, [to], 'conn_1')
  const events = () => media.unacknowledged.map(({ event }) => event)
  return { run, events, callIn, fallSilent, nobodySpeaks: ms => media.nobodySpeaks(ms), redirect, port: 5060, close }
}

/** The double over its Unix socket, as control's tests use it. */
async function overSocket(): Promise<Party> {
  const media = new FakeMedia()
  await media.listen()
  const requests = new MediaRequests()
  const socket = createConnection(media.path)
  const reader = new MessageReader()
  socket.on('data', bytes => {
    const read = reader.read(bytes)
    for (const message of 'error' in read ? [] : read.messages) {
      if (message.type === 'reply') requests.replied(message.id as number, message.body)
    }
  })
  await once(socket, 'connect')
  const run: Party['run'] = (name, body) =>
    requests.send(id => void socket.write(encodeMessage({ type: 'request', id, name, body })), name, 5000)
  return double(media, run, async () => {
    socket.destroy()
    await media.close()
  })
}

/** The double within the process, as tests with models use it. */
async function inProcess(): Promise<Party> {
  const media = new PocketMedia(() => new Date())
  return double(
    media,
    (name, body) => media.request(name, body),
    async () => {},
  )
}

const room = { roomId: 'call_1', kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 8 }

const dial = ({ run, port }: Party, legId = 'part_1', more: Partial<DialTarget> = {}): Promise<object> =>
  run('leg.dial', {
    legId,
    target: {
      uri: `sip:callee@127.0.0.1:${port}`,
      from: { uri: 'sip:tandem@192.0.2.1' },
      hosts: [],
      publicOnly: false,
      credentials: null,
      codecs: ['PCMU'],
      ...more,
    },
    room,
    affinity: 'org',
    timeoutS: 30,
  })

const ANSWERING = {
  messageEnd: true,
  initialSilenceMs: 2000,
  greetingMs: 2300,
  afterGreetingSilenceMs: 800,
  maxWords: 8,
  minWordMs: 100,
  betweenWordsMs: 60,
  totalMs: 6000,
  messageSilenceMs: 1800,
  messageMs: 60_000,
}

const failureOf = (reply: object): string | null => (isFailure(reply) ? reply.failure : null)
const hangup = (party: Party, legId = 'part_1'): Promise<object> =>
  party.run('leg.hangup', { legId, reason: 'api_hangup' })
/** A caller in a room. */
async function answered(party: Party, roomId: string, maxMembers = 8): Promise<string> {
  const legId = await party.callIn()
  const reply = await party.run('leg.answer', {
    legId,
    room: { ...room, roomId, maxMembers },
    affinity: 'org',
    codecs: ['PCMU'],
  })
  assert.is(failureOf(reply), null)
  return legId
}
const snapshotOf = async (party: Party) =>
  (await party.run('media.snapshot', {})) as Commands['media.snapshot']['reply']
/** Legs whose end was reported, with the reason. */
const ends = (party: Party): [string, string][] =>
  party.events().flatMap(({ name, body }) => (name === 'leg.ended' ? [[body.legId, body.reason]] : []))
/** Events of rooms and legs, in order. */
const told = (party: Party): string[] => party.events().map(({ name }) => name)

// What control relies on must hold for media's real parts and for the double that control's tests use.
for (const [name, open] of [
  ['the real one', real],
  ['the double over its socket', overSocket],
  ['the double in process', inProcess],
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
    const snapshot = await snapshotOf(party)
    assert.equal(
      snapshot.legs.map(({ legId, state, roomId }) => [legId, state, roomId]),
      [['part_1', 'dialing', null]],
    )
  })

  proves('a hang-up is answered after the one event that tells of the end', async party => {
    await dial(party)
    assert.is(failureOf(await hangup(party)), null)
    assert.equal(ends(party), [['part_1', 'api_hangup']])
    assert.is(failureOf(await hangup(party)), 'not_found')
    assert.is(ends(party).length, 1)
  })

  proves('who is refused ends once, and with the code that he was told', async party => {
    const legId = await party.callIn()
    const refusal = { legId, sipCode: 486, reason: 'busy' as const }
    assert.is(failureOf(await party.run('leg.reject', refusal)), null)
    // Answered after its end.
    await hangup(party, legId)
    const codes = party
      .events()
      .flatMap(({ name, body }) => (name === 'leg.ended' ? [[body.reason, body.sipCode]] : []))
    assert.equal(codes, [['busy', 486]])
  })

  proves(
    'nobody whom a far end names is called before it is said that they may be; when nobody may be, the leg ends so',
    async party => {
      const legId = 'part_1'
      assert.is(failureOf(await dial(party, legId, { followRedirects: true, connectionId: 'conn_1' })), null)
      const to = `sip:+14155550199@127.0.0.1:${party.port}`
      await party.redirect(legId, to)
      const [asked, ...others] = party.events().flatMap(event => (event.name === 'leg.redirected' ? [event.body] : []))
      assert.is(others.length, 0)
      const { redirectId, connectionId } = asked!
      assert.equal([asked!.legId, asked!.to.map(({ uri }) => uri), connectionId], [legId, [to], 'conn_1'])
      const answer = { legId, redirectId, to: [], reason: 'redirect_refused' as const }
      assert.is(failureOf(await party.run('leg.redirect_answer', { ...answer, redirectId: 'redir_none' })), 'not_found')
      assert.is(failureOf(await party.run('leg.redirect_answer', answer)), null)
      for (let n = 0; n < 100 && ends(party).length === 0; n++) await setImmediate()
      assert.equal(ends(party), [[legId, 'redirect_refused']])
      assert.is(failureOf(await party.run('leg.redirect_answer', answer)), 'not_found')
    },
  )

  proves('a recording that was stopped does not begin again by a start that was on its way', async party => {
    await answered(party, 'call_1')
    const start = { recordingId: 'call_1', target: { roomId: 'call_1' } }
    assert.is(failureOf(await party.run('recording.start', start)), null)
    assert.is(failureOf(await party.run('recording.stop', { recordingId: 'call_1' })), null)
    assert.ok(['conflict', 'ended'].includes(failureOf(await party.run('recording.start', start))!))
    // The file is written by a thread of its own.
    for (let n = 0; n < 2000 && told(party).at(-1) !== 'recording.ready'; n++) await setTimeout(5)
    assert.is(told(party).at(-1), 'recording.ready')
    assert.is(failureOf(await party.run('recording.start', start)), 'ended', 'its file is written')
  })

  proves('what is told of a stream that is stopped has the request that stopped it', async party => {
    const legId = await answered(party, 'call_1')
    await party.run('stream.start', {
      ...{ streamId: 'ms_1', url: 'ws://127.0.0.1:9/', tracks: 'inbound', format: 'mulaw_8000' },
      ...{ customParameters: {}, accountSid: 'org_1', callSid: 'call_1', signingSecret: '', target: { legId } },
      addresses: { publicOnly: true, allowed: [] },
    })
    const request = { requestId: 'req_1', idempotencyKey: null }
    assert.is(failureOf(await party.run('stream.stop', { streamId: 'ms_1', request })), null)
    const changes = () => party.events().flatMap(({ name, body }) => (name === 'stream.changed' ? [body] : []))
    for (let n = 0; n < 2000 && changes().at(-1)?.endedReason == null; n++) await setTimeout(5)
    const { endedReason, request: by } = changes().at(-1)!
    assert.equal([endedReason, by], ['stopped', request])
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

  proves('a leg has a voice while somebody wants to know of it', async party => {
    const legId = await answered(party, 'call_1')
    const voiceOf = async () => (await snapshotOf(party)).legs[0]?.voice
    assert.is(await voiceOf(), null)
    await party.run('leg.update', { legId, sound: { speechEvents: true, gainDb: 3 } })
    assert.equal(await voiceOf(), { isSpeaking: false, levelDbov: -127 })
    await party.run('leg.update', { legId, sound: { gainDb: null } })
    assert.equal(await voiceOf(), { isSpeaking: false, levelDbov: -127 })
    await party.run('leg.update', { legId, sound: { speechEvents: null } })
    assert.is(await voiceOf(), null)
  })

  proves('who has answered is told once, and only of a leg of which somebody wants to know', async party => {
    const [asked, other] = [await party.callIn(), await answered(party, 'call_2')]
    const answering = { ...ANSWERING, legId: asked }
    const capture = { recordingId: null, transcript: null, answering }
    await party.run('leg.answer', { legId: asked, room: { ...room, capture }, affinity: 'org', codecs: ['PCMU'] })
    const found = () => party.events().flatMap(({ name, body }) => (name === 'leg.answered_by' ? [body] : []))
    party.nobodySpeaks(answering.initialSilenceMs - 20)
    assert.equal(found(), [])
    party.nobodySpeaks(answering.totalMs)
    assert.equal(found(), [{ legId: asked, answeredBy: 'unknown', cause: 'no_voice', ms: answering.initialSilenceMs }])
    await hangup(party, other)
  })

  proves('nothing of a leg that is not there is started', async party => {
    const target = { legId: 'part_1' }
    assert.is(failureOf(await party.run('recording.start', { recordingId: 'call_1', target })), 'not_found')
    const pause = { maxSeconds: 9, reason: 'payment', maskDtmf: true, destinationLegId: null }
    assert.is(failureOf(await party.run('capture.pause', { target, ...pause })), 'not_found')
  })

  proves('an answer is told of before its room, and that before who enters', async party => {
    const legId = await answered(party, 'call_1')
    assert.equal(told(party), ['leg.incoming', 'leg.answered', 'room.opened', 'leg.joined'])
    const { legs, rooms } = await snapshotOf(party)
    assert.equal([legs[0]?.state, legs[0]?.roomId], ['answered', 'call_1'])
    assert.equal([rooms[0]?.roomId, rooms[0]?.legIds], ['call_1', [legId]])
    assert.is(failureOf(await party.run('leg.reject', { legId, sipCode: 486, reason: 'busy' })), 'conflict')
  })

  proves('the last to leave closes the room, and with it its pause, before the end of the leg is told', async party => {
    const legId = await answered(party, 'call_1')
    const pause = { maxSeconds: 9, reason: 'payment', maskDtmf: true, destinationLegId: null }
    assert.is(failureOf(await party.run('capture.pause', { target: { roomId: 'call_1' }, ...pause })), null)
    assert.is(failureOf(await party.run('capture.pause', { target: { roomId: 'call_1' }, ...pause })), 'conflict')
    await hangup(party, legId)
    assert.equal(told(party).slice(4), ['capture.changed', 'leg.left', 'capture.changed', 'room.closed', 'leg.ended'])
    const figures = party.events().flatMap(event => (event.name === 'room.closed' ? [event.body.last] : []))
    assert.equal(
      figures.map(last => [last?.legId, typeof last?.quality.packetsReceived]),
      [[legId, 'number']],
    )
    assert.is(failureOf(await party.run('capture.resume', { target: { roomId: 'call_1' } })), 'not_found')
  })

  proves(
    'keys that are sent to a leg are said to be secret while its call is paused, by whatever target',
    async party => {
      const legId = await answered(party, 'call_1')
      const pause = { maxSeconds: 9, reason: 'payment', maskDtmf: true, destinationLegId: null }
      const send = () => party.run('leg.send_dtmf', { legId, digits: '1', durationMs: 100 })
      assert.equal(await send(), { masked: false })
      for (const target of [{ roomId: 'call_1' }, { legId }]) {
        assert.is(failureOf(await party.run('capture.pause', { target, ...pause })), null)
        assert.equal(await send(), { masked: true }, JSON.stringify(target))
        assert.is(failureOf(await party.run('capture.resume', { target })), null)
        assert.equal(await send(), { masked: false })
      }
    },
  )

  proves(
    'a pause gets a payment line later, and another one after it, and tells each; what is not paused gets none',
    async party => {
      const legId = await answered(party, 'call_1')
      const target = { legId }
      const direct = (line: string) => party.run('capture.direct', { target, destinationLegId: line })
      assert.is(failureOf(await direct('part_line')), 'conflict')
      const pause = { maxSeconds: 9, reason: 'payment', maskDtmf: true, destinationLegId: null }
      await party.run('capture.pause', { target, ...pause })
      const state = (await direct('part_line')) as CaptureState
      assert.equal([state.paused, state.destinationLegId, state.reason], [true, 'part_line', 'payment'])
      assert.is(((await direct('part_other')) as CaptureState).destinationLegId, 'part_other')
      assert.equal(told(party).slice(4), Array(3).fill('capture.changed'))
      assert.is(failureOf(await party.run('capture.resume', { target })), null)
    },
  )

  proves('what is not paused cannot be resumed', async party => {
    const legId = await answered(party, 'call_1')
    assert.is(failureOf(await party.run('capture.resume', { target: { legId } })), 'conflict')
  })

  proves(
    'capacity: the leg that is one too many is not dialled, nothing is told of it, and it is dialled when there is room',
    async party => {
      for (let i = 1; i <= MAX_CALLS; i++) assert.is(failureOf(await dial(party, `part_${i}`)), null)
      assert.is(failureOf(await dial(party, 'part_more')), 'capacity')
      assert.is((await snapshotOf(party)).legs.length, MAX_CALLS)
      assert.equal(ends(party), [])
      await hangup(party)
      assert.is(failureOf(await dial(party, 'part_more')), null)
    },
  )

  proves(
    'capacity: a room that is full takes nobody more, who stays where he is; who is in it is in it',
    async party => {
      const [first, second] = [await answered(party, 'call_1'), await answered(party, 'call_2')]
      // The limit may have changed since the room was opened: that of who comes counts.
      const full = { room: { ...room, maxMembers: 1 }, mustExist: false, muted: false }
      const before = told(party).length
      assert.is(failureOf(await party.run('leg.move', { legId: second, ...full })), 'capacity')
      assert.is(failureOf(await party.run('leg.move', { legId: first, ...full })), null)
      assert.is(told(party).length, before, 'nobody has come or gone')
      const { rooms } = await snapshotOf(party)
      assert.equal(rooms.map(({ roomId, legIds }) => [roomId, legIds]).sort(), [
        ['call_1', [first]],
        ['call_2', [second]],
      ])
      assert.is(failureOf(await party.run('leg.move', { legId: second, ...full, room })), null)
    },
  )

  proves(
    'who waits for a conference comes into it muted, or not, as was said of it there, whatever the move says',
    async party => {
      const conference = { ...room, roomId: 'call_meeting', kind: 'conference' as const }
      for (const [n, [before, moved, comesMuted]] of [
        [true, false, true],
        [false, true, false],
        [undefined, true, true],
        [undefined, false, false],
      ].entries()) {
        const legId = await answered(party, `call_${n}`, 9)
        if (before !== undefined) await party.run('leg.update', { legId, muted: before })
        const reply = await party.run('leg.move', { legId, room: conference, mustExist: false, muted: moved === true })
        assert.is((reply as LegSnapshot).muted, comesMuted)
        const joined = party.events().flatMap(({ name, body }) => (name === 'leg.joined' ? [body] : []))
        assert.equal(joined.at(-1), { legId, roomId: 'call_meeting', muted: comesMuted })
      }
    },
  )

  proves('what was said of a member of a conference ends with it', async party => {
    const conference = { ...room, roomId: 'call_meeting', kind: 'conference' as const }
    const legId = await answered(party, 'call_1')
    await party.run('leg.move', { legId, room: conference, mustExist: false, muted: false })
    await party.run('leg.update', { legId, muted: true })
    for (const to of [room, conference])
      await party.run('leg.move', { legId, room: to, mustExist: false, muted: false })
    assert.is((await snapshotOf(party)).legs[0]!.muted, false)
  })

  proves('unanswered: it may have been done, and the next snapshot tells', async party => {
    const [first, second] = [await answered(party, 'call_1'), await answered(party, 'call_2')]
    party.fallSilent(true)
    assert.is(
      failureOf(await party.run('leg.move', { legId: second, room, mustExist: true, muted: false })),
      'unanswered',
    )
    assert.is(failureOf(await party.run('media.snapshot', {})), 'unanswered')
    party.fallSilent(false)
    const { rooms } = await snapshotOf(party)
    assert.equal(
      rooms.map(({ roomId, legIds }) => [roomId, legIds]),
      [['call_1', [first, second]]],
    )
  })

  proves('unanswered: who cannot be given audio in time is not dialled, and nothing is left of it', async party => {
    party.fallSilent(true)
    assert.is(failureOf(await dial(party)), 'unavailable')
    party.fallSilent(false)
    assert.equal([(await snapshotOf(party)).legs, ends(party)], [[], []])
    assert.is(failureOf(await dial(party)), null, 'it can be asked for again')
  })

  proves('unanswered: a caller who cannot be given audio in time is refused', async party => {
    const legId = await party.callIn()
    party.fallSilent(true)
    const answer = party.run('leg.answer', { legId, room, affinity: 'org', codecs: ['PCMU'] })
    assert.is(failureOf(await answer), 'unanswered')
    await hangup(party, legId)
    assert.equal(ends(party), [[legId, 'internal_error']])
  })

  proves('unanswered: a hang-up is a hang-up, whatever the engine says', async party => {
    const legId = await answered(party, 'call_1')
    party.fallSilent(true)
    assert.is(failureOf(await hangup(party, legId)), null)
    assert.equal(ends(party), [[legId, 'api_hangup']])
  })
}

test('the real one: a recording that its room has begun by itself is known until its file is written, though the room is gone', async () => {
  const party = await real()
  const legId = await party.callIn()
  const capture = { recordingId: 'call_1', transcript: null }
  await party.run('leg.answer', { legId, room: { ...room, capture }, affinity: 'org', codecs: ['PCMU'] })
  await hangup(party, legId)
  const start = { recordingId: 'call_1', target: { roomId: 'call_1' } }
  assert.is(failureOf(await party.run('recording.start', start)), 'conflict')
  await party.close()
})

test('the real one: a recording that a party took along into a conference, as its own room had begun it, is paused, resumed and stopped there', async () => {
  const party = await real()
  const legId = await party.callIn()
  const capture = { recordingId: 'call_1', transcript: null }
  await party.run('leg.answer', { legId, room: { ...room, capture }, affinity: 'org', codecs: ['PCMU'] })
  const session = { ...room, roomId: 'call_2', kind: 'conference' as const }
  assert.is(failureOf(await party.run('leg.move', { legId, room: session, mustExist: false, muted: false })), null)
  for (const command of ['recording.pause', 'recording.resume', 'recording.stop'] as const) {
    assert.is(failureOf(await party.run(command, { recordingId: 'call_1' })), null, command)
  }
  await party.close()
})

test.run()
