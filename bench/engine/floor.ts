import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import koffi from 'koffi'

/** Path of `floor.c`, which the bundler defines: the bundle lies in another folder. */
declare const FLOOR_SOURCE: string

/** The yardstick in this thread, so that it is measured by the same clock as the engine, and in alternation with it. */
export class Floor {
  readonly slot: (slot: number) => void
  readonly close: () => void

  /** Throws if there is no C compiler. */
  constructor(legs: number, roomSize: number, firstPort: number) {
    const directory = mkdtempSync(join(tmpdir(), 'tandem-floor-'))
    try {
      const library = join(directory, 'floor.so')
      execFileSync('cc', ['-O3', '-march=native', '-shared', '-fPIC', '-o', library, FLOOR_SOURCE])
      const loaded = koffi.load(library)
      if (loaded.func('int floor_open(int, int, int)')(legs, roomSize, firstPort) !== 0) {
        throw new Error('the yardstick finds no free ports')
      }
      this.slot = loaded.func('void floor_slot(int)')
      this.close = loaded.func('void floor_close()')
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
}
