import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { findSourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Finds which of our source files execute a function while something runs. */
export class Executed {
  readonly #session = new Session()

  async begin(): Promise<void> {
    this.#session.connect()
    await this.#session.post('Profiler.enable')
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  }

  /** Paths of the files in these folders that executed a function during `run`. */
  async files(folders: readonly string[], run: () => Promise<unknown>): Promise<string[]> {
    await this.#session.post('Profiler.takePreciseCoverage')
    await run()
    const { result } = await this.#session.post('Profiler.takePreciseCoverage')
    const found = new Set<string>()
    for (const { url, functions } of result) {
      if (!url.startsWith('file:')) continue
      const offsets = functions.flatMap(({ ranges: [range] }) => (range && range.count > 0 ? [range.startOffset] : []))
      for (const path of sourcesOf(url, offsets)) {
        if (folders.some(folder => path.startsWith(`${root}${folder}/`))) found.add(path)
      }
    }
    return [...found].map(path => path.slice(root.length)).sort()
  }

  end(): void {
    this.#session.disconnect()
  }
}

/** The source files of functions that begin at these offsets of a script, since the test command bundles many files into one. */
function sourcesOf(url: string, offsets: readonly number[]): string[] {
  if (offsets.length === 0) return []
  const path = fileURLToPath(url)
  const map = path.endsWith('.ts') ? undefined : findSourceMap(path)
  if (map === undefined) return [path]
  const starts = [0]
  for (const { index } of readFileSync(path, 'utf8').matchAll(/\n/g)) starts.push(index + 1)
  return offsets.flatMap(offset => {
    const line = starts.findLastIndex(start => start <= offset)
    const entry = map.findEntry(line, offset - starts[line]!)
    return 'originalSource' in entry ? [fileURLToPath(new URL(entry.originalSource, url))] : []
  })
}
