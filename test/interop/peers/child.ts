import type { ChildProcess } from 'node:child_process'

const children = new Set<ChildProcess>()

/** Makes sure that a peer does not outlive the test process. */
export function childOfTest(child: ChildProcess): void {
  children.add(child)
  child.once('exit', () => children.delete(child))
}

process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})
