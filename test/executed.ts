import { Session } from 'node:inspector/promises'
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

  /** The files of this folder, by path, of which a function was executed while `run` was. */
  async files(folder: string, run: () => Promise<unknown>): Promise<string[]> {
    await this.#session.post('Profiler.takePreciseCoverage')
    await run()
    const { result } = await this.#session.post('Profiler.takePreciseCoverage')
    const found = result
      .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
      .map(({ url }) => (url.startsWith('file:') ? fileURLToPath(url) : url))
      .filter(path => path.startsWith(`${root}${folder}/`))
    return found.map(path => path.slice(root.length)).sort()
  }

  end(): void {
    this.#session.disconnect()
  }
}
