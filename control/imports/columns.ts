import type { ImportTarget } from './target.ts'

/** A column name in our spelling: `Phone number` is `phone_number`. */
const folded = (name: string): string => name.trim().toLowerCase().replaceAll(/[ -]/g, '_')

/** Maps columns of the file to columns of the target: as requested, otherwise by name, ignoring case. */
export class Columns {
  readonly #target: Pick<ImportTarget, 'columns'>
  readonly #byName: ReadonlyMap<string, string>
  readonly #mapping: Readonly<Record<string, string>>

  constructor(target: Pick<ImportTarget, 'columns'>, mapping: Readonly<Record<string, string>>) {
    this.#target = target
    this.#mapping = mapping
    this.#byName = new Map(Object.entries(mapping).map(([column, name]) => [name, column]))
  }

  /** The target's column; undefined: none. */
  of(name: string): string | undefined {
    const mapped = this.#byName.get(name)
    if (mapped !== undefined) return mapped
    const column = folded(name)
    return Object.hasOwn(this.#target.columns, column) && !Object.hasOwn(this.#mapping, column) ? column : undefined
  }

  /** Splits a record's cells into those of the target's columns and others. */
  split(cells: Readonly<Record<string, string>>): { own: Record<string, string>; others: Record<string, string> } {
    const own: Record<string, string> = Object.create(null)
    const others: Record<string, string> = Object.create(null)
    for (const [name, text] of Object.entries(cells)) {
      const column = this.of(name)
      if (column === undefined) others[name] = text
      else own[column] = text
    }
    return { own, others }
  }

  /** The required columns that a file with these columns lacks. */
  lackingIn(names: readonly string[]): string[] {
    const there = new Set(names.map(name => this.of(name)))
    return Object.entries(this.#target.columns).flatMap(([column, { isRequired }]) =>
      isRequired === true && !there.has(column) ? [column] : [],
    )
  }
}
