import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import { type WebSocket, WebSocketServer } from 'ws'
import { PageLinks } from '../../../media/browsers/page-links.ts'
import { suite } from '../../harness.ts'

const test = suite('media/browsers/page-links')
const ASKED = { browserId: 'brw_1', legId: 'part_1' }

test('a page is asked for by nodes with the same secret alone, and within half a minute', () => {
  let now = 1_000_000
  const linksOf = (secret: string) => new PageLinks({ secret, now: () => now })
  const [ours, theirs, others] = [linksOf('one'), linksOf('one'), linksOf('another')]
  const token = theirs.tokenFor(ASKED)
  assert.equal(ours.asked(token), ASKED)
  assert.is(others.asked(token), null)
  const [said, signature] = token.split('.') as [string, string]
  const forged = Buffer.from(Buffer.from(said, 'base64url').toString().replace('brw_1', 'brw_2')).toString('base64url')
  for (const wrong of ['', '.', said, `${forged}.${signature}`, `${said}.${signature}x`])
    assert.is(ours.asked(wrong), null, wrong)
  now += 30_001
  assert.is(ours.asked(token), null)
})

test('a node that is not there has no page, and says so by itself', async () => {
  const links = new PageLinks({ secret: 'one', now: Date.now })
  assert.is(await links.open('127.0.0.1:1', ASKED), 'gone')
})

/** A node's call WebSocket: what has come over its links, and the links. `greeting`: what it says at first; null: nothing. */
async function nodeThatSays(greeting: string | null) {
  const [links, said]: [WebSocket[], string[]] = [[], []]
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  server.on('connection', link => {
    links.push(link)
    link.on('message', data => said.push(String(data)))
    if (greeting !== null) link.send(greeting)
  })
  await once(server, 'listening')
  return { server, links, said, node: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

test('a node that opens a link and then says nothing has no page, and the link is closed', async () => {
  const { server, links, node } = await nodeThatSays(null)
  const opening = new PageLinks({ secret: 'one', now: Date.now }).open(node, ASKED)
  await once(server, 'connection')
  const closed = once(links[0]!, 'close')
  assert.is(await opening, 'gone')
  await closed
  server.close()
})

test('a page of another node is told things in order, over one link, and another one once that is closed', async () => {
  const { server, links, said, node } = await nodeThatSays('{}')
  const ours = new PageLinks({ secret: 'one', now: Date.now })
  const tell = (text: string) => ours.tell(node, 'brw_1', Buffer.from(text))
  assert.equal(await Promise.all([tell('one'), tell('two'), tell('three')]), [true, true, true])
  assert.equal([said, links.length], [['one', 'two', 'three'], 1])
  links[0]!.close()
  while (await tell('late')) await new Promise(resolve => setImmediate(resolve))
  assert.is(await tell('again'), true)
  assert.is(links.length, 2)
  for (const link of links) link.terminate()
  server.close()
})

test('what is told to a page that has just gone, or whose node stands still or dies, was not told', async () => {
  const ours = new PageLinks({ secret: 'one', now: Date.now })
  const fates: [string, (link: WebSocket) => void][] = [
    ['gone', link => link.once('message', () => link.close(1000))],
    ['dead', link => link.once('message', () => link.terminate())],
    ['still', link => link.pause()],
  ]
  for (const [fate, befalls] of fates) {
    const { server, links, node } = await nodeThatSays('{}')
    const tell = (text: string) => ours.tell(node, 'brw_1', Buffer.from(text))
    assert.is(await tell('one'), true)
    befalls(links[0]!)
    assert.equal(await Promise.all([tell('two'), tell('three')]), [false, false], fate)
    for (const link of links) link.terminate()
    server.close()
  }
})

test('a page that is not there is told nothing', async () => {
  const links = new PageLinks({ secret: 'one', now: Date.now })
  assert.is(await links.tell('127.0.0.1:1', 'brw_1', Buffer.from('one')), false)
})

test.run()
