import type { ImportTarget } from './target.ts'

/** `Phone number` as a column of ours has it. */
const folded = (name: string): string => name.trim().toLowerCase().replaceAll(/[ -]/g, '_')

/** Which column of the target a column of the file is: as it is mapped, else by its own name, whatever its case. */
export class Columns {
  readonly #target: Pick<ImportTarget, 'columns'>
  readonly #byName: ReadonlyMap<string, string>
  readonly #mapping: Readonly<Record<string, string>>

  constructor(target: Pick<ImportTarget, 'columns'>, mapping: Readonly<Record<string, string>>) {
    this.#target = target
    this.#mapping = mapping
    this.#byName = new Map(Object.entries(mapping).map(([column, name]) => [name, column]))
  }

  /** Undefined: none that it knows. */
  of(name: string): string | undefined {
    const mapped = this.#byName.get(name)
    if (mapped !== undefined) return mapped
    const column = folded(name)
    return Object.hasOwn(this.#target.columns, column) && !Object.hasOwn(this.#mapping, column) ? column : undefined
  }

  /** A record's cells by the target's columns, and those that it does not know. */
  split(cells: Readonly<Record<string, string>>): { own: Record<string, string>; others: Record<string, string> } {
    const own: Record<string, string> = {}
    const others: Record<string, string> = {}
    for (const [name, text] of Object.entries(cells)) {
      const column = this.of(name)
      if (column === undefined) others[name] = text
      else own[column] = text
    }
    return { own, others }
  }

  /** The columns that must be there and of which a file with these has none. */
  lackingIn(names: readonly string[]): string[] {
    const there = new Set(names.map(name => this.of(name)))
    return Object.entries(this.#target.columns).flatMap(([column, { isRequired }]) =>
      isRequired === true && !there.has(column) ? [column] : [],
    )
  }
}
