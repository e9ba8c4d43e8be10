import type { ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import * as assert from 'uvu/assert'
import { GUIDES } from '../../../../control/http/pages/guides.ts'
import { suite } from '../../../harness.ts'
import { until } from '../../calls-world.ts'
import { makeWholeApp } from '../../whole-app.ts'

const test = suite('control/http/pages/docs')
const { app, close } = await makeWholeApp()

const page = async (host: string): Promise<string> => (await app.inject({ url: '/docs', headers: { host } })).payload

test('the page names the address by which its reader knows us, everywhere', async () => {
  for (const host of ['one.example:8443', 'two.example']) {
    const text = await page(host)
    assert.ok(text.includes(`Base address <code>http://${host}/v1</code>`))
    assert.ok(text.includes(`curl http://${host}/v1/calls `))
    assert.not(text.includes('base.invalid'))
  }
  assert.not((await page('"><script>alert(1)</script>')).includes('<script>alert'))
})

test('the page is put together once, whoever asks: that stops the process for 0.1 s, and needs no key', async () => {
  await page('one.example')
  const [guide] = GUIDES
  const { title } = guide!
  let reads = 0
  Object.defineProperty(guide, 'title', {
    get: () => {
      reads++
      return title
    },
  })
  for (const host of ['one.example', 'three.example', '']) await page(host)
  Object.defineProperty(guide, 'title', { value: title })
  assert.is(reads, 0)
})

test('who reads slowly, whatever it calls us, holds no copy of the page', async () => {
  const answers: ServerResponse[] = []
  app.server.on('request', (_request, response) => answers.push(response))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const reader = connect(port, '127.0.0.1').pause()
  for (let n = 0; n < 6; n++) reader.write(`GET /docs HTTP/1.1\r\nHost: h${n}.example\r\n\r\n`)
  await until(() => answers.length === 6 && answers.every(({ headersSent }) => headersSent))
  const held = answers.reduce((sum, { writableLength }) => sum + writableLength, 0)
  assert.ok(held < 2_000_000, `${held} bytes`)
  reader.destroy()
})

test.after(close)
test.run()
