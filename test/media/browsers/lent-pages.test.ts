import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import * as assert from 'uvu/assert'
import WebSocket, { WebSocketServer } from 'ws'
import type { Browser } from '../../../media/browsers/browser.ts'
import { LentPages } from '../../../media/browsers/lent-pages.ts'
import { suite } from '../../harness.ts'

const test = suite('media/browsers/lent-pages')

test('what a page says to a node that stands still is dropped, and does not pile up', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const link = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const [[still]] = await Promise.all([once(server, 'connection'), once(link, 'open')])
  ;(still as WebSocket).pause()
  const socket = { send: () => {}, buffered: () => 0 }
  const page = { phone: null, format: 'mulaw_8000', accountSid: 'org_1', at: { host: '127.0.0.1' }, socket }
  const counters = { lentFramesDropped: 0 }
  const lent = new LentPages(counters)
  lent.lend(page as unknown as Browser, 'part_1', link)
  const text = JSON.stringify({ event: 'media', media: { payload: 'A'.repeat(1000) } })
  for (let sent = 0; sent < 20_000; sent++) lent.said(page as unknown as Browser, { event: 'media' } as never, text)
  assert.ok(link.bufferedAmount < 64 * 1024, `${link.bufferedAmount} bytes wait`)
  assert.ok(counters.lentFramesDropped > 0, 'and counted')
  link.terminate()
  server.close()
})

test.run()
