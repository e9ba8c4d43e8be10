import * as assert from 'uvu/assert'
import { Phone } from '../../bench/phone/phone.ts'
import { levelAt } from '../../bench/spectrum.ts'
import { HEARD_DBOV, invited } from '../e2e/scene.ts'
import { product, sharedSuite } from '../e2e/shared-suite.ts'
import { missingPrograms } from '../harness.ts'
import { Baresip } from './peers/baresip.ts'

const missing = missingPrograms('baresip')
const test = sharedSuite('interop/registrar', { timeoutMs: 60_000, missing })
const TONE_HZ = 700

let members = 0
async function newAccount(): Promise<{ userId: string; username: string; password: string; registrar: string }> {
  const { userId, account: made } = await invited(product, `registrar${++members}@example.com`)
  return { userId, ...made }
}

const registrationsOf = async (userId: string): Promise<{ transport: string; expires_at: string }[]> =>
  (await product.ok('GET', `/users/${userId}/sip_credential`)).registrations

for (const transport of ['udp', 'tcp'] as const) {
  test(`baresip registers over ${transport}, is rung as its member's phone, and unregisters when it goes`, async () => {
    const { userId, ...account } = await newAccount()
    const agent = await Baresip.start({
      toneHz: TONE_HZ,
      answers: true,
      account: { ...account, transport, everyS: 600 },
      // One insists on encryption.
      ...(transport === 'tcp' ? { srtp: 'required' as const } : {}),
    })
    try {
      // It may have registered before its control port could tell.
      const [registration] = await product.until('it is registered', async () => {
        const registrations = await registrationsOf(userId)
        return registrations.length === 0 ? null : registrations
      })
      assert.is(registration?.transport, transport)
      const caller = await Phone.open('caller')
      await product.ok('POST', '/calls', { to: caller.uri, user_id: userId })
      const call = await caller.next()
      call.answer()
      await agent.until('CALL_ESTABLISHED')
      let level = -100
      for (let tries = 0; tries < 20 && level < HEARD_DBOV; tries++) {
        level = levelAt(TONE_HZ, await call.heard.next(500))
      }
      assert.ok(level > HEARD_DBOV, `the caller hears ${level} dBov of the agent`)
      await call.hangup()
      await agent.until('CALL_CLOSED')
      await caller.close()
    } finally {
      await agent.stop()
    }
    await product.until('it is unregistered', async () => ((await registrationsOf(userId)).length === 0 ? true : null))
  })
}

test('a wrong password registers nobody', async () => {
  const { userId, ...account } = await newAccount()
  const thief = await Baresip.start({
    toneHz: TONE_HZ,
    account: { ...account, password: 'guessed', transport: 'udp', everyS: 600 },
  })
  try {
    await product.until('it is refused', async () =>
      product.output.includes('a registration was refused') ? true : null,
    )
    assert.equal(await registrationsOf(userId), [])
  } finally {
    await thief.stop()
  }
})

test.run()
