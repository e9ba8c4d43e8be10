import * as assert from 'uvu/assert'
import { languageRoutes } from '../../../control/organisation/language-routes.ts'
import { suite } from '../../harness.ts'
import { makeProduct } from '../conformance/product.ts'

const test = suite('control/organisation/language-routes')

type Shown = { id: string; prompts_spoken_by: string; spoken_by: string | null; understood_by: string | null }
const row = ({ id, prompts_spoken_by, spoken_by, understood_by }: Shown) => [
  id,
  prompts_spoken_by,
  spoken_by,
  understood_by,
]

test('GET /languages tells what is spoken and understood by what', async () => {
  const world = await makeProduct()
  const { status, body } = await world.ask('GET /v1/languages', { key: world.ours.keys.live })
  assert.is(status, 200)
  assert.equal(body.data.map(row), [
    ['en', 'flite', 'flite', 'moonshine'],
    ...['he', 'es', 'fr', 'de', 'pt', 'it'].map(id => [id, 'espeak-ng', null, null]),
  ])
  await world.close()
})

test('a configured provider speaks and understands every language', async () => {
  const config = {
    ttsUrl: 'https://voices.example/v1',
    ttsModel: 'v',
    sttUrl: 'https://ears.example/v1',
    sttModel: 'e',
  }
  const [route] = languageRoutes({ config })
  const { data } = (await route!.handler({ livemode: true } as never, { query: {} } as never)) as { data: Shown[] }
  assert.equal(data.map(row).slice(0, 2), [
    ['en', 'flite', 'v', 'e'],
    ['he', 'espeak-ng', 'v', 'e'],
  ])
})

test.run()
