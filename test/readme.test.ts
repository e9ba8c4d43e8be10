import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { configHelp } from '../control/kernel/config/read.ts'
import { suite } from './harness.ts'

const test = suite('README')
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

test('every variable of the configuration contract is listed', () => {
  const variables = configHelp().flatMap(line => line.match(/TANDEM_[A-Z_]+/)?.[0] ?? [])
  assert.ok(variables.length > 10)
  assert.equal(
    variables.filter(variable => !readme.includes(`\`${variable}\``)),
    [],
  )
})

test('every npm script is one word and listed', () => {
  const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    scripts: Record<string, string>
  }
  for (const name of Object.keys(scripts)) {
    assert.match(name, /^[a-z]+$/)
    assert.ok(readme.includes(`| \`${name}\` |`), name)
  }
})

test('the key that curl uses is exported under the name that the tandem command reads', () => {
  assert.match(readme, /^ *export TANDEM_API_KEY=/m)
  assert.match(readme, /Authorization: Bearer \$TANDEM_API_KEY/)
  assert.not.match(readme, /\bexport KEY=|Bearer \$KEY\b/)
})

test.run()
