import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { LocalMedia, RawPhone } from '../local-media.ts'

const test = suite('media/signalling/faxes')

const FAX = [
  ...['v=0', 'o=gw 1 2 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0'],
  ...['m=audio 0 RTP/AVP 0', 'm=image 4000 udptl t38', 'a=T38FaxVersion:0', ''],
].join('\r\n')
const ROOM = { roomId: 'call_1', kind: 'call' as const, chimes: false, musicWhenAlone: false, maxMembers: 8 }

let media: LocalMedia
let asks: RawPhone
let asked: RawPhone
/** Their legs. */
let legs: [string, string]

test.beforeEach(async () => {
  media = await LocalMedia.open()
  asks = await RawPhone.open(media)
  asked = await RawPhone.open(media)
  legs = [await called(asks), await called(asked)]
})

test.afterEach(async () => {
  await media.close()
  asks.close()
  asked.close()
})

/** Its call is answered into the room of both. */
async function called(phone: RawPhone, room = ROOM): Promise<string> {
  const before = media.of('leg.incoming').length
  await phone.call()
  await media.engine.until(() => media.of('leg.incoming').length > before)
  const { legId } = media.of('leg.incoming')[before]!
  await media.run('leg.answer', { legId, room, affinity: 'org', codecs: ['PCMU'] })
  await phone.acknowledge()
  return legId
}

const goesOver = (): Promise<void> => asks.inside('INVITE', 2, [], FAX)
const isAsked = (nth = 1): Promise<void> =>
  media.engine.until(() => asked.got.filter(text => /^INVITE[\s\S]*\r\nm=/.test(text)).length >= nth)
const lastInvite = (phone: RawPhone): string => phone.got.findLast(text => text.startsWith('INVITE')) ?? ''

test('who goes over to fax and hangs up while its partner is asked leaves that partner with audio', async () => {
  await goesOver()
  await isAsked()
  assert.match(lastInvite(asked), /m=audio 0 [\s\S]*m=image \d+ udptl t38/)
  await media.run('leg.hangup', { legId: legs[0], reason: 'api_hangup' })
  await asked.respond(200, { body: FAX })
  await isAsked(2)
  assert.match(lastInvite(asked), /m=audio [1-9]\d* [\s\S]*m=image 0 /)
  assert.equal(media.of('leg.fax'), [])
})

test('who goes over to fax hears 488 when its partner hangs up instead of answering', async () => {
  await goesOver()
  await isAsked()
  await media.run('leg.hangup', { legId: legs[1], reason: 'api_hangup' })
  await asks.expect('SIP/2.0 488')
  assert.equal(media.of('leg.fax'), [])
  assert.equal(
    media.of('leg.ended').map(({ legId }) => legId),
    [legs[1]],
  )
})

test('in a card-payment pause nothing passes that we cannot read: 488, and nobody is asked', async () => {
  const target = { roomId: ROOM.roomId }
  await media.run('capture.pause', {
    ...{ target, maxSeconds: 60, reason: 'card payment', maskDtmf: true, destinationLegId: null },
  })
  await goesOver()
  assert.match(
    await asks.expect('SIP/2.0 488'),
    /^Warning: 399 \S+ "T\.38 cannot pass: nothing passes in a card-payment pause"\r$/m,
  )
  assert.is(asked.count('INVITE'), 0)
})

test('the 488 says why T.38 cannot pass: a party is on hold, or has none', async () => {
  await media.run('leg.hold', { legId: legs[1], held: true, sources: [] })
  await goesOver()
  assert.match(await asks.expect('SIP/2.0 488'), /"T\.38 cannot pass: a party is on hold"/)
})

test('who goes over to fax before it has reached the other party waits for that, and hears 488 if it stays alone', async () => {
  const [late, alone] = [await RawPhone.open(media), await RawPhone.open(media)]
  await media.run('leg.hangup', { legId: legs[0], reason: 'api_hangup' })
  const legId = await called(late, { ...ROOM, roomId: 'call_2' })
  await called(alone, { ...ROOM, roomId: 'call_3' })
  await Promise.all([late.inside('INVITE', 2, [], FAX), alone.inside('INVITE', 2, [], FAX)])
  const isPending = ({ got }: RawPhone): boolean => got.some(text => /^SIP\/2\.0 100[\s\S]*CSeq: 2 INVITE/.test(text))
  await media.engine.until(() => isPending(late) && isPending(alone))
  await media.run('leg.move', { legId, room: ROOM, mustExist: true, muted: false })
  await isAsked()
  await asked.respond(200, { body: FAX })
  await media.engine.until(() => media.of('leg.fax').length === 1)
  assert.match(await alone.expect('SIP/2.0 488'), /"T\.38 cannot pass: it takes two parties, alone with each other"/)
  for (const phone of [late, alone]) phone.close()
})

test('a partner who refuses is why: the Warning says so', async () => {
  await goesOver()
  await isAsked()
  await asked.respond(488)
  assert.match(await asks.expect('SIP/2.0 488'), /"T\.38 cannot pass: the other party has no T\.38"/)
})

test('who is put on hold while T.38 is asked is told so once it has refused that', async () => {
  await goesOver()
  await isAsked()
  await media.run('leg.hold', { legId: legs[1], held: true, sources: [] })
  await asked.respond(488)
  await isAsked(2)
  assert.match(lastInvite(asked), /m=audio [1-9][\s\S]*\r\na=sendonly\r\n/)
})

test('a call that begins as a fax has nobody yet whom it could be passed on to: 488, no such media (RFC 3261 §20.43)', async () => {
  const faxes = await RawPhone.open(media)
  const before = media.of('leg.incoming').length
  await faxes.call({ body: FAX.replace(/m=audio.*\r\n/, '') })
  await media.engine.until(() => media.of('leg.incoming').length > before)
  await media.answer(media.of('leg.incoming')[before]!.legId)
  assert.match(await faxes.expect('SIP/2.0 488'), /^Warning: 304 \S+ "Media type not available"\r$/m)
  faxes.close()
})

test('who is moved into another room is asked back to audio, and so is its partner', async () => {
  await goesOver()
  await isAsked()
  await asked.respond(200, { body: FAX })
  await media.engine.until(() => media.of('leg.fax').length === 1)
  await asks.inside('ACK', 2)
  const room = { ...ROOM, roomId: 'call_2' }
  await media.run('leg.move', { legId: legs[0], room, mustExist: false, muted: false })
  await isAsked(2)
  assert.match(lastInvite(asked), /m=audio [1-9]\d* [\s\S]*m=image 0 /)
  await media.engine.until(() => asks.count('INVITE') === 1)
  assert.match(lastInvite(asks), /m=audio [1-9]\d* [\s\S]*m=image 0 /)
  assert.equal(
    media.of('leg.fax').map(({ isRelayed }) => isRelayed),
    [true, false],
  )
})

test.run()
