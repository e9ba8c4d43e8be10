// Takes a core: three products and Chromium.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { freePort } from '../../../bench/free-port.ts'
import { Phone } from '../../../bench/phone/phone.ts'
import type { PhoneCall } from '../../../bench/phone/phone-call.ts'
import type { Product } from '../../../bench/product.ts'
import { tone } from '../../../bench/voices.ts'
import { Chromium, missingBrowser } from '../../e2e/browsers/chromium.ts'
import { has, hearsSpeech, newMember, startPage } from '../../e2e/browsers/pages.ts'
import { SipPage } from '../../e2e/browsers/sip-page.ts'
import { curtain, HEARD_DBOV, invited } from '../../e2e/scene.ts'
import { missingPrograms, suite } from '../../harness.ts'
import { doorTo, makeCertificate } from '../peers/doors.ts'
import { Sipp } from '../peers/sipp.ts'
import { hears, missingServer, startNodes, taken } from './two-nodes.ts'

/** Two nodes that share a PostgreSQL database, with nothing before them: each takes calls for what the other one has. */
const test = suite('interop/between-nodes')
const LIMIT = { timeoutMs: 60_000 }

let nodes: readonly [Product, Product]
let addNode: () => Promise<Product>
let site: SipPage
/** Of the near node. */
let tlsPort: number
const dir = mkdtempSync(join(tmpdir(), 'tandem-nodes-'))

test.before(async () => {
  site = await SipPage.serve()
  if (missingServer() !== null) return
  const { cert, key } = makeCertificate(dir, ['127.0.0.1'])
  tlsPort = await freePort()
  const tls = { TANDEM_SIP_TLS_PORT: String(tlsPort), TANDEM_SIP_TLS_CERT: cert, TANDEM_SIP_TLS_KEY: key }
  const started = await startNodes([tls, {}], { TANDEM_SIP_WS_ORIGINS: site.url, TANDEM_DRAIN_SECONDS: '30' })
  nodes = started.nodes
  addNode = started.addNode
})
test.after(async () => {
  for (const node of nodes ?? []) await curtain(node)
  site.close()
  rmSync(dir, { recursive: true, force: true })
})

const sharedTest = (sentence: string, run: () => Promise<void>, needed: string | null = null): void => {
  const missing = missingServer() ?? needed
  test(sentence, run, { ...LIMIT, missing })
}

/** A member who is called by `97xx`, at whichever node. */
async function memberAt(
  extension: string,
): Promise<{ userId: string; account: Record<string, string>; number: string }> {
  const [node] = nodes
  const { userId: id, account } = await invited(node, `m${extension}@example.com`, { extension })
  const number = extension.replace('77', '97')
  await node.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'user', id } })
  return { userId: id, account, number }
}

/** A page with sip.js that has registered with a node. */
async function pageAt(chromium: Chromium, node: Product, { username, password }: Record<string, string>) {
  const { page } = await chromium.open(site.url)
  const wsUrl = `ws://127.0.0.1:${node.wsPort}/v1/sip`
  await page.evaluate(`phone.register(${JSON.stringify({ username, password, wsUrl })})`)
  await page.waitForFunction('phone.registerer.state === "Registered"')
  return page
}

/** A call to this number at the near node, which the page takes. */
async function takenBy(page: Awaited<ReturnType<typeof pageAt>>, caller: Phone, number: string) {
  const calling = caller.dial(number, nodes[0].sip)
  await page.waitForFunction('phone.state === "ringing"')
  await page.evaluate('phone.answer()')
  await page.waitForFunction('phone.state === "Established"')
  const call = await calling
  assert.is((await call.outcome).status, 200)
  return call
}

for (const transport of ['udp', 'tcp'] as const) {
  sharedTest(
    `a phone that has registered with one node over ${transport} is rung by callers of the other`,
    async () => {
      const { account, number } = await memberAt(transport === 'udp' ? '7701' : '7702')
      const [near, far] = nodes
      const [phone, caller] = [await Phone.open(`phone-${transport}`), await Phone.open('caller')]
      await phone.register(account as never, { ...far.sip, transport } as never)
      for (const whoHangsUp of ['caller', 'phone']) {
        const [call, ringing] = await taken(caller, number, near.sip, phone)
        ringing.say(tone(1000))
        await Promise.all([hears(near, call, 1000), hears(near, ringing, 440)])
        await (whoHangsUp === 'caller' ? call : ringing).hangup()
        await Promise.all([call.ended, ringing.ended])
      }
      await Promise.all([phone.close(), caller.close()])
    },
  )
}

sharedTest(
  'sip.js in Chromium that has registered with one node is rung by callers of the other, until they give up or it hangs up',
  async () => {
    const { account, number } = await memberAt('7703')
    const [near] = nodes
    const chromium = await Chromium.launch()
    const page = await pageAt(chromium, nodes[1], account)
    const caller = await Phone.open('caller')
    const givenUp = await caller.dial(number, near.sip)
    await page.waitForFunction('phone.state === "ringing"')
    await givenUp.hangup()
    await page.waitForFunction('phone.state === "Terminated"')
    const call = await takenBy(page, caller, number)
    assert.ok(await hearsSpeech(call), 'the caller hears the page')
    await page.evaluate('phone.bye()')
    await call.ended
    await chromium.close()
    await caller.close()
  },
  missingBrowser(),
)

sharedTest(
  'sip.js that has lost its connection to the node in between, and is back, is told that the caller has hung up',
  async () => {
    const { account, number } = await memberAt('7705')
    const chromium = await Chromium.launch()
    const page = await pageAt(chromium, nodes[1], account)
    const caller = await Phone.open('caller')
    const call = await takenBy(page, caller, number)
    await page.evaluate('phone.comeBack()')
    await call.hangup()
    await page.waitForFunction('phone.state === "Terminated"')
    await chromium.close()
    await caller.close()
  },
  missingBrowser(),
)

sharedTest(
  "the product's softphone page that is connected to one node is rung by callers of the other, and keeps the call when it is reloaded",
  async () => {
    const [near, far] = nodes
    const { userId, token } = await newMember(far)
    await near.ok('POST', '/inbound_routes', { match: { to: '9710' }, target: { type: 'user', id: userId } })
    const chromium = await Chromium.launch()
    const { page, faults } = await startPage(chromium, far, { path: '/softphone', token })
    await far.until('it has a token for the next time', async () =>
      (await page.evaluate('sessionStorage.getItem("tandem-softphone-tokens")')) === null ? null : true,
    )
    const caller = await Phone.open('caller')
    for (const whoHangsUp of ['caller', 'page']) {
      const calling = caller.dial('9710', near.sip)
      await page.waitForSelector('#ringing:not([hidden])')
      await page.click('#accept')
      await page.waitForSelector('#call:not([hidden])')
      const call = await calling
      assert.is((await call.outcome).status, 200)
      call.say(tone(700))
      assert.ok(await hearsSpeech(call), 'the caller hears the page')
      if (whoHangsUp === 'page') {
        await page.reload()
        await page.waitForSelector('#call:not([hidden])')
        assert.ok(await hearsSpeech(call), 'and again, once it is reloaded')
      }
      await far.until('the page hears the caller', async () =>
        Number(await page.evaluate('document.getElementById("heard").value')) > 0.3 ? true : null,
      )
      if (whoHangsUp === 'page') await page.click('#leave')
      else await call.hangup()
      await page.waitForSelector('#idle:not([hidden])')
      await call.ended
    }
    assert.equal(faults, [])
    await chromium.close()
    await caller.close()
  },
  missingBrowser(),
)

sharedTest(
  "what the copilot of a call at another node tells is on the product's softphone page at once, also after the call",
  async () => {
    const [near, far] = nodes
    const { userId, token } = await newMember(far)
    const stage = { key: 'open', label: 'Opening', checklist: [{ key: 'account', label: 'Account', phrases: ['x'] }] }
    const fields = [{ key: 'name', label: 'Name', type: 'name' }]
    const profile = await near.ok('POST', '/copilot_profiles', { name: 'Sales', stages: [stage], fields })
    const queue = { name: 'Sales', member_user_ids: [userId], copilot_profile_id: profile.id }
    const { id } = await near.ok('POST', '/queues', queue)
    await near.ok('POST', '/inbound_routes', { match: { to: '9711' }, target: { type: 'queue', id } })
    const chromium = await Chromium.launch('silence')
    const { page, faults } = await startPage(chromium, far, { path: '/softphone', token })
    await page.selectOption('#status', 'available')
    const caller = await Phone.open('caller')
    const call = await caller.call('9711', near.sip)
    await page.waitForSelector('#ringing:not([hidden])')
    await page.click('#accept')
    await page.waitForSelector('#copilot:not([hidden])')
    const [session] = (await near.ok('GET', '/copilot_sessions?limit=1')).data
    await near.ok('POST', `/copilot_sessions/${session.id}/fields/name`, { value: 'John Smith' })
    await has(page, '#field-name', 'John Smith')
    await page.check('#item-open-account')
    await near.until('the item is done', async () =>
      (await near.ok('GET', `/copilot_sessions/${session.id}`)).stages[0].checklist[0].done ? true : null,
    )
    await call.hangup()
    await page.waitForSelector('#hints .summary')
    assert.equal(faults, [])
    await chromium.close()
    await caller.close()
  },
  missingBrowser(),
)

sharedTest(
  "a text by the API of one node reaches a member's phone that has registered with the other",
  async () => {
    const [near, far] = nodes
    const { userId, account } = await memberAt('7725')
    const registering = await Sipp.caller('registers', far.sip, { account: account as never, to: account.username! })
    await registering.passed()
    const phone = await Sipp.callee('gets-text', { port: registering.port, keys: { text: 'your shift' } })
    const { id } = await near.ok('POST', '/messages', { to_user_id: userId, text: 'your shift begins' })
    await phone.passed()
    await near.until('it is delivered', async () =>
      (await near.ok('GET', `/messages/${id}`)).status === 'delivered' ? true : null,
    )
  },
  missingPrograms('sipp'),
)

/** A conference room with this number at every node, in which a caller of the far node waits and is known to the near one. */
async function metAt(number: string) {
  const [near, far] = nodes
  const { id } = await near.ok('POST', '/conference_rooms', { name: number })
  await near.ok('POST', '/inbound_routes', { match: { to: number }, target: { type: 'room', id } })
  const [one, other] = [await Phone.open('one'), await Phone.open('other')]
  const first = await one.call(number, far.sip)
  first.say(tone(440))
  const live = async () => (await near.ok('GET', `/conference_rooms/${id}`)).live as { participants: number } | null
  await near.until('the room is open', async () => ((await live()) === null ? null : true))
  return { one, other, first, live }
}

sharedTest('callers of a conference room meet in it, whichever node they call, over UDP and TCP', async () => {
  const [near] = nodes
  const { one, other, first } = await metAt('9801')
  for (const transport of ['udp', 'tcp'] as const) {
    const second = await other.call('9801', { ...near.sip, transport } as never)
    second.say(tone(1000))
    await Promise.all([hears(near, first, 1000), hears(near, second, 440)])
    await second.hangup()
  }
  await first.hangup()
  await Promise.all([one.close(), other.close()])
})

sharedTest("a member's phone meets the callers of a conference room at another node, over UDP and TCP", async () => {
  const [near] = nodes
  const { account } = await memberAt('7706')
  const { one, other, first } = await metAt('9804')
  for (const transport of ['udp', 'tcp'] as const) {
    const second = await other.call('9804', near.sip, { transport, account: account as never })
    second.say(tone(1000))
    await Promise.all([hears(near, first, 1000), hears(near, second, 440)])
    await second.hangup()
  }
  await first.hangup()
  await Promise.all([one.close(), other.close()])
})

sharedTest(
  'a caller over TLS meets the callers of a conference room at another node, and both ends may hang up',
  async () => {
    const [near] = nodes
    const { one, other, first } = await metAt('9805')
    const named = (message: Buffer) =>
      Buffer.from(
        message.toString('latin1').replaceAll(`:${tlsPort};transport=tls`, `:${door.port};transport=tcp`),
        'latin1',
      )
    const door = await doorTo({ host: '127.0.0.1', port: tlsPort }, 'tls', named)
    for (const whoHangsUp of ['caller', 'room']) {
      const second = await other.call('9805', { host: '127.0.0.1', port: door.port }, { transport: 'tcp' })
      second.say(tone(1000))
      await Promise.all([hears(near, first, 1000), hears(near, second, 440)])
      if (whoHangsUp === 'caller') await second.hangup()
      else {
        const { data } = await near.ok('GET', '/calls?status=in_progress&limit=1')
        await near.ok('POST', `/calls/${data[0].id}/hangup`)
      }
      await second.ended
    }
    door.close()
    await Promise.all([one.close(), other.close()])
    void first
  },
)

sharedTest(
  'sip.js meets the callers of a conference room at another node',
  async () => {
    const [near] = nodes
    const { account } = await memberAt('7707')
    const { one, other, first, live } = await metAt('9806')
    const chromium = await Chromium.launch()
    const page = await pageAt(chromium, near, account)
    await page.evaluate('phone.call("9806")')
    await page.waitForFunction('phone.state === "Established"')
    assert.ok(await hearsSpeech(first), 'the room hears the page')
    await page.waitForFunction('phone.hears().db > -60 && Math.abs(phone.hears().hz - 440) < 30')
    await page.evaluate('phone.bye()')
    await near.until('the page has left', async () => ((await live())?.participants === 1 ? true : null))
    await chromium.close()
    await first.hangup()
    await Promise.all([one.close(), other.close()])
  },
  missingBrowser(),
)

for (const transport of ['udp', 'tcp'] as const) {
  sharedTest(
    `an INVITE with Replaces over ${transport} at another node than that of the dialog takes its place`,
    async () => {
      const { account, number } = await memberAt(transport === 'udp' ? '7708' : '7709')
      const [near, far] = nodes
      const [phone, desk, caller] = [await Phone.open('phone'), await Phone.open('desk'), await Phone.open('caller')]
      await phone.register(account as never, far.sip)
      const [call, ringing] = await taken(caller, number, far.sip, phone)
      await hears(near, ringing, 440)
      const headers = [['Replaces', ringing.dialog()]] as const
      const instead = await desk.call('anything', near.sip, { transport, account: account as never, headers })
      instead.say(tone(1000))
      await ringing.ended
      await Promise.all([hears(near, call, 1000), hears(near, instead, 440)])
      await instead.hangup()
      await call.ended
      await Promise.all([phone.close(), desk.close(), caller.close()])
    },
  )
}

sharedTest(
  'a phone that registers with one node while its member is rung by a call of the other rings too',
  async () => {
    const [near, far] = nodes
    const { account, number } = await memberAt('7724')
    const [desk, late, caller] = [await Phone.open('desk'), await Phone.open('late'), await Phone.open('caller')]
    await desk.register(account as never, near.sip)
    const calling = caller.dial(number, near.sip)
    const ringing = await desk.next()
    ringing.ring()
    await late.register(account as never, far.sip)
    const taken = await late.next()
    taken.answer()
    const call = await calling
    assert.is((await call.outcome).status, 200)
    call.say(tone(440))
    taken.say(tone(1000))
    await Promise.all([hears(near, call, 1000), hears(near, taken, 440)])
    await taken.hangup()
    await call.ended
    await Promise.all([desk.close(), late.close(), caller.close()])
  },
)

sharedTest(
  "a phone's REFER joins its calls of two nodes, in whichever it is asked, and the member is free",
  async () => {
    const [near, far] = nodes
    const [agent, bob] = [await memberAt('7721'), await memberAt('7722')]
    const [phone, other, caller] = [await Phone.open('agent'), await Phone.open('bob'), await Phone.open('caller')]
    await phone.register(agent.account as never, far.sip)
    await other.register(bob.account as never, far.sip)
    for (const [first, second] of [
      [near, far],
      [far, near],
    ] as const) {
      for (const isAskedInFirst of [true, false]) {
        const [atCaller, held] = await taken(caller, agent.number, first.sip, phone)
        await hears(near, held, 440)
        assert.is(await held.hold(), 200)
        const consulting = phone.call('7722', second.sip, { account: agent.account as never })
        const atBob = await other.next()
        atBob.answer()
        atBob.say(tone(1000))
        const placed = await consulting
        await hears(near, placed, 1000)
        if (isAskedInFirst) held.refer(`sip:7722@${second.sip.host}`, placed)
        else placed.refer(`sip:${agent.number}@${first.sip.host}`, held)
        await Promise.all([held.ended, placed.ended])
        await Promise.all([hears(near, atCaller, 1000), hears(near, atBob, 440)])
        assert.equal((await near.ok('GET', '/calls?status=held')).data, [], 'nobody is on hold any more')
        await (isAskedInFirst ? atBob : atCaller).hangup()
        await Promise.all([atBob.ended, atCaller.ended])
      }
    }
    await Promise.all([phone.close(), other.close(), caller.close()])
  },
)

/** A member's phone that has put its caller, at the near node, on hold, and what it dials then rings at the far one. */
async function rungAtFar(extension: string, dialled: string, rung: Phone) {
  const [near, far] = nodes
  const { account, number } = await memberAt(extension)
  const [phone, caller] = [await Phone.open('agent'), await Phone.open('caller')]
  await phone.register(account as never, far.sip)
  const call = async () => {
    const [atCaller, held] = await taken(caller, number, near.sip, phone)
    await hears(near, held, 440)
    assert.is(await held.hold(), 200)
    const placed = await phone.dial(dialled, far.sip, { account: account as never })
    const ringing = await rung.next()
    ringing.ring()
    await placed.ringing
    return { atCaller, held, placed, ringing }
  }
  return { account, call, close: () => Promise.all([phone.close(), caller.close()]) }
}

/** A phone's REFER with Replaces of a call that still rings elsewhere: it leaves both calls at once. */
async function refers({ held, placed }: { held: PhoneCall; placed: PhoneCall }) {
  held.refer(`sip:anybody@${nodes[1].sip.host}`, placed)
  await held.ended
  assert.is((await placed.outcome).status, 480)
}

sharedTest(
  "a phone's REFER joins its call with one that still rings at another node: it leaves both, and the caller waits",
  async () => {
    const [near, far] = nodes
    const bob = await memberAt('7727')
    const other = await Phone.open('bob')
    await other.register(bob.account as never, far.sip)
    const agent = await rungAtFar('7726', '7727', other)
    for (const isAnswered of [true, false]) {
      const { atCaller, held, placed, ringing } = await agent.call()
      await refers({ held, placed })
      // Our ringing tone is quieter than who speaks.
      await hears(near, atCaller, 425, HEARD_DBOV - 5)
      if (isAnswered) {
        ringing.answer()
        ringing.say(tone(1000))
        await Promise.all([hears(near, atCaller, 1000), hears(near, ringing, 440)])
        assert.equal((await near.ok('GET', '/calls?status=held')).data, [], 'nobody is on hold any more')
        await ringing.hangup()
      } else void atCaller.hangup()
      await Promise.all([atCaller.ended, ringing.ended])
      await near.until('both calls are over', async () =>
        (await near.ok('GET', '/calls?status=in_progress')).data.length === 0 ? true : null,
      )
    }
    await Promise.all([other.close(), agent.close()])
  },
)

sharedTest(
  "a phone's REFER joins its call with one that it hears before the answer, from a queue of another node",
  async () => {
    const [near, far] = nodes
    const [bob, colleague] = [await memberAt('7729'), await Phone.open('bob')]
    await colleague.register(bob.account as never, far.sip)
    await near.ok('PUT', `/agents/${bob.userId}/status`, { status: 'available' })
    const { id } = await near.ok('POST', '/queues', { name: 'Rings', member_user_ids: [bob.userId] })
    await near.ok('POST', '/inbound_routes', { match: { to: '9814' }, target: { type: 'queue', id } })
    const agent = await rungAtFar('7728', '9814', colleague)
    const { atCaller, held, placed, ringing } = await agent.call()
    await refers({ held, placed })
    ringing.answer()
    ringing.say(tone(1000))
    await Promise.all([hears(near, atCaller, 1000), hears(near, ringing, 440)])
    await atCaller.hangup()
    await ringing.ended
    await Promise.all([colleague.close(), agent.close()])
  },
)

sharedTest(
  "a phone's REFER joins its call with one to a number outside that still rings over a trunk of another node",
  async () => {
    const [near] = nodes
    const outside = await Phone.open('outside')
    const [, port] = /:(\d+)$/.exec(outside.uri)!
    const trunk = { name: 'Carrier', kind: 'trunk', host: '127.0.0.1', port: Number(port) }
    const { id } = await near.ok('POST', '/connections', trunk)
    const agent = await rungAtFar('7730', '+4930777777', outside)
    for (const isAnswered of [true, false]) {
      const { atCaller, held, placed, ringing } = await agent.call()
      await refers({ held, placed })
      if (isAnswered) {
        ringing.answer()
        ringing.say(tone(1000))
        await Promise.all([hears(near, atCaller, 1000), hears(near, ringing, 440)])
        await ringing.hangup()
      } else ringing.reject(486)
      await atCaller.ended
    }
    await near.ok('DELETE', `/connections/${id}`)
    await Promise.all([outside.close(), agent.close()])
  },
)

sharedTest("a phone's REFER to another node's dialog that nobody else talks on leaves it both calls", async () => {
  const [near, far] = nodes
  const { account, number } = await memberAt('7723')
  const [phone, caller] = [await Phone.open('agent'), await Phone.open('caller')]
  await phone.register(account as never, far.sip)
  await near.ok('POST', '/inbound_routes', { match: { to: '9813' }, target: { type: 'echo' } })
  const [atCaller, first] = await taken(caller, number, near.sip, phone)
  await hears(near, first, 440)
  const placed = await phone.call('9813', far.sip, { account: account as never })
  first.refer(`sip:9813@${far.sip.host}`, placed)
  placed.say(tone(700))
  await near.until('it has failed', async () => {
    const { data } = await near.ok('GET', '/events?type=call.transfer.updated&limit=1')
    return data[0]?.data.object.sip_code === 603 ? true : null
  })
  await Promise.all([hears(near, first, 440), hears(near, placed, 700)])
  await Promise.all([first.hangup(), placed.hangup(), atCaller.ended])
  await Promise.all([phone.close(), caller.close()])
})

sharedTest('a caller who is passed on may give up before the other node has answered', async () => {
  const [near, far] = nodes
  const { one, other, first } = await metAt('9807')
  const { control } = far.pids
  process.kill(control, 'SIGSTOP')
  try {
    const call = await other.dial('9807', near.sip)
    await near.until('it is passed on', async () =>
      near.output.includes('another node has the conference room') ? true : null,
    )
    call.cancel()
    assert.is((await call.outcome).status, 487)
  } finally {
    process.kill(control, 'SIGCONT')
  }
  await first.hangup()
  await Promise.all([one.close(), other.close()])
})

sharedTest('a conference room whose node has died is open at one of the others at once', async () => {
  const dying = await addNode()
  const [near, next] = nodes
  const { id } = await near.ok('POST', '/conference_rooms', { name: 'Dies' })
  await near.ok('POST', '/inbound_routes', { match: { to: '9803' }, target: { type: 'room', id } })
  const [one, other] = [await Phone.open('one'), await Phone.open('other')]
  const lost = await one.call('9803', dying.sip)
  await near.until('the room is open', async () =>
    (await near.ok('GET', `/conference_rooms/${id}`)).live === null ? null : true,
  )
  dying.kill()
  const [first, second] = await Promise.all([one.call('9803', near.sip), other.call('9803', next.sip)])
  first.say(tone(440))
  second.say(tone(1000))
  await Promise.all([hears(near, first, 1000), hears(near, second, 440)])
  await Promise.all([one.close(), other.close()])
  void lost
})

sharedTest('a caller joins a conference on a node that drains', async () => {
  const [near, far] = nodes
  const { one, other, first } = await metAt('9802')
  const stopped = far.stop()
  await near.until('it drains', async () => {
    const call = await other.dial('9802', far.sip)
    const { status } = await call.outcome
    // Before it drains, it answers: such a call would keep it for the whole drain.
    if (status === 200) await call.hangup()
    return status === 503 ? true : null
  })
  const second = await other.call('9802', near.sip)
  second.say(tone(1000))
  await Promise.all([hears(near, first, 1000), hears(near, second, 440)])
  await first.hangup()
  await second.hangup()
  await stopped
  await Promise.all([one.close(), other.close()])
})

test.run()
