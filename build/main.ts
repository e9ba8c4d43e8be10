/**
 * Makes `dist/`: our modules as a few files, for a process that loads them one by one takes twice as long to begin. Not minified:
 * a stack trace names functions, and the comment above each module says where it comes from.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type OutputFile } from 'esbuild'
import { BUNDLES, ENTRIES, packages } from './parts.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')

/** A product may be starting from there at this moment: what has not changed is not touched. */
function write({ path, contents }: OutputFile): void {
  try {
    if (readFileSync(path).equals(contents)) return
  } catch {
    // It is new.
  }
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, contents)
}

function removeOthers(kept: Set<string>): void {
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !kept.has(path)) rmSync(path)
  }
}

const { outputFiles } = await build({
  ...BUNDLES,
  entryPoints: ENTRIES.map(entry => join(root, `${entry}.ts`)),
  outbase: root,
  outdir: dist,
  chunkNames: 'shared/[name]-[hash]',
  plugins: [packages],
  write: false,
})
for (const file of outputFiles) write(file)
removeOthers(new Set(outputFiles.map(({ path }) => path)))
