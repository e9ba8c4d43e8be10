/**
 * Makes `dist/`: our modules as a few files, for a process that loads them one by one takes twice as long to begin. Not minified:
 * a stack trace names functions, and the comment above each module says where it comes from.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type OutputFile } from 'esbuild'
import { BUNDLES, CACHED, ENTRIES, packages, SCRIPTS } from './parts.ts'

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

/** Code caches stay with their script. */
function removeOthers(kept: Set<string>): void {
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const owner = path.replace(/(\.cjs)\.\w+\.cache$/, '$1')
    if (entry.isFile() && !kept.has(owner)) rmSync(path)
  }
}

/** What is to be written. */
const files: OutputFile[] = []

/** Without those that have a code cache. */
const plain = ENTRIES.filter(name => !CACHED.includes(name))
const { outputFiles } = await build({
  ...BUNDLES,
  entryPoints: plain.map(name => join(root, `${name}.ts`)),
  outbase: root,
  outdir: dist,
  chunkNames: 'shared/[name]-[hash]',
  plugins: [packages],
  write: false,
})
files.push(...outputFiles)

for (const name of CACHED) {
  const { outputFiles } = await build({
    ...SCRIPTS,
    entryPoints: [join(root, `${name}.ts`)],
    entryNames: '[name]-[hash]',
    outdir: dirname(join(dist, name)),
    plugins: [packages],
    write: false,
  })
  const { path } = outputFiles.find(({ path }) => path.endsWith('.cjs'))!
  const launcher = await build({
    ...BUNDLES,
    splitting: false,
    entryPoints: [join(root, 'build/launch.ts')],
    define: { SCRIPT: JSON.stringify(basename(path)) },
    outfile: join(dist, `${name}.js`),
    write: false,
  })
  files.push(...outputFiles, ...launcher.outputFiles)
}
for (const file of files) write(file)
removeOthers(new Set(files.map(({ path }) => path)))
