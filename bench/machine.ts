import { execFileSync } from 'node:child_process'
import { cpus, release, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'

/** The machine, on which figures depend. */
export interface Machine {
  cores: number
  cpu: string
  memoryGb: number
  node: string
  kernel: string
}

export const thisMachine = (): Machine => ({
  cores: cpus().length,
  cpu: cpus()[0]?.model.trim() ?? 'unknown',
  memoryGb: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  kernel: `${process.platform} ${release().split('-')[0]}`,
})

/** The commit of the working tree, with `+` if the product or the bench has uncommitted changes. */
export function thisCommit(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: fileURLToPath(new URL('..', import.meta.url)), encoding: 'utf8' }).trim()
  try {
    const isChanged = git('status', '--porcelain', '--', 'media', 'codecs', 'sip', 'control', 'bench') !== ''
    return git('rev-parse', '--short=10', 'HEAD') + (isChanged ? '+' : '')
  } catch {
    return 'unknown'
  }
}
