import type { ChildProcess } from 'node:child_process'

const children = new Set<ChildProcess>()

/** A peer that must not outlive the test that started it. */
export function childOfTest(child: ChildProcess): void {
  children.add(child)
  child.once('exit', () => children.delete(child))
}

process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})
