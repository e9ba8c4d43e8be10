// Sleeps most: it waits for what far ends are told.
import * as assert from 'uvu/assert'
import { product } from '../../e2e/shared-suite.ts'
import { field } from '../peers/raw-peer.ts'
import { calls, rawSuite } from '../peers/raw-suite.ts'
import { BEGINS, METHODS, type Talk } from '../peers/raw-trunk.ts'

/** Transfers that both sides ask for at once, or that meet the end of their call. `session.test.ts` has the glare of INVITE, UPDATE and BYE. */

const test = rawSuite('interop/sessions/glare')

/** A call whose far end we have asked to call somebody else, and that has not answered that. */
async function asked(begin: (typeof BEGINS)[keyof typeof BEGINS]) {
  const talk = await begin(product, calls, [`Allow: ${METHODS}`], { transfers: 'follow' })
  await product.ok('POST', `/calls/${talk.id}/transfer`, { to: `${talk.prefix}11` })
  return { talk, refer: await talk.peer.next('REFER') }
}

/** How the transfers of a call went, once one has ended so. */
const transfersUntil = ({ id }: Talk, end: string): Promise<string[]> =>
  product.until(`a transfer is ${end}`, async () => {
    const told = (await product.all('/events?type=call.transfer.updated')).map(({ data }) => data.object)
    const statuses = told.filter(({ call_id }) => call_id === id).map(({ status }) => status as string)
    return statuses.at(-1) === end ? statuses : null
  })

for (const [who, begin] of Object.entries(BEGINS)) {
  test(`${who}: of REFERs that cross both are told 491, and the call goes on; the next one is accepted`, async () => {
    const { talk, refer } = await asked(begin)
    const { peer, id, theirs, send, contact, host, prefix } = talk
    const to = `Refer-To: <sip:${prefix}12@${host}>`
    send(theirs('REFER', 20, [contact, to]))
    const crossed = await peer.next(/[2-6]\d\d/)
    assert.equal([crossed.what, field(crossed.text, 'cseq')], ['491', '20 REFER'])
    refer.answer('491 Request Pending')
    assert.equal(await transfersUntil(talk, 'failed'), ['trying', 'failed'])
    assert.is((await product.ok('GET', `/calls/${id}`)).status, 'in_progress')
    send(theirs('REFER', 21, [contact, to]))
    assert.is((await peer.next(/[2-6]\d\d/)).what, '202')
    const target = peer.received.findLast(({ what }) => what === 'INVITE')
    const invite = target?.text.includes(`sip:${prefix}12@`) ? target : await peer.next('INVITE')
    invite.answer('486 Busy Here')
    await transfersUntil(talk, 'failed')
    send(theirs('BYE', 22))
    assert.is((await calls.endOf(id)).ended_reason, 'caller_hangup')
  })

  for (const [answer, end, reason] of [
    ['before it has answered', 'failed', 'caller_hangup'],
    ['once it has accepted that', 'completed', 'transfer_completed'],
  ] as const) {
    test(`${who}: a far end that hangs up in our REFER, ${answer}: the transfer has ${end}`, async () => {
      const { talk, refer } = await asked(begin)
      if (end === 'completed') refer.answer('202 Accepted', [talk.contact])
      talk.send(talk.theirs('BYE', 20))
      assert.is(field((await talk.peer.next(/[2-6]\d\d/)).text, 'cseq'), '20 BYE')
      // It still answers what it had got before.
      if (end === 'failed') refer.answer('481 Call/Transaction Does Not Exist')
      assert.is((await calls.endOf(talk.id)).ended_reason, reason)
      assert.equal(await transfersUntil(talk, end), ['trying', end])
    })
  }
}

test.run()
