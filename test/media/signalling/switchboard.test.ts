import * as assert from 'uvu/assert'
import { isFailure } from '../../../media/protocol.ts'
import { offer } from '../../fuzz/raw-caller.ts'
import { suite } from '../../harness.ts'
import { LocalMedia, RawPhone } from '../local-media.ts'

const test = suite('media/signalling/switchboard')

let media: LocalMedia
let phone: RawPhone

test.beforeEach(async () => {
  media = await LocalMedia.open()
  phone = await RawPhone.open(media)
})

test.afterEach(async () => {
  await media.close()
  phone.close()
})

test('a call that is hung up before it has a socket is not placed, and nothing of it stays open', async () => {
  const open = media.holdSockets()
  const dialled = media.dial('part_a', phone)
  assert.equal(await media.run('leg.hangup', { legId: 'part_a', reason: 'api_hangup' }), {})
  assert.equal(media.of('leg.ended').length, 1)
  open()
  await dialled
  await media.engine.until(() => media.isIdle)
  assert.equal(phone.count('INVITE'), 0)
  assert.equal(media.of('leg.ended').length, 1)
  assert.equal(media.engine.engine.snapshot().legs, [])
})

test('a leg is noted as dialled before its first INVITE leaves, and not while it waits for its turn', async () => {
  const noted: [string, number][] = []
  const own = await LocalMedia.open({}, { dialled: { note: legId => noted.push([legId, phone.count('INVITE')]) } })
  const paced = { connectionId: 'con_1', callsPerSecond: 1 }
  await own.dial('part_a', phone, paced)
  const waits = own.dial('part_b', phone, paced)
  await own.engine.until(() => phone.count('INVITE') === 1)
  assert.equal(noted, [['part_a', 0]])
  await waits
  await own.run('leg.hangup', { legId: 'part_b', reason: 'api_hangup' })
  await own.close()
  assert.is(noted.length, 1, 'it was never called')
})

test("a place that is kept for a leg is nobody else's until that leg is dialled", async () => {
  const small = await LocalMedia.open({}, { maxCalls: 2 })
  const reserve = (legId: string) => small.run('leg.reserve', { legId })
  assert.equal([await reserve('part_a'), await reserve('part_b')], [{}, {}])
  for (const refused of [await reserve('part_c'), await small.dial('part_c', phone)])
    assert.ok(isFailure(refused) && refused.failure === 'capacity')
  assert.ok(!isFailure(await small.dial('part_a', phone)))
  const late = await reserve('part_c')
  assert.ok(isFailure(late), 'a leg and its reservation are one')
  await small.run('leg.release', { legId: 'part_b' })
  assert.equal(await reserve('part_c'), {}, 'it is not dialled after all')
  await small.close()
})

test('while the engine threads are full, only legs of what runs begin: for a caller who waits, or in a room that is there', async () => {
  let inSlotsMs = 0
  const lateness = { clocks: () => ({ slots: 0, late: 0, inSlotsMs: [inSlotsMs] }), legs: () => 1000 }
  const full = await LocalMedia.open({}, { lateness })
  const caller = await RawPhone.open(full)
  await caller.call()
  await full.engine.until(() => full.of('leg.incoming').length === 1)
  const callerLegId = full.of('leg.incoming')[0]!.legId
  await full.answer(callerLegId)
  assert.equal(await full.run('leg.reserve', { legId: 'part_kept' }), {})
  full.switchboard.lookAtClocks()
  inSlotsMs = 1e6
  full.switchboard.lookAtClocks()
  for (const refused of [await full.run('leg.reserve', { legId: 'part_new' }), await full.dial('part_new', phone)])
    assert.ok(isFailure(refused) && refused.failure === 'capacity')
  assert.is(phone.count('INVITE'), 0)
  assert.not(isFailure(await full.dial('part_kept', phone)), 'its place was there before')
  assert.not(isFailure(await full.dial('part_agent', phone, {}, callerLegId)), 'for the caller')
  const near = `call_of_${callerLegId}`
  assert.equal(await full.run('leg.reserve', { legId: 'part_guest', near }), {}, 'in the room')
  full.switchboard.lookAtClocks()
  assert.equal(await full.run('leg.reserve', { legId: 'part_new' }), {}, 'they have time again')
  caller.close()
  await full.close()
})

test('a snapshot that is asked for after a call has the call in it, however long its socket takes', async () => {
  const open = media.holdSockets()
  const dialled = media.dial('part_a', phone)
  const snapshot = await media.run('media.snapshot', {})
  assert.ok(!isFailure(snapshot))
  assert.equal(
    snapshot.legs.map(({ legId, state }) => [legId, state]),
    [['part_a', 'dialing']],
  )
  open()
  await dialled
  await phone.expect('INVITE')
})

test('a recording that ends while a snapshot is made is in it, for its event comes behind', async () => {
  const asked = media.run('media.snapshot', {})
  media.commands.over('recording', 'call_1')
  const snapshot = await asked
  assert.ok(!isFailure(snapshot))
  assert.equal(snapshot.recordings, [{ recordingId: 'call_1' }])
  const later = await media.run('media.snapshot', {})
  assert.ok(!isFailure(later))
  assert.equal(later.recordings, [])
})

test('of a connection that begins two calls a second the third INVITE leaves when the first is a second old, and a failed one counts', async () => {
  const begun = performance.now()
  const callIds = () =>
    new Set(phone.got.flatMap(text => (/^INVITE[\s\S]*?\r\nCall-ID: (\S+)/i.exec(text) ?? []).slice(1)))
  const trunk = { connectionId: 'conn_a', callsPerSecond: 2 }
  for (const legId of ['part_a', 'part_b', 'part_c', 'part_d']) void media.dial(legId, phone, trunk)
  await media.dial('part_e', phone, { connectionId: 'conn_b', callsPerSecond: 2 })
  await media.engine.until(() => callIds().size === 3)
  await media.run('leg.hangup', { legId: 'part_c', reason: 'api_hangup' })
  await media.engine.until(() => callIds().size === 4)
  assert.ok(performance.now() - begun >= 1000)
  assert.equal(
    media.of('leg.ended').map(({ legId }) => legId),
    ['part_c'],
    'who has gone while it waited is never called',
  )
})

test('who is named in the place of who was called is dialled when control says so, and nobody when it says nothing', async () => {
  const trunk = { connectionId: 'conn_a', followRedirects: true }
  const named = (user: string) => `sip:${user}@127.0.0.1:${phone.port}`
  const invites = () => phone.got.flatMap(text => /^INVITE (\S+)/.exec(text)?.[1] ?? [])
  await media.dial('part_a', phone, trunk)
  await phone.expect('INVITE')
  await phone.respond(302, { contact: named('+14155550199') })
  await media.engine.until(() => media.of('leg.redirected').length === 1)
  assert.is(new Set(invites()).size, 1)
  const [{ redirectId } = { redirectId: '' }] = media.of('leg.redirected')
  // A party that the far end has not named is not called.
  const to = [named('+14155550199'), named('+14155550100')]
  await media.run('leg.redirect_answer', { legId: 'part_a', redirectId, to, reason: 'redirect_refused' })
  await media.engine.until(() => invites().includes(named('+14155550199')))
  await phone.respond(302, { contact: named('+14155550198') })
  await media.engine.until(() => media.of('leg.redirected').length === 2)
  await media.engine.until(() => media.of('leg.ended').length === 1)
  assert.equal([media.of('leg.ended')[0]!.reason, media.of('leg.ended')[0]!.sipCode], ['rejected', 302])
  assert.is(new Set(invites()).size, 2)
})

const hopsOf = (text: string): string | undefined => /^Max-Forwards: (\d+)/m.exec(text)?.[1]

/** Lets a phone call; the call waits for control's decision. @returns the leg's ID */
async function incoming(maxForwards: number): Promise<string> {
  await phone.call({ maxForwards })
  await media.engine.until(() => media.of('leg.incoming').length === 1)
  return media.of('leg.incoming')[0]!.legId
}

for (const [received, sent] of [
  [5, '4'],
  [1, '0'],
  [255, '69'],
] as const) {
  test(`a call that goes on with Max-Forwards ${received} has ${sent} (RFC 7332 §4), of another leg 70`, async () => {
    const caller = await incoming(received)
    await media.dial('part_a', phone, {}, caller)
    assert.is(hopsOf(await phone.expect('INVITE')), sent)
    await media.run('leg.hangup', { legId: caller, reason: 'api_hangup' })
    await media.engine.until(() => media.of('leg.ended').some(({ legId }) => legId === caller))
    const before = phone.count('INVITE')
    await media.dial('part_b', phone, {}, caller)
    await media.engine.until(() => phone.count('INVITE') > before)
    assert.is(hopsOf(phone.got.filter(text => text.startsWith('INVITE')).at(-1)!), sent, 'its caller may have gone')
    await media.dial('part_c', phone)
    await media.engine.until(() => phone.got.some(text => text.startsWith('INVITE') && hopsOf(text) === '70'))
  })
}

test('a call that came with Max-Forwards 0 goes on to nobody: 483, and its caller is told so (RFC 3261 §16.3)', async () => {
  const caller = await incoming(0)
  await media.dial('part_a', phone, {}, caller)
  await media.engine.until(() => media.of('leg.ended').length === 1)
  const [{ legId, reason, sipCode } = { legId: '', reason: '', sipCode: 0 }] = media.of('leg.ended')
  assert.equal([legId, reason, sipCode], ['part_a', 'rejected', 483])
  assert.is(phone.count('INVITE'), 0)
  await media.run('leg.hangup', { legId: caller, reason: 'no_answer' })
  assert.match(await phone.expect('SIP/2.0 483'), /^SIP\/2\.0 483 Too Many Hops\r\n/)
})

test('where the next system says 483, the caller is told so as well', async () => {
  const caller = await incoming(2)
  await media.dial('part_a', phone, {}, caller)
  await phone.expect('INVITE')
  await phone.respond(483)
  await media.engine.until(() => media.of('leg.ended').length === 1)
  await media.run('leg.hangup', { legId: caller, reason: 'rejected' })
  await phone.expect('SIP/2.0 483')
})

for (const [theirs, ours, reason] of [
  [604, 604, 'rejected'],
  [408, 408, 'no_answer'],
  [401, 603, 'rejected'],
  [407, 603, 'rejected'],
  [420, 603, 'rejected'],
  [502, 502, 'trunk_error'],
  // A 503 of ours would say that we can take no calls at all (RFC 3261 §16.7).
  [503, 500, 'trunk_error'],
  [513, 500, 'trunk_error'],
] as const) {
  test(`a refusal of ${theirs} by whom a phone has called is ${ours} to the phone, with the cause that was given`, async () => {
    const caller = await incoming(70)
    const farEnd = { sipCode: theirs, q850: 31 }
    await media.run('leg.hangup', { legId: caller, reason, farEnd })
    assert.match(await phone.expect(`SIP/2.0 ${ours}`), /^Reason: Q\.850;cause=31/m)
  })
}

test('a call that came with Max-Forwards 0 and is for us is answered', async () => {
  const caller = await incoming(0)
  await media.answer(caller)
  await phone.expect('SIP/2.0 200')
})

test('a leg that was dialled is not dialled again, while it rings and after its end', async () => {
  await media.dial('part_a', phone)
  await phone.expect('INVITE')
  assert.equal((await media.dial('part_a', phone)) as object, {
    failure: 'conflict',
    message: 'the leg was dialled before',
  })
  await media.run('leg.hangup', { legId: 'part_a', reason: 'api_hangup' })
  assert.ok(isFailure(await media.dial('part_a', phone)))
  assert.equal(media.farEnds.length, 1)
  assert.equal(media.of('leg.ended').length, 1)
})

test('two that dial the same leg at once call once', async () => {
  const replies = await Promise.all([media.dial('part_a', phone), media.dial('part_a', phone)])
  assert.equal(replies.filter(isFailure).length, 1)
  assert.equal(media.farEnds.length, 1)
})

test('a hang-up is answered after the event that tells of the end', async () => {
  await media.dial('part_a', phone)
  await media.run('leg.hangup', { legId: 'part_a', reason: 'api_hangup' })
  assert.equal(
    media.of('leg.ended').map(({ legId, reason }) => [legId, reason]),
    [['part_a', 'api_hangup']],
  )
})

test('a call whose ACK brings no answer to our offer is ended', async () => {
  await phone.call({ isLate: true })
  await media.engine.until(() => media.of('leg.incoming').length === 1)
  const { legId } = media.of('leg.incoming')[0]!
  await media.answer(legId)
  await phone.acknowledge()
  await phone.expect('BYE')
  await media.engine.until(() => media.isIdle)
  assert.equal(media.of('leg.ended')[0]?.reason, 'codec_mismatch')
})

test('a stream, a recording or a transcript that could not be started leaves nothing behind', async () => {
  await media.dial('part_a', phone)
  const target = { legId: 'part_a' }
  const transcript = { transcriptId: 'call_1', target, language: null }
  assert.equal((await media.run('transcript.start', transcript)) as object, {
    failure: 'invalid',
    message: 'no engine here understands null',
  })
  // It is not known: an answer of the engine would be another.
  assert.equal((await media.run('transcript.stop', { transcriptId: 'call_1' })) as object, {
    failure: 'not_found',
    message: 'transcript.stop: nothing of that ID is here',
  })
})

test('what is asked of an answered leg and its room while they are only being handed to the engine is done when they are there', async () => {
  await media.dial('part_a', phone)
  await phone.expect('INVITE')
  const roomId = 'call_of_part_a'
  const free = media.thread.hold('leg.connect')
  await phone.respond(200, { port: 40_000 })
  await media.engine.until(() => media.of('leg.answered').length === 1)
  const target = { roomId }
  const recording = media.run('recording.start', { recordingId: 'call_1', target })
  const muted = media.run('leg.update', { legId: 'part_a', muted: true })
  assert.equal(media.of('room.opened'), [], 'it is only being opened')
  free()
  assert.equal([await recording, await muted].filter(isFailure), [])
  assert.equal(media.of('room.opened'), [{ roomId }])
  assert.equal(await media.run('recording.stop', { recordingId: 'call_1' }), {})
  await media.engine.until(() => media.of('recording.ready').length === 1)
})

test('a phone that gives up just after its call has taken the place of another ends nothing: it was answered at once', async () => {
  await media.dial('part_a', phone)
  await phone.expect('INVITE')
  await phone.respond(200, { port: 40_000 })
  await media.engine.until(() => media.of('leg.answered').length === 1)
  const other = await RawPhone.open(media)
  await other.call()
  await media.engine.until(() => media.of('leg.incoming').length === 1)
  const free = media.thread.hold('leg.connect')
  const replaced = media.run('leg.replace', { legId: 'part_a', byLegId: media.of('leg.incoming')[0]!.legId })
  await other.expect('SIP/2.0 100')
  await other.cancel()
  await other.expect('SIP/2.0 200')
  free()
  assert.equal(await replaced, {})
  await phone.expect('BYE')
  assert.equal(
    media.of('leg.ended').map(({ legId }) => legId === 'part_a'),
    [false],
  )
  assert.is(media.switchboard.lines.get('part_a')!.state, 'answered')
  other.close()
})

test('RFC 3891 §3: a caller that is to take the place of a call that has just ended is answered 481, at once', async () => {
  const before = await incoming(70)
  await media.answer(before)
  const other = await RawPhone.open(media)
  await other.call()
  await media.engine.until(() => media.of('leg.incoming').length === 2)
  await media.run('leg.hangup', { legId: before, reason: 'api_hangup' })
  const byLegId = media.of('leg.incoming')[1]!.legId
  assert.ok(isFailure(await media.run('leg.replace', { legId: before, byLegId })))
  await other.expect('SIP/2.0 481')
  const { legId, reason } = media.of('leg.ended').at(-1)!
  assert.equal([legId, reason], [byLegId, 'not_found'])
  other.close()
})

test('a hold that ends while an UPDATE of the far end is being carried out is told to be over: it sent nothing any more', async () => {
  await phone.call({ headers: ['Allow: INVITE, ACK, BYE, CANCEL, UPDATE'] })
  await media.engine.until(() => media.of('leg.incoming').length === 1)
  const { legId } = media.of('leg.incoming')[0]!
  await media.answer(legId)
  await phone.acknowledge()
  await media.run('leg.hold', { legId, held: true, sources: [] })
  assert.match(await phone.expect('UPDATE'), /a=sendonly/)
  await phone.respondTo('UPDATE', 488)
  const free = media.thread.hold('leg.connect')
  media.thread.asked.length = 0
  await phone.inside('UPDATE', 2, [], offer(phone.port + 1))
  await media.engine.until(() => media.thread.asked.includes('leg.connect'))
  media.switchboard.hold(legId, false)
  free()
  await media.engine.until(() => phone.count('UPDATE') === 2)
  assert.match(phone.got.filter(text => text.startsWith('UPDATE')).at(-1)!, /a=sendrecv/)
})

test('a caller is answered by one command to its engine thread, and its room is there when the answer is told', async () => {
  await phone.call()
  await media.engine.until(() => media.of('leg.incoming').length === 1)
  const { legId } = media.of('leg.incoming')[0]!
  const roomId = `call_of_${legId}`
  media.thread.asked.length = 0
  const answered = await media.answer(legId)
  assert.ok(!isFailure(answered))
  assert.equal(media.thread.asked, ['leg.open'])
  assert.is((answered as { roomId: string }).roomId, roomId)
  assert.match(await phone.expect('SIP/2.0 200'), /\r\nm=audio [1-9]\d* RTP\/AVP 0/)
  assert.equal(
    media.events.map(({ name }) => name),
    ['leg.incoming', 'leg.answered', 'room.opened', 'leg.joined'],
  )
})

test('a CANCEL that comes while the answer is on its way has no effect: the caller gets 200, as control was told (RFC 3261 §9.2)', async () => {
  const legId = await incoming(70)
  const free = media.thread.hold('leg.open')
  const answered = media.answer(legId)
  await phone.cancel()
  await phone.expect('SIP/2.0 200')
  free()
  assert.not.ok(isFailure(await answered))
  await media.engine.until(() => phone.got.some(text => /^SIP\/2\.0 200[\s\S]*\nCSeq: \d+ INVITE/.test(text)))
  assert.is(phone.count('SIP/2.0 487'), 0)
  assert.equal([media.of('leg.answered'), media.of('leg.ended')], [[{ legId }], []])
  await phone.inside('BYE', 2)
  await media.engine.until(() => media.of('leg.ended').length === 1)
  assert.equal([media.of('leg.ended')[0]!.reason, media.of('leg.ended')[0]!.sipCode], ['caller_hangup', null])
})

test('a caller who is hung up while the answer is on its way gets 200 and BYE, not a refusal', async () => {
  const legId = await incoming(70)
  const free = media.thread.hold('leg.open')
  const answered = media.answer(legId)
  await media.engine.until(() => media.thread.asked.includes('leg.open'))
  const ended = media.run('leg.hangup', { legId, reason: 'api_hangup' })
  free()
  await Promise.all([answered, ended])
  await phone.acknowledge()
  await phone.expect('BYE')
  assert.equal([media.of('leg.answered').length, media.of('leg.ended').map(({ sipCode }) => sipCode)], [1, [null]])
})

test('a caller whose room is full hears 503, and is not reported as answered', async () => {
  const [first, second] = [await incoming(70), await RawPhone.open(media)]
  await second.call()
  await media.engine.until(() => media.of('leg.incoming').length === 2)
  const room = { roomId: 'call_1', kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 1 }
  const replies = []
  for (const { legId } of media.of('leg.incoming'))
    replies.push(await media.run('leg.answer', { legId, room, affinity: 'org', codecs: ['PCMU'] }))
  assert.equal(replies.map(isFailure), [false, true])
  await second.expect('SIP/2.0 503')
  assert.equal(media.of('leg.answered'), [{ legId: first }])
  second.close()
})

test('a caller for whom there is no port is not reported as answered, and hears 503', async () => {
  await media.close()
  media = await LocalMedia.open({ openSocket: async () => null })
  const late = await RawPhone.open(media)
  await late.call()
  await media.engine.until(() => media.of('leg.incoming').length === 1)
  const reply = await media.answer(media.of('leg.incoming')[0]!.legId)
  assert.ok(isFailure(reply) && reply.failure === 'capacity')
  await late.expect('SIP/2.0 503')
  await media.engine.until(() => media.of('leg.ended').length === 1)
  assert.equal(media.of('leg.answered'), [])
  late.close()
})

test('what throws in signalling ends the call that it belongs to, and no other', async () => {
  const other = await RawPhone.open(media)
  await media.dial('part_a', phone)
  await media.dial('part_b', other)
  await phone.expect('INVITE')
  const line = media.switchboard.lines.get('part_a')!
  Object.defineProperty(line, 'state', {
    get: () => {
      throw new Error('a bug')
    },
    set: () => {},
  })
  media.switchboard.onSip({
    kind: 'provisional',
    sessionId: line.sessionId,
    status: 180,
    body: null,
    isOffer: false,
    tag: null,
    earlyMedia: null,
    peer: { transport: 'udp', host: '127.0.0.1', port: 5060 },
  })
  await media.engine.until(() => media.of('leg.ended').length === 1)
  assert.equal(
    media.of('leg.ended').map(({ legId, reason }) => [legId, reason]),
    [['part_a', 'internal_error']],
  )
  assert.equal(media.faults.length, 1)
  assert.equal([...media.switchboard.lines.keys()], ['part_b'])
  other.close()
})

test('a phone that sends nothing in silence, and says so neither by comfort noise nor by RTCP, is in its call as long as it answers OPTIONS there', async () => {
  const ends = () => media.engine.ends.map(({ legId, reason }) => [legId, reason])
  await media.dial('part_a', phone)
  await phone.expect('INVITE')
  await phone.respond(200, { port: 40_000 })
  await media.engine.until(() => media.of('leg.answered').length === 1)
  for (let n = 1; n <= 4; n++) {
    media.engine.run(46 * 50)
    await media.engine.until(() => phone.count('OPTIONS') >= n)
    await phone.respondTo('OPTIONS', 200)
    await media.engine.until(() => media.thread.asked.filter(name => name === 'leg.present').length === n)
  }
  assert.equal(ends(), [], 'three minutes')
  media.engine.run(55 * 50)
  assert.equal(ends(), [])
  media.engine.run(7 * 50)
  assert.equal(ends(), [['part_a', 'rtp_timeout']], 'a minute after its last answer it is gone')
})

test.run()
