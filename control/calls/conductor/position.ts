import { type Place, rowBy, run } from '../../kernel/store/compiled.ts'
import type { Db, Trx } from '../../kernel/store/store.ts'

/** One media process per node. */
const nameFor = (node: string): string => `media_position:${node}`

/** How far the media process's events are committed. */
export interface Position {
  bootId: string | null
  lastSeq: number
}

export async function readPosition(db: Db, node: string): Promise<Position> {
  const row = await rowBy(db, 'settings', { name: nameFor(node) })
  return row === undefined ? { bootId: null, lastSeq: 0 } : (JSON.parse(row.value) as Position)
}

/** Belongs in the transaction of the changes that the event causes. */
export async function savePosition(trx: Trx, node: string, position: Position): Promise<void> {
  const values = { name: nameFor(node), value: JSON.stringify(position) }
  const build = (place: Place) =>
    trx
      .updateTable('settings')
      .set({ value: place('value') })
      .where('name', '=', place('name'))
  const { numAffectedRows } = await run(trx, 'save position', build, values)
  if (numAffectedRows === 0n) await trx.insertInto('settings').values(values).execute()
}

/** Writes the position again unchanged, to test whether the database can be written. */
export async function rewritePosition(trx: Trx, node: string): Promise<void> {
  await trx
    .updateTable('settings')
    .set(({ ref }) => ({ value: ref('value') }))
    .where('name', '=', nameFor(node))
    .execute()
}
