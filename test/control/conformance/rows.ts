import type { Store } from '../../../control/store.ts'

/** Every row of every table as text, by table; a log of requests tells of refused and repeated ones too, and is left out. */
export async function allRows({ db }: Store): Promise<Map<string, string>> {
  const all = new Map<string, string>()
  for (const { name } of await db.introspection.getTables()) {
    if (name === 'request_logs') continue
    const rows = await db
      .selectFrom(name as 'events')
      .selectAll()
      .execute()
    all.set(name, JSON.stringify(rows))
  }
  return all
}

/** The tables whose rows are not the same. */
export const changedTables = (before: Map<string, string>, after: Map<string, string>): string[] =>
  [...after.keys()].filter(table => before.get(table) !== after.get(table))
