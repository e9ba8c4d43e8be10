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

const OF_CALLS = `
  create table notes (id text primary key, organisation_id text, call_id text, plain text, state text);
  create index notes_of_calls on notes (call_id);
`
const OF_CALL = 'select * from "notes" where "organisation_id" = ? and "notes"."call_id" = ? and "state" != ? limit 1'
/** IDs as the product makes them: later ones are larger. */
const idOf = (kind: string, n: number): string => `${kind}_${String(n).padStart(26, '0')}`
const [ORGANISATION, FIRST, SECOND, THIRD] = [idOf('org', 1), idOf('call', 1), idOf('call', 2), idOf('call', 3)]

test('of an ID that is larger than all of its kind in an indexed column nothing is asked', () => {
  const { database, run, rows, hits } = open(OF_CALLS)
  const note = (id: string, callId: string) =>
    run('insert into "notes" ("id", "organisation_id", "call_id") values (?, ?, ?)', id, ORGANISATION, callId)
  note('a', FIRST)
  // One of another kind, and one that is larger than any.
  note('b', idOf('part', 1))
  note('c', 'zzz')
  assert.equal(rows(OF_CALL, ORGANISATION, SECOND, 'gone'), [])
  assert.equal(rows(OF_CALL, ORGANISATION, THIRD, 'gone'), [])
  assert.is(hits(), 2)
  assert.is(database.rowWith('notes', { organisation_id: ORGANISATION, call_id: THIRD }), null)
  assert.ok(database.isAbsent('notes', { call_id: THIRD }))
  for (const [column, value] of [
    ['call_id', FIRST],
    ['call_id', 'call_2'],
    ['call_id', 'zzz'],
    ['organisation_id', idOf('org', 2)],
    ['plain', THIRD],
  ] as const) {
    assert.not(database.isAbsent('notes', { [column]: value }), `${column} ${value}`)
  }
  note('d', THIRD)
  run('update "notes" set "state" = ? where "id" = ?', 'here', 'd')
  assert.equal(
    rows(OF_CALL, ORGANISATION, THIRD, 'gone').map(row => (row as { id: string }).id),
    ['d'],
  )
  assert.not(database.isAbsent('notes', { call_id: SECOND }), 'a smaller one may be there')
})

test('what another connection, a rolled back transaction or an open one writes counts for new IDs too', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const file = join(folder, 'notes.db')
  const [sqlite, other] = [new BetterSqlite3(file), new BetterSqlite3(file)]
  for (const one of [sqlite, other]) one.pragma('journal_mode = WAL')
  sqlite.exec(OF_CALLS)
  const database = new PreparedStatements(sqlite)
  const isAbsent = () => database.isAbsent('notes', { call_id: SECOND })
  assert.ok(isAbsent())
  other.exec(`insert into notes (id, call_id) values ('a', '${SECOND}')`)
  assert.not(isAbsent())
  other.exec('delete from notes')
  const write = () => database.prepare('insert into "notes" ("id", "call_id") values (?, ?)').run(['b', SECOND])
  database.prepare('begin').run([])
  write()
  assert.not(isAbsent(), 'written by the open transaction')
  database.prepare('rollback').run([])
  assert.equal(database.prepare('select * from "notes" where "call_id" = ?').all([SECOND]), [])
  write()
  assert.not(isAbsent())
  database.close()
  other.close()
  rmSync(folder, { recursive: true })
})

test('one question asks SQLite once whether others have written, and the next one asks again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tandem-test-'))
  const file = join(folder, 'things.db')
  const other = new BetterSqlite3(file)
  other.pragma('journal_mode = WAL')
  other.exec(TABLES)
  const asked: unknown[] = []
  const sqlite = new BetterSqlite3(file, { verbose: text => asked.push(text) })
  const database = new PreparedStatements(sqlite)
  const versions = () => asked.splice(0).filter(text => text === 'pragma data_version').length
  const read = () => [database.rowWith('things', { id: 'a' }), database.prepare(BY_ID).all(['a'])]
  database.prepare(BY_ID).all(['a'])
  versions()
  assert.equal(read(), [undefined, []])
  assert.is(versions(), 2, 'a question each')
  other.exec(`insert into things (id, name) values ('a', 'theirs')`)
  const row = { id: 'a', name: 'theirs', tally: 0 }
  assert.equal(read(), [undefined, [row]])
  assert.equal(read(), [row, [row]])
  assert.is(versions(), 4)
  other.exec(`update things set name = 'theirs again'`)
  assert.equal(read(), [undefined, [{ ...row, name: 'theirs again' }]])
  database.close()
  other.close()
  rmSync(folder, { recursive: true })
})

test('a row that was read is not read again, and is as it was written', () => {
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

test('a row whose key is known is not read again for what is written to others, or to it by its key', () => {
  const { run, rows, hits } = open()
  const insert = 'insert into "things" ("id", "name", "tally") values (?, ?, ?), (?, ?, ?)'
  assert.equal(rows(BY_ID, 'a'), [])
  run(insert, 'a', 'one', 1, 'b', 'two', 2)
  const first = { id: 'a', name: 'one', tally: 1 }
  assert.equal(rows(BY_ID, 'a'), [first], 'as it was written')
  run('update "things" set "name" = ? where "tally" >= ? and "things"."id" = ?', 'other', 0, 'b')
  assert.equal(rows(BY_ID, 'a'), [first])
  run('update "things" set "name" = ?, "tally" = ? where "name" in (?, ?) and "id" = ?', 'new', 5, 'x', 'one', 'a')
  assert.equal(rows(BY_ID, 'a'), [{ id: 'a', name: 'new', tally: 5 }])
  assert.equal(rows('select "tally", "id" from "things" where "name" = ? and "id" = ? limit 1', 'new', 'a'), [
    { tally: 5, id: 'a' },
  ])
  assert.equal(rows(BY_ID, 'b'), [{ id: 'b', name: 'other', tally: 2 }])
  assert.is(hits(), 5)
  assert.equal(rows('select * from "things" where "name" = ? and "id" = ?', 'one', 'a'), [])
  run('update "things" set "name" = ? where "name" = ? and "id" = ?', 'late', 'one', 'a')
  assert.equal(rows(BY_ID, 'a'), [{ id: 'a', name: 'new', tally: 5 }], 'an update that found nothing')
})

test('a row in memory is told by its key without a query, and only as it is now', () => {
  const { database, run, rows } = open()
  const insert = 'insert into "things" ("id", "name", "tally") values (?, ?, ?)'
  assert.is(database.rowWith('things', { id: 'a' }), undefined, 'nobody has asked for it')
  assert.equal(rows(BY_ID, 'a'), [])
  run(insert, 'a', 'one', 1)
  const statements = () => database.counters.statements
  const before = statements()
  const first = { id: 'a', name: 'one', tally: 1 }
  assert.equal(database.rowWith('things', { id: 'a', tally: 1 }), first)
  database.rowWith('things', { id: 'a' })!.name = 'its reader changes it'
  assert.equal(database.rowWith('things', { id: 'a' }), first)
  assert.is(database.rowWith('things', { id: 'a', tally: 2 }), null, 'another has the key')
  assert.is(database.rowWith('things', { id: 'a', tally: '1' }), undefined, 'a text that equals a number is for SQLite')
  assert.is(database.rowWith('things', { name: 'one' }), undefined)
  assert.is(statements(), before)
  run('update "things" set "name" = \'all\'')
  assert.is(database.rowWith('things', { id: 'a' }), undefined)
})

test('a row is read again after what does not say which rows it writes, or what a column makes something else of', () => {
  const { run, rows, hits } = open()
  run('insert into things (id, name) values (?, ?)', 'a', 'one')
  const name = () => (rows(BY_ID, 'a')[0] as { name: string }).name
  assert.is(name(), 'one')
  for (const [sql, ...given] of [
    ['update "things" set "name" = \'all\''],
    ['update "things" set "name" = ? where "id" = ? or "tally" = ?', 'either', 'x', 0],
    ['update "things" set "name" = "name" || ? where "id" = ?', '+', 'a'],
    ['update "things" set "name" = ? where "id" = ?', 12, 'a'],
    ['update "things" set "name" = ? where "id" = ?', 'half \ud800', 'a'],
    [
      'insert into "things" ("id", "name", "tally") values (?, ?, ?) on conflict ("id") do update set "name" = ?',
      'a',
      '',
      1,
      'up',
    ],
    ['insert or replace into "things" ("id", "name", "tally") values (?, ?, ?)', 'a', 'replaced', 1],
  ] as [string, ...unknown[]][]) {
    run(sql, ...given)
    const isText = rows('select typeof("name") as "t", "name" from "things" where "id" = ?', 'a')[0] as { name: string }
    assert.is(name(), isText.name, sql)
  }
  assert.is(hits(), 0)
})

test('what is deleted from a table that no other hangs on is forgotten there alone', () => {
  const { run, rows, hits } = open()
  run('insert into things (id, name) values (?, ?)', 'a', 'one')
  run('insert into others (id) values (?)', 'o')
  rows(BY_ID, 'a')
  assert.is(rows('select * from "others" where "id" = ?', 'o').length, 1)
  run('delete from others where id = ?', 'o')
  assert.equal(rows('select * from "others" where "id" = ?', 'o'), [])
  rows(BY_ID, 'a')
  assert.is(hits(), 1)
})

test('an answer from several tables is kept until one of them is written to', () => {
  const { run, rows, hits } = open()
  const joined =
    'select "others"."id" from "others" inner join "things" as "t" on "t"."id" = "others"."thing" where "t"."name" = ?'
  run('insert into things (id, name) values (?, ?)', 'a', 'one')
  run('insert into others (id, thing) values (?, ?)', 'o', 'a')
  for (let n = 0; n < 2; n++) assert.equal(rows(joined, 'one'), [{ id: 'o' }])
  assert.is(hits(), 1)
  run('update things set name = ? where id = ?', 'two', 'a')
  assert.equal(rows(joined, 'one'), [])
  run('insert into others (id, thing) values (?, ?)', 'p', 'a')
  assert.equal(rows(joined, 'two'), [{ id: 'o' }, { id: 'p' }])
  assert.is(hits(), 1)
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

test('lists, texts of many characters, and queries that say more than tables and parameters are not kept', () => {
  const { run, rows, hits } = open()
  run('insert into things (id, name) values (?, ?)', 'long', 'x'.repeat(10_000))
  for (let n = 0; n < 5; n++) run('insert into things (id, name) values (?, ?)', `t${n}`, 'same')
  for (let n = 0; n < 2; n++) {
    assert.is(rows(BY_ID, 'long').length, 1)
    assert.is(rows('select * from "things" where "name" = ?', 'same').length, 5)
    assert.is(rows('select *, abs("tally") from "things" where "id" = ? or "id" = ?', 't1', 't2').length, 2)
    assert.is(rows('select * from "things" where "tally" >= ? and "id" = ?', 0, 't1').length, 1)
    assert.is(rows('select "a"."id" from "things" as "a", "others" where "a"."id" = ?', 't1').length, 0)
  }
  assert.is(hits(), 0)
})

test.run()
