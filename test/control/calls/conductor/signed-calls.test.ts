import { setImmediate } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import type { ClaimedIdentity, Verification } from '../../../../media/protocol.ts'
import { partyOf } from '../../../fakes/media-model.ts'
import { suite } from '../../../harness.ts'
import { type CallsWorld, makeCallsWorld } from '../../calls-world.ts'

const test = suite('control/calls/conductor/signed-calls')
const [ANN, BOB] = ['+12125550142', '+12125550143']
const VERIFIED: Verification = {
  result: 'verified',
  attestation: 'A',
  origId: 'x',
  number: ANN.slice(1),
  cause: null,
}
const FAILED: Verification = { ...VERIFIED, result: 'failed', origId: null, number: null, cause: 'stale' }

let world: CallsWorld
test.beforeEach(async () => {
  world = await makeCallsWorld()
})
test.afterEach(() => world.close())

const judging = (verify_calls: 'off' | 'show' | 'require', more: object = {}) =>
  world.store.db
    .updateTable('connections')
    .set({ verify_calls, ...more })
    .execute()

async function calls() {
  await world.control.idle()
  const { body } = await world.control.ask('GET /v1/calls')
  return body.data
}

/** The call of somebody who is let in. */
async function taken(from: string, identity?: ClaimedIdentity) {
  world.media.dialIn('leg_1', '1002', from, '127.0.0.1', identity)
  await world.media.command('leg.answer', 'leg_1')
  // That it has been answered is told behind the command.
  for (;;) {
    const [call] = await calls()
    if (call.status === 'in_progress') return call
    await setImmediate()
  }
}

const judged = () => world.media.sent('leg.verify')[0]

test('a call shows who has signed it, and with which attestation', async () => {
  await judging('show')
  world.media.verification = VERIFIED
  const call = await taken(ANN)
  assert.is(call.from, ANN)
  const { verification, attestation, verification_failure: failure } = call.identity
  assert.equal([verification, attestation, failure], ['verified', 'A', null])
  assert.equal(judged(), { legId: 'leg_1', from: [ANN.slice(1)], to: ['1002'] })
  const { body } = await world.control.ask('GET /v1/events?type=call.created')
  assert.is(body.data[0].data.object.identity.attestation, 'A')
})

test('a connection that only shows takes calls of which nothing is proven', async () => {
  await judging('show')
  world.media.verification = FAILED
  const call = await taken(ANN)
  assert.equal([call.status, call.identity.verification], ['in_progress', 'failed'])
  assert.is(call.identity.verification_failure, 'stale')
})

test('one that requires a signature refuses the others as RFC 8224 §6.2.2 says, and they become no calls', async () => {
  await judging('require')
  for (const [cause, status] of [
    ['no_identity', 428],
    ['certificate_unavailable', 436],
    ['certificate_untrusted', 437],
    ['signature_invalid', 438],
    ['stale', 403],
  ] as const) {
    world.media.verification = { ...FAILED, cause, result: cause === 'no_identity' ? 'none' : 'failed' }
    world.media.dialIn(`leg_${status}`, '1002', ANN)
    assert.is((await world.media.command('leg.reject', `leg_${status}`)).sipCode, status)
    assert.equal(await calls(), [])
  }
  assert.is(world.media.sent('leg.reject').at(-1)?.phrase, 'Stale Date')
  world.media.verification = VERIFIED
  await taken(ANN)
  assert.is((await calls()).length, 1)
})

test('a connection that asks for none has none judged', async () => {
  assert.is((await taken(ANN)).identity, null)
  assert.is(judged(), undefined)
})

test('where what is asserted is signed and From is not, the caller is who is proven', async () => {
  await judging('show', { trust_identity: 1 })
  world.media.verification = VERIFIED
  const asserted = [{ uri: `tel:${ANN}`, user: ANN, host: '', displayName: null }]
  const call = await taken(BOB, { displayName: null, asserted, privacy: [], redirects: [] })
  assert.is(call.from, ANN)
  assert.equal(judged()?.from, [BOB.slice(1), ANN.slice(1)])
})

test('numbers that are written as they are dialled in their country are judged in canonical form', async () => {
  await judging('show', { number_country: 'GB' })
  await taken('02071838750')
  assert.equal(judged()?.from, ['442071838750'])
})

/** The caller's end was told before its call had rows. */
async function isOver(): Promise<void> {
  await world.media.command('leg.read', undefined, 1)
  for (;;) {
    const [call] = await calls()
    if (call?.ended_at == null) continue
    assert.equal([call.status, call.ended_reason], ['cancelled', 'caller_hangup'])
    return
  }
}

test('who hangs up while the signature is judged is no call that runs for ever', async () => {
  await judging('show')
  world.media.overrides.set('leg.verify', () => {
    world.media.hangUp('leg_1', 'caller_hangup')
    return VERIFIED
  })
  world.media.dialIn('leg_1', '1002', ANN)
  await isOver()
})

test('nor is who hangs up while its password is checked', async () => {
  const { id } = await world.store.db.selectFrom('connections').select('id').executeTakeFirstOrThrow()
  const inbound_credentials = { username: 'pbx', password: 'correct horse battery' }
  const changed = await world.control.ask(`PATCH /v1/connections/${id}`, { inbound_credentials })
  assert.is(changed.status, 200, changed.text)
  const { media } = world
  media.overrides.set('leg.check_caller', () => {
    media.hangUp('leg_1', 'caller_hangup')
    return { isRight: true }
  })
  const { to } = media.add('leg_1', { to: partyOf('1002') })
  const digest = { username: 'pbx', algorithm: 'MD5' as const, nonce: { value: 'n', count: 1 } }
  const source = { host: '127.0.0.1' }
  media.emit('leg.incoming', { legId: 'leg_1', to, from: partyOf(ANN), source, sipCallId: 'leg_1@test', digest })
  await isOver()
})

test.run()
