import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { findSourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Counts which of our source files have a function executed while something is done. */
export class Executed {
  readonly #session = new Session()

  async begin(): Promise<void> {
    this.#session.connect()
    await this.#session.post('Profiler.enable')
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  }

  /** The files of these folders, by path, of which a function was executed while `run` was. */
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

/** The files whose functions begin at these places of a script: the test command bundles many files into one. */
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
