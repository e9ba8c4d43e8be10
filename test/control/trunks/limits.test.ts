import * as assert from 'uvu/assert'
import { suite } from '../../harness.ts'
import { APP_CONFIG, makeWholeApp } from '../whole-app.ts'

const test = suite('control/trunks/limits')

const COLLECTIONS: Record<string, (n: number) => object> = {
  connections: () => ({ name: 'Trunk', kind: 'trunk', host: '192.0.2.50' }),
  phone_numbers: n => ({ number: `+1500555010${n}` }),
  inbound_routes: n => ({ match: { to: `10${n}` }, target: { type: 'echo' } }),
  queues: n => ({ name: `Queue ${n}` }),
}

for (const [name, bodyOf] of Object.entries(COLLECTIONS)) {
  test(`an organisation has at most its number of ${name} in each mode; another one has its own`, async () => {
    const app = await makeWholeApp({ config: { ...APP_CONFIG, maxObjects: 2 } })
    const line = `POST /v1/${name}`
    const made = []
    // A number is released with a test key only.
    for (let n = 0; n < 3; n++) made.push(await app.test(line, bodyOf(n)))
    assert.equal(
      made.map(({ status }) => status),
      [201, 201, 403],
    )
    const { type, code } = made[2]!.body.error
    assert.equal([type, code], ['permission_error', 'object_limit'])
    assert.is((await app.live(line, bodyOf(3))).status, 201)
    assert.is((await app.test(line, bodyOf(4), { key: app.theirs.keys.test })).status, 201)
    assert.is((await app.test(`DELETE /v1/${name}/${made[0]!.body.id}`)).status, 200)
    assert.is((await app.test(line, bodyOf(5))).status, 201)
  })
}

test.run()
