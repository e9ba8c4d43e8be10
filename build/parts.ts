/** What the bundles of `dist/` begin with, and what goes into them. */
import { isBuiltin } from 'node:module'
import type { BuildOptions, Plugin } from 'esbuild'

/** What is started as a process or a thread of its own: modules, their paths below the root without extension. */
export const ENTRIES = [
  'control/wiring/cli',
  'control/wiring/main',
  'control/audio/convert-worker',
  'control/kernel/store/checkpoint-worker',
  'control/kernel/store/reader-worker',
  'control/calls/capture/form-worker',
  'media/main',
  'media/engine/engine-thread',
  'media/engine/clip-worker',
  'media/recordings/recording-worker',
  'media/speech/speech-process',
  'media/speech/flite-worker',
  'media/speech/moonshine-worker',
]

/** Those whose start is worth a code cache: they export `main`, which starts them. */
export const CACHED = ['control/wiring/main']

/** Packages with machine code, WebAssembly, data or threads of their own beside them: loaded from where they lie. */
const WITH_FILES =
  /^(@echogarden|@moonshine-ai|@sapphi-red|better-sqlite3|esbuild|koffi|libopus-wasm|llama-tokenizer-js|onnxruntime-web|pdfkit|pino-pretty|tsx)(\/|$)/
/** What a package asks for and does without. */
const OPTIONAL = /^(bufferutil|pg-cloudflare|pg-native|utf-8-validate)$/

/** Packages are loaded from where they lie, but for those whose path fits; and so is what is loaded when it is needed: bundled, a package in CommonJS would have no names. */
const bundling = (isBundled: (path: string) => boolean): Plugin => ({
  name: 'packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || (kind !== 'dynamic-import' && isBundled(path) && !isBuiltin(path))
        ? undefined
        : { path, external: true },
    )
  },
})

/** The product's: a process that looks packages up file by file takes half as long again to begin. `npm start` builds anew, so that `npm update` reaches them. */
export const packages = bundling(path => !WITH_FILES.test(path) && !OPTIONAL.test(path))

/** The tests': a process runs many files, so that only packages of hundreds of modules are worth it. */
export const largePackages = bundling(path => /^(kysely|typebox)(\/|$)/.test(path))

const COMMON = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
} as const satisfies BuildOptions

/** How modules become bundles, those of the product and those of the tests. */
export const BUNDLES = {
  ...COMMON,
  splitting: true,
  format: 'esm',
  // Packages in CommonJS ask for Node's own modules by `require`.
  banner: {
    js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
  },
} as const satisfies BuildOptions

/** How a module and all that it imports become a script, to which V8 can be given a code cache. */
export const SCRIPTS = {
  ...COMMON,
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  // In a script with a code cache Node 20 does not know how to load what `import()` names: it becomes `require`.
  supported: { 'dynamic-import': false },
  define: { 'import.meta.url': 'importMeta.url', 'import.meta.resolve': 'importMeta.resolve' },
  banner: {
    js: "const { pathToFileURL: toUrl } = require('node:url'); const importMeta = { url: toUrl(__filename).href, resolve: name => toUrl(require.resolve(name)).href };",
  },
} as const satisfies BuildOptions
