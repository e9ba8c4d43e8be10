import * as assert from 'uvu/assert'
import { GUIDES } from '../../../../control/http/pages/guides.ts'
import { suite } from '../../../harness.ts'
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

test.after(close)
test.run()
