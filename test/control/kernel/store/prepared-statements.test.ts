import BetterSqlite3 from 'better-sqlite3'
import * as assert from 'uvu/assert'
import { PreparedStatements } from '../../../../control/kernel/store/prepared-statements.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/kernel/store/prepared-statements')

function open() {
  const sqlite = new BetterSqlite3(':memory:')
  sqlite.exec('create table things (id integer primary key, name text)')
  return { database: new PreparedStatements(sqlite) }
}

test('the same text is compiled once, and answers what is true now', () => {
  const { database } = open()
  const all = 'select * from things order by id'
  const insert = 'insert into things (name) values (?)'
  assert.equal(database.prepare(all).all([]), [])
  database.prepare(insert).run(['a'])
  assert.equal(database.prepare(all).all([]), [{ id: 1, name: 'a' }])
  assert.is(database.prepare(all), database.prepare(all))
  database.close()
})

test('rows have the columns of their statement, whatever these are called', () => {
  const { database } = open()
  database.prepare('insert into things (name) values (?), (?)').run(['a', null])
  const odd = database.prepare(`select id as "it's", name as "\\ ""quoted""", 1 as constructor from things order by id`)
  const rows = [
    { "it's": 1, '\\ "quoted"': 'a', constructor: 1 },
    { "it's": 2, '\\ "quoted"': null, constructor: 1 },
  ]
  assert.equal(odd.all([]), rows)
  assert.equal([...odd.iterate([])], rows)
  const returning = database.prepare('insert into things (name) values (?) returning id, name')
  assert.equal(returning.all(['c']), [{ id: 3, name: 'c' }])
  database.close()
})

test('a statement that failed is none the worse for it', () => {
  const { database } = open()
  const insert = 'insert into things (id, name) values (?, ?)'
  database.prepare(insert).run([1, 'a'])
  assert.throws(() => database.prepare(insert).run([1, 'b']), /UNIQUE/)
  database.prepare(insert).run([2, 'b'])
  assert.equal(database.prepare('select count(*) as n from things').all([]), [{ n: 2 }])
  database.close()
})

test('at most 500 are kept, those used last', () => {
  const { database } = open()
  const first = database.prepare('select 0')
  const second = database.prepare('select 1')
  for (let n = 2; n < 500; n++) database.prepare(`select ${n}`)
  assert.is(database.prepare('select 0'), first)
  database.prepare('select 500')
  assert.is(database.prepare('select 0'), first)
  assert.is.not(database.prepare('select 1'), second, 'it was the one that was not used for longest')
  database.close()
})

test('after the tables have changed nothing of before is used', () => {
  const { database } = open()
  const before = database.prepare('select * from things')
  database.prepare('alter table things add column size integer').run([])
  database.prepare('insert into things (name, size) values (?, ?)').run(['a', 1])
  assert.is.not(database.prepare('select * from things'), before)
  assert.equal(database.prepare('select * from things').all([]), [{ id: 1, name: 'a', size: 1 }])
  database.close()
})

test.run()
