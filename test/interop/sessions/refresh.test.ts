// Sleeps most: RFC 4028 §4 has no session shorter than 90 s, of which we refresh after half.
import * as assert from 'uvu/assert'
import { product, sharedSuite } from '../../e2e/shared-suite.ts'
import type { RawCalls } from '../peers/raw-calls.ts'
import { audioAt, bodyOf, field, type Raw } from '../peers/raw-peer.ts'
import { withRawCalls } from '../peers/raw-suite.ts'
import { BEGINS, METHODS, OFFER, type Talk } from '../peers/raw-trunk.ts'

/** How we refresh a session whose far end has agreed to 90 s (RFC 4028 §10, RFC 3311), and what its answers mean. All of it passes at once. */

const test = sharedSuite('interop/sessions/refresh')
const REFRESHED_MS = 45_000
const EXPIRED_MS = 60_000
/** For a busy machine. */
const PATIENCE_MS = 25_000

type Who = keyof typeof BEGINS
type Method = 'UPDATE' | 'INVITE'

/** The far end is on hold, and sends no audio that would be missed. */
const HOLDS = audioAt(6100, '0', ['a=inactive'])

/** Registers a test of a session that we refresh, by UPDATE where the far end allows it. */
function refreshTest(
  sentence: string,
  who: Who,
  method: Method,
  run: (talk: Talk, calls: RawCalls) => Promise<void>,
  refresher = 'ours',
): void {
  const weRefresh = refresher === 'ours'
  const agreed = {
    'who has called us': ['Supported: timer', `Session-Expires: 90;refresher=${weRefresh ? 'uas' : 'uac'}`],
    'whom we have called': ['Require: timer', `Session-Expires: 90;refresher=${weRefresh ? 'uac' : 'uas'}`],
  }[who]
  const allow = `Allow: ${METHODS}${method === 'UPDATE' ? ', UPDATE' : ''}`
  const one = withRawCalls(async calls => run(await BEGINS[who](product, calls, [allow, ...agreed], {}, HOLDS), calls))
  test(`${who}: ${sentence}`, one, { timeoutMs: EXPIRED_MS + 2 * PATIENCE_MS, together: true })
}

const refreshOf = ({ peer }: Talk, method: Method): Promise<Raw> => peer.next(method, REFRESHED_MS + PATIENCE_MS)

/** Answers a refresh as the far end. */
function accept({ peer, contact }: Talk, refresh: Raw, intervalS = 90): Promise<unknown> {
  const timer = ['Require: timer', `Session-Expires: ${intervalS};refresher=uac`]
  const isInvite = refresh.what === 'INVITE'
  const [more, body] = isInvite ? [[contact, ...timer, OFFER], HOLDS] : [[contact, ...timer], '']
  refresh.answer('200 OK', more, body)
  return isInvite ? peer.next('ACK') : Promise.resolve()
}

/** It goes on, until we hang up. */
async function goesOn({ id, peer }: Talk, calls: RawCalls): Promise<void> {
  assert.is((await product.ok('GET', `/calls/${id}`)).ended_at, null)
  await product.ok('POST', `/calls/${id}/hangup`)
  await peer.takes('BYE')
  assert.is((await calls.endOf(id)).ended_reason, 'api_hangup')
}

async function hasExpired({ id }: Talk): Promise<void> {
  const call = await product.until(
    'it has ended',
    async () => {
      const now = await product.ok('GET', `/calls/${id}`)
      return now.ended_at === null ? null : now
    },
    EXPIRED_MS + PATIENCE_MS,
  )
  assert.is(call.ended_reason, 'session_expired')
}

const expires = ({ text }: Raw): string[] => ['session-expires', 'min-se'].map(name => field(text, name))

for (const who of Object.keys(BEGINS) as Who[]) {
  refreshTest(
    'we refresh after half of its time by UPDATE without a description where it is allowed',
    who,
    'UPDATE',
    async (talk, calls) => {
      const refresh = await refreshOf(talk, 'UPDATE')
      assert.equal([...expires(refresh), bodyOf(refresh.text)], ['90;refresher=uac', '90', ''])
      await accept(talk, refresh)
      await goesOn(talk, calls)
    },
  )

  refreshTest(
    'we refresh by re-INVITE with the same description where UPDATE is not allowed',
    who,
    'INVITE',
    async (talk, calls) => {
      const refresh = await refreshOf(talk, 'INVITE')
      const originOf = (text: string): string => /^o=.*$/m.exec(text)![0]
      assert.equal([...expires(refresh), originOf(refresh.text)], ['90;refresher=uac', '90', originOf(talk.ours.text)])
      await accept(talk, refresh)
      await goesOn(talk, calls)
    },
  )
}

refreshTest(
  'what its answer to our refresh says applies, as that of a proxy does whose far end has changed (RFC 3264 §8)',
  'whom we have called',
  'INVITE',
  async (talk, calls) => {
    assert.is((await product.ok('GET', `/calls/${talk.id}`)).status, 'held')
    const refresh = await refreshOf(talk, 'INVITE')
    const body = audioAt(6100).replace('o=far 1 1', 'o=far 1 2')
    refresh.answer('200 OK', [talk.contact, 'Require: timer', 'Session-Expires: 90;refresher=uac', OFFER], body)
    await talk.peer.next('ACK')
    await product.until('it is resumed', async () =>
      (await product.ok('GET', `/calls/${talk.id}`)).status === 'in_progress' ? true : null,
    )
    await goesOn(talk, calls)
  },
)

for (const method of ['UPDATE', 'INVITE'] as const) {
  refreshTest(
    `a 422 to our ${method} raises the time for the rest of the call, and we ask at once for that`,
    'whom we have called',
    method,
    async (talk, calls) => {
      const refresh = await refreshOf(talk, method)
      refresh.answer('422 Session Interval Too Small', ['Min-SE: 120'])
      const longer = await talk.peer.next(method)
      assert.equal(expires(longer), ['120;refresher=uac', '120'])
      await accept(talk, longer, 120)
      await goesOn(talk, calls)
    },
  )

  for (const [status, who] of [
    ['481 Call/Transaction Does Not Exist', 'whom we have called'],
    ['408 Request Timeout', 'who has called us'],
  ] as const) {
    refreshTest(
      `a ${status} to our ${method} says that it has expired there: the call ends`,
      who,
      method,
      async talk => {
        const refresh = await refreshOf(talk, method)
        refresh.answer(status)
        await hasExpired(talk)
      },
    )
  }

  refreshTest(
    `a ${method} that is refused otherwise is sent anew in half of the time that is left, and the call hung up before that is over`,
    'who has called us',
    method,
    async talk => {
      const refusal = '488 Not Acceptable Here'
      const first = await refreshOf(talk, method)
      first.answer(refusal)
      const second = await talk.peer.next(method, PATIENCE_MS)
      second.answer(refusal)
      const bye = await talk.peer.next('BYE', EXPIRED_MS - REFRESHED_MS + PATIENCE_MS)
      assert.match(field(bye.text, 'reason'), 'cause=102')
      bye.answer('200 OK')
      await hasExpired(talk)
    },
  )
}

refreshTest(
  'a far end that takes no UPDATE after all (405) is refreshed by re-INVITE',
  'whom we have called',
  'UPDATE',
  async (talk, calls) => {
    const update = await refreshOf(talk, 'UPDATE')
    update.answer('405 Method Not Allowed')
    await accept(talk, await talk.peer.next('INVITE'))
    await goesOn(talk, calls)
  },
)

refreshTest(
  'a far end that is to refresh and does not is hung up on by a third of its time before that is over',
  'whom we have called',
  'UPDATE',
  async talk => {
    const bye = await talk.peer.next('BYE', EXPIRED_MS + PATIENCE_MS)
    bye.answer('200 OK')
    await hasExpired(talk)
    assert.equal(
      talk.peer.received.filter(({ what }) => what === 'UPDATE'),
      [],
    )
  },
  'theirs',
)

test.run()
