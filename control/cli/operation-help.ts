import { type Field, type Operation, parametersOf } from './operations.ts'

/** Width of a line [characters]. */
const WIDTH = 100
const INDENT = '      '

export const usageOf = (operation: Operation): string =>
  ['tandem', ...operation.words, ...parametersOf(operation).map(name => name.toUpperCase())].join(' ')

/** Help of an operation: its purpose, and its parameters with types and meaning, from the API's description. */
export function operationHelp(operation: Operation): string {
  const { summary, query, body, file } = operation
  const fields = [...query, ...body].map(field => helpOf(field, field.name === file))
  return `${summary}\n\n  ${usageOf(operation)}\n${fields.join('')}`
}

/** The operations of a noun, with a line for each. */
export const commandsHelp = (operations: readonly Operation[]): string =>
  operations.map(operation => `  ${usageOf(operation)}\n${INDENT}${operation.summary}\n`).join('')

function helpOf({ name, isRequired, values, meaning }: Field, isFile: boolean): string {
  const kind = isFile ? 'the path of a file' : values
  const head = `  --${name}${kind === '' ? '' : `  ${kind}`}${isRequired ? ', required' : ''}\n`
  return head + wrapped(isFile ? '' : meaning)
}

/** Wraps a text between words. */
function wrapped(text: string): string {
  const lines: string[] = []
  for (const word of text.split(/\s+/).filter(one => one !== '')) {
    const last = lines.at(-1)
    if (last === undefined || INDENT.length + last.length + 1 + word.length > WIDTH) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.map(line => `${INDENT}${line}\n`).join('')
}
