/** TypeScript knows WebAssembly only with the browser's library: the part of it that Node has and we use. */
declare namespace WebAssembly {
  interface Memory {
    readonly buffer: ArrayBuffer
  }
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module, imports?: Record<string, Record<string, (...args: never[]) => number>>)
    readonly exports: Record<string, unknown>
  }
}
