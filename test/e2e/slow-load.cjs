/** Loaded first into all processes of a product (`--require`): what they make of WebAssembly is there two seconds late, as on a busy machine. */
const { instantiate } = WebAssembly

WebAssembly.instantiate = async (...args) => {
  await new Promise(later => setTimeout(later, 2000))
  return instantiate(...args)
}
