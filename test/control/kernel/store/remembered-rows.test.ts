import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import * as assert from 'uvu/assert'
import { PreparedStatements } from '../../../../control/kernel/store/prepared-statements.ts'
import { suite } from '../../../harness.ts'

const test = suite('control/kernel/store/remembered-rows')

const BY_ID = 'select * from "things" where "things"."id" = ?'
const TABLES = `
  create table things (id text primary key, name text, tally integer not null default 0);
  create table others (id text primary key, thing text references things (id) on delete cascade);
`

function open(sql = TABLES) {
  const sqlite = new BetterSqlite3(':memory:')
  sqlite.pragma('foreign_keys = ON')
  sqlite.exec(sql)
  const database = new PreparedStatements(sqlite)
  const run = (text: string, ...parameters: unknown[]) => database.prepare(text).run(parameters)
  const rows = (text: string, ...parameters: unknown[]) => database.prepare(text).all(parameters)
  const hits = () => database.counters.remembered
  return { database, run, rows, hits }
}

test('a row that was read is not read again until its table is written to, and then it is as it was written', () => {
  const { run, rows, hits } = open()
  run('insert into things (id, name) values (?, ?)', 'a', 'one')
  const first = { id: 'a', name: 'one', tally: 0 }
  assert.equal(rows(BY_ID, 'a'), [first])
  assert.equal(rows(BY_ID, 'a'), [first])
  assert.is(hits(), 1)
  assert.equal(rows(BY_ID, 'b'), [], 'what is not there is remembered too')
  assert.equal(rows(BY_ID, 'b'), [])
  assert.is(hits(), 2)
  run('update things set name = ? where id = ?', 'two', 'a')
  assert.equal(rows(BY_ID, 'a'), [{ ...first, name: 'two' }])
  run('insert into things (id, name) values (?, ?)', 'b', 'here')
  assert.equal(rows(BY_ID, 'b'), [{ id: 'b', name: 'here', tally: 0 }])
  assert.is(hits(), 2)
})

test('who changes an answer changes nobody else’s', () => {
  const { run, rows } = open()
  run('insert into things (id, name) values (?, ?)', 'a', 'one')
  for (let n = 0; n < 3; n++) {
    const [row] = rows(BY_ID, 'a') as { name: string }[]
    assert.is(row!.name, 'one')
    row!.name = 'changed by its reader'
  }
})

test('a write to another table, and one that changes no row, forget nothing', () => {
  const { run, rows, hits } = open()
  run('insert into things (id, name) values (?, ?)', 'a', 'one')
  rows(BY_ID, 'a')
  run('insert into others (id) values (?)', 'o')
  run('update things set name = ? where id = ?', 'x', 'nobody')
  assert.equal(rows('update things set name = ? where id = ? returning id', 'x', 'nobody'), [])
  rows(BY_ID, 'a')
  assert.is(hits(), 1)
})

test('what a transaction has read of its own writes is forgotten when it is rolled back', () => {
  const { run, rows } = open()
  run('insert into things (id, name) values (?, ?)', 'a', 'one')
  run('begin')
  run('update things set name = ? where id = ?', 'two', 'a')
  assert.is((rows(BY_ID, 'a')[0] as { name: string }).name, 'two')
  run('rollback')
  assert.is((rows(BY_ID, 'a')[0] as { name: string }).name, 'one')
})

test('what is deleted along with another row is gone', () => {
  const { run, rows } = open()
  run('insert into things (id, name) values (?, ?)', 'a', 'one')
  run('insert into others (id, thing) values (?, ?)', 'o', 'a')
  assert.is(rows('select * from "others" where "id" = ?', 'o').length, 1)
  run('delete from things where id = ?', 'a')
  assert.equal(rows('select * from "others" where "id" = ?', 'o'), [])
})

test('a table that triggers write to is read each time', () => {
  const { run, rows, hits } = open(
    `${TABLES} create trigger counting after insert on others begin update things set tally = tally + 1; end;`,
  )
  run('insert into things (id, name) values (?, ?)', 'a', 'one')
  for (let n = 0; n < 3; n++) {
    assert.is((rows(BY_ID, 'a')[0] as { tally: number }).tally, n)
    run('insert into others (id) values (?)', `o${n}`)
  }
  assert.is(hits(), 0)
})

test('new columns are seen', () => {
  const { run, rows } = open()
  run('insert into things (id, name) values (?, ?)', 'a', 'one')
  rows(BY_ID, 'a')
  run('alter table things add column colour text')
  assert.is((rows(BY_ID, 'a')[0] as { colour: null }).colour, null)
})

test('what another process has written is seen', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tandem-rows-'))
  const file = join(directory, 'db')
  const [ours, theirs] = [new BetterSqlite3(file), new BetterSqlite3(file)]
  ours.pragma('journal_mode = WAL')
  ours.exec(TABLES)
  theirs.prepare('insert into things (id, name) values (?, ?)').run('a', 'one')
  const database = new PreparedStatements(ours)
  const name = () => (database.prepare(BY_ID).all(['a'])[0] as { name: string }).name
  assert.is(name(), 'one')
  theirs.prepare('update things set name = ?').run('two')
  assert.is(name(), 'two')
  assert.is(name(), 'two')
  assert.is(database.counters.remembered, 1)
  database.close()
  theirs.close()
  rmSync(directory, { recursive: true })
})

test('lists, texts of many characters and other queries are not kept', () => {
  const { run, rows, hits } = open()
  run('insert into things (id, name) values (?, ?)', 'long', 'x'.repeat(10_000))
  for (let n = 0; n < 5; n++) run('insert into things (id, name) values (?, ?)', `t${n}`, 'same')
  for (let n = 0; n < 2; n++) {
    assert.is(rows(BY_ID, 'long').length, 1)
    assert.is(rows('select * from "things" where "name" = ?', 'same').length, 5)
    assert.is(rows('select * from "things" where "id" = ? or "id" = ?', 't1', 't2').length, 2)
  }
  assert.is(hits(), 0)
})

test.run()
