import * as assert from 'uvu/assert'
import { isFailure, type Request } from '../../../media/protocol.ts'
import { suite } from '../../harness.ts'
import { Speaker, toneFrame } from '../engine/party.ts'
import { LocalMedia, RawPhone } from '../local-media.ts'

const test = suite('media/signalling/early-media')

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

const early: NonNullable<Request<'leg.ring'>['early']> = {
  room: { roomId: 'call_1', kind: 'call', chimes: false, musicWhenAlone: false, maxMembers: 8 },
  affinity: 'org',
  codecs: ['PCMU'],
}
const TONE: Pick<Request<'leg.play'>, 'sources' | 'loop' | 'hangupAfter'> = {
  sources: [{ kind: 'tone', name: 'ringback' }],
  loop: true,
  hangupAfter: null,
}
const answerOf = (port: number): string =>
  ['v=0', 'o=p 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0', `m=audio ${port} RTP/AVP 0`, ''].join(
    '\r\n',
  )
const sdpIn = (text: string): string => text.slice(text.indexOf('\r\n\r\n') + 4)

/** Lets a phone call; the call waits for control's decision. @returns the leg's ID */
async function incoming(call: { isLate?: boolean; headers?: string[] } = {}): Promise<string> {
  await phone.call(call)
  await media.engine.until(() => media.of('leg.incoming').length === 1)
  return media.of('leg.incoming')[0]!.legId
}

/** Whether what a leg has sent in the last ticks was anything but silence. */
function isHeard(ticks: number): boolean {
  const { received } = media.farEnds[0]!
  const before = received.payloads.length
  media.engine.run(ticks)
  return received.heard(before).some(sample => Math.abs(sample) > 500)
}

/** Audio of the far end, as its description says that it comes. */
function speak(ticks: number): void {
  const speaker = new Speaker(packet => media.farEnds[0]!.receiver?.rtp(packet, '127.0.0.1', 4000, media.engine.now))
  media.engine.run(ticks, tick => speaker.speak(toneFrame(800, tick), media.engine.now))
}

test('a call that rings is told 180 once, is not answered, and no audio of it exists', async () => {
  const legId = await incoming()
  assert.equal(await media.run('leg.ring', { legId }), {})
  assert.equal(await media.run('leg.ring', { legId }), {})
  const ringing = await phone.expect('SIP/2.0 180')
  assert.is(sdpIn(ringing), '')
  await media.answer(legId)
  await phone.expect('SIP/2.0 200')
  assert.is(phone.count('SIP/2.0 180'), 1)
})

for (const [reason, status] of [
  ['busy', 486],
  ['no_answer', 480],
  ['not_found', 404],
  ['rejected', 603],
  ['api_hangup', 480],
  ['capacity', 503],
  ['shutdown', 503],
] as const) {
  test(`a ringing call that ends as ${reason} is refused with ${status}`, async () => {
    const legId = await incoming()
    await media.run('leg.ring', { legId })
    await media.run('leg.hangup', { legId, reason })
    await phone.expect(`SIP/2.0 ${status}`)
    const [ended] = media.of('leg.ended')
    assert.equal([ended?.reason, ended?.sipCode, ended?.durationMs], [reason, status, undefined])
  })
}

test('with early media the caller hears what is played before the answer, and the 200 says the same as the 183', async () => {
  const legId = await incoming()
  assert.equal(await media.run('leg.ring', { legId, early }), {})
  const told = await phone.expect('SIP/2.0 183')
  await media.run('leg.play', { legId, playId: 'calling', ...TONE })
  assert.ok(isHeard(50))
  assert.equal(media.of('leg.answered'), [])
  const { room } = early
  const answered = await media.run('leg.answer', {
    legId,
    ...early,
    room: { ...room, capture: { recordingId: 'call_1', transcript: null } },
  })
  assert.not.ok(isFailure(answered))
  assert.is(sdpIn(await phone.expect('SIP/2.0 200')), sdpIn(told))
  assert.equal(media.of('leg.answered'), [{ legId }])
  assert.equal(media.of('room.opened'), [{ roomId: 'call_1' }])
})

test('a recording begins with the answer, not with the ringing', async () => {
  const legId = await incoming()
  await media.run('leg.ring', { legId, early: { ...early, room: { ...early.room, capture: RECORDED } } })
  media.engine.run(100)
  assert.equal(media.engine.engine.snapshot().recordings, [])
  await media.run('leg.answer', { legId, ...early, room: { ...early.room, capture: RECORDED } })
  assert.equal(media.engine.engine.snapshot().recordings, [{ recordingId: 'call_1' }])
  media.engine.run(50)
  await media.run('leg.hangup', { legId, reason: 'api_hangup' })
  await media.engine.until(() => media.of('recording.ready').length === 1)
  assert.is(media.of('recording.ready')[0]!.durationMs, 1000)
})

const RECORDED = { recordingId: 'call_1', transcript: null }

test('a caller who waits before the answer may be silent for minutes', async () => {
  const legId = await incoming()
  await media.run('leg.ring', { legId, early })
  media.engine.run(50 * 130)
  assert.equal([media.engine.ends, media.of('leg.one_way')], [[], []])
  await media.run('leg.answer', { legId, ...early })
  media.engine.run(50 * 6)
  assert.is(media.of('leg.one_way').length, 1, 'from the answer on it should be heard')
})

test('a caller who cancels while it hears our ringback gets 487, and nothing of it stays', async () => {
  const legId = await incoming()
  await media.run('leg.ring', { legId, early })
  await phone.cancel()
  await phone.expect('SIP/2.0 487')
  await media.engine.until(() => media.isIdle)
  const [ended] = media.of('leg.ended')
  assert.equal([ended?.reason, ended?.durationMs], ['caller_hangup', undefined])
  assert.is(media.engine.engine.snapshot().legs.length, 0)
})

test('a command for a caller who has just cancelled is answered after what tells of the end', async () => {
  const legId = await incoming()
  await media.run('leg.ring', { legId, early })
  const free = media.thread.hold('leg.close')
  await phone.cancel()
  await phone.expect('SIP/2.0 487')
  const answered = media.run('leg.answer', { legId, ...early }).then(reply => [reply, media.of('leg.ended').length])
  free()
  assert.equal(await answered, [{ failure: 'not_found', message: `no leg ${legId}` }, 1])
})

test('a caller who cancels while our 200 waits for its PRACK gets 487, and is not reported as answered', async () => {
  const legId = await incoming({ headers: ['Require: 100rel'] })
  await media.run('leg.ring', { legId, early })
  await phone.expect('SIP/2.0 183')
  assert.not.ok(isFailure(await media.run('leg.answer', { legId, ...early })))
  assert.is(phone.count('SIP/2.0 200'), 0)
  await phone.cancel()
  await phone.expect('SIP/2.0 487')
  await media.engine.until(() => media.isIdle)
  assert.equal(media.of('leg.answered'), [])
  assert.is(media.of('leg.ended')[0]!.durationMs, undefined)
})

test('a caller whose PRACK lets our 200 go is answered with it', async () => {
  const legId = await incoming({ headers: ['Require: 100rel'] })
  await media.run('leg.ring', { legId, early })
  const told = await phone.expect('SIP/2.0 183')
  await media.run('leg.answer', { legId, ...early })
  assert.equal(media.of('leg.answered'), [])
  await phone.inside('PRACK', 2, [`RAck: ${/RSeq: (\d+)/.exec(told)![1]} 1 INVITE`])
  await media.engine.until(() => media.of('leg.answered').length === 1)
  await media.engine.until(() => phone.count('SIP/2.0 200') === 2)
  assert.is(media.switchboard.lines.get(legId)!.state, 'answered')
})

for (const isLate of [false, true]) {
  test(`who takes a caller's place while our 200 waits for its PRACK gets that 200${isLate ? ', with our offer' : ''}, and the caller's call is over`, async () => {
    const legId = await incoming({ headers: ['Require: 100rel'] })
    await media.run('leg.ring', { legId, early })
    await phone.expect('SIP/2.0 183')
    await media.run('leg.answer', { legId, ...early })
    const other = await RawPhone.open(media)
    await other.call({ isLate })
    await media.engine.until(() => media.of('leg.incoming').length === 2)
    const byLegId = media.of('leg.incoming')[1]!.legId
    assert.equal(await media.run('leg.replace', { legId, byLegId }), {})
    assert.match(sdpIn(await other.expect('SIP/2.0 200')), 'm=audio')
    await phone.expect('SIP/2.0 4')
    if (isLate) await other.inside('ACK', 1, [], answerOf(other.port + 1))
    await media.engine.until(() => media.of('leg.answered').length === 1)
    assert.equal([media.of('leg.answered'), media.of('leg.ended').map(ended => ended.legId)], [[{ legId }], [byLegId]])
    assert.is(media.switchboard.lines.get(legId)!.state, 'answered')
    other.close()
  })
}

test('without an offer and without 100rel a caller cannot hear anything before the answer, and gets a 180', async () => {
  const legId = await incoming({ isLate: true })
  assert.equal(await media.run('leg.ring', { legId, early }), {})
  assert.is(sdpIn(await phone.expect('SIP/2.0 180')), '')
  await media.answer(legId)
  assert.match(sdpIn(await phone.expect('SIP/2.0 200')), 'm=audio')
})

test('with 100rel our offer goes in the 183, its answer comes in the PRACK, and the caller hears us', async () => {
  const legId = await incoming({ isLate: true, headers: ['Supported: 100rel'] })
  await media.run('leg.ring', { legId, early })
  const told = await phone.expect('SIP/2.0 183')
  assert.match(sdpIn(told), 'm=audio')
  const sdp = [
    'v=0',
    'o=p 1 1 IN IP4 127.0.0.1',
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    'm=audio 4000 RTP/AVP 0',
    '',
  ].join('\r\n')
  await phone.inside('PRACK', 2, [`RAck: ${/RSeq: (\d+)/.exec(told)![1]} 1 INVITE`], sdp)
  await phone.expect('SIP/2.0 200')
  await media.engine.until(() => media.engine.engine.snapshot().rooms.length === 1)
  await media.run('leg.play', { legId, playId: 'calling', ...TONE })
  assert.ok(isHeard(50))
  await media.run('leg.answer', { legId, ...early })
  await media.engine.until(() => phone.count('SIP/2.0 200') === 2)
  const ok = phone.got.filter(text => text.startsWith('SIP/2.0 200')).at(-1)!
  assert.is(sdpIn(ok), '', 'all was said before')
  assert.equal(media.of('leg.answered'), [{ legId }])
})

test('who requires 100rel from a connection that has it off is refused with 420', async () => {
  const legId = await incoming({ headers: ['Require: 100rel'] })
  assert.ok(isFailure(await media.run('leg.ring', { legId, reliable: 'off' })))
  assert.match(await phone.expect('SIP/2.0 420'), 'Unsupported: 100rel')
})

// ---------------------------------------------------------------------------------------------------- calls of ours

test("a far end's 183 is heard before its answer, once its audio comes; it hears nobody until it has answered", async () => {
  await media.dial('part_a', phone)
  await phone.expect('INVITE')
  await phone.respond(180)
  await media.engine.until(() => media.of('leg.ringing').length === 1)
  await phone.respond(183, { port: 4000 })
  await media.engine.until(() => media.engine.engine.snapshot().rooms.length === 1)
  media.engine.run(25)
  assert.equal(media.of('leg.early_media'), [], 'a description alone says nothing')
  speak(25)
  assert.equal(media.of('leg.early_media'), [{ legId: 'part_a', isHeard: true }])
  const legs = () => media.engine.engine.snapshot().legs.map(({ roomId, deaf }) => [roomId, deaf])
  assert.equal(legs(), [['call_of_part_a', true]])
  assert.equal(media.of('leg.answered'), [])
  await phone.respond(200, { port: 4000 })
  await media.engine.until(() => media.of('leg.answered').length === 1)
  await media.engine.until(() => legs()[0]![1] === false)
})

test('audio before the answer that the network denies is not heard, until it lets it through (RFC 5009)', async () => {
  await media.dial('part_a', phone, { connectionId: 'conn_a' })
  assert.match(await phone.expect('INVITE'), /^P-Early-Media: supported\r$/m)
  await phone.respond(183, { port: 4000, headers: ['P-Early-Media: inactive'] })
  await media.engine.until(() => media.of('leg.ringing').length === 1)
  assert.equal(media.engine.engine.snapshot().rooms, [])
  await phone.respond(180, { headers: ['P-Early-Media: sendonly'] })
  await media.engine.until(() => media.engine.engine.snapshot().rooms.length === 1)
  speak(25)
  assert.equal(media.of('leg.early_media'), [{ legId: 'part_a', isHeard: true }])
  await phone.respond(200, { port: 4000 })
  await media.engine.until(() => media.of('leg.answered').length === 1)
})

test('a caller who asks is told that its early media may pass, one who does not is not (RFC 5009)', async () => {
  const legId = await incoming({ headers: ['P-Early-Media: supported'] })
  await media.run('leg.ring', { legId, early })
  assert.match(await phone.expect('SIP/2.0 183'), /^P-Early-Media: sendonly\r$/m)
  const other = await RawPhone.open(media)
  await other.call()
  await media.engine.until(() => media.of('leg.incoming').length === 2)
  await media.run('leg.ring', { legId: media.of('leg.incoming')[1]!.legId, early })
  assert.not.match(await other.expect('SIP/2.0 183'), /P-Early-Media/)
  other.close()
})

test('a 183 whose audio never comes leaves the ringback where it is, for as long as it rings', async () => {
  await media.dial('part_a', phone)
  await phone.expect('INVITE')
  await phone.respond(183, { port: 4000 })
  await media.engine.until(() => media.engine.engine.snapshot().rooms.length === 1)
  media.engine.run(50 * 70)
  assert.equal([media.of('leg.early_media'), media.of('leg.one_way'), media.engine.ends], [[], [], []])
})

test('a description in a reliable 183 is the answer: it holds though the 200 has none', async () => {
  await media.dial('part_a', phone)
  assert.match(await phone.expect('INVITE'), /^Supported: .*100rel/m)
  await phone.respond(183, { port: 4000, headers: ['Require: 100rel', 'RSeq: 7'] })
  assert.match(await phone.expect('PRACK'), 'RAck: 7 1 INVITE')
  await phone.respond(200)
  await media.engine.until(() => media.of('leg.answered').length === 1)
  assert.equal(media.of('leg.ended'), [])
})

test('who is heard and then gives way to the next host is heard no more, and control is told', async () => {
  const second = await RawPhone.open(media)
  const line = await media.dialOver('part_a', [phone, second])
  assert.not.ok(isFailure(line))
  await phone.expect('INVITE')
  await phone.respond(183, { port: 4000 })
  await media.engine.until(() => media.engine.engine.snapshot().rooms.length === 1)
  speak(25)
  await phone.respond(503)
  await second.expect('INVITE')
  assert.equal(
    media.of('leg.early_media').map(({ isHeard }) => isHeard),
    [true, false],
  )
  assert.equal(media.engine.engine.snapshot().rooms, [])
  second.close()
})

test.run()
