import type { LookupAddress } from 'node:dns'
import * as assert from 'uvu/assert'
import { allowedLookup, type Resolve, shared } from '../../../media/kernel/allowed-lookup.ts'
import { suite } from '../../harness.ts'

const test = suite('media/kernel/allowed-lookup')

const [OPEN, PRIVATE] = ['8.8.8.8', '10.0.0.1'].map(address => ({ address, family: 4 })) as [
  LookupAddress,
  LookupAddress,
]

/** A name server that answers when it is told to. */
function slowServer() {
  const asked: [string, Parameters<Resolve>[1]][] = []
  const lookup = allowedLookup(
    { publicOnly: true, allowed: [] },
    shared((name, done) => void asked.push([name, done])),
  )
  const heard: string[] = []
  const ask = (name: string) =>
    lookup(name, { all: true }, (error, found) => heard.push(`${name} ${error?.message ?? JSON.stringify(found)}`))
  return { asked, heard, ask }
}

test('many who want the address of one name ask for it once, and all get the answer; afterwards it is asked for again', () => {
  const { asked, heard, ask } = slowServer()
  for (const name of ['a.example', 'a.example', 'b.example', 'a.example']) ask(name)
  assert.equal(
    asked.map(([name]) => name),
    ['a.example', 'b.example'],
  )
  asked[0]![1](new Error('silent'), [])
  assert.equal(heard, Array(3).fill('a.example silent'))
  ask('a.example')
  asked[2]![1](null, [PRIVATE, OPEN])
  assert.is(heard.at(-1), `a.example ${JSON.stringify([OPEN])}`)
})

test.run()
