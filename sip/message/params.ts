const QUOTE = 0x22
const BACKSLASH = 0x5c
const SEMICOLON = 0x3b
const TOKEN = /^[A-Za-z0-9\-.!%*_+`'~]+$/

/** The index after the quoted string that starts at `start`, or -1 if it is never closed. */
export function endOfQuoted(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === BACKSLASH) i++
    else if (c === QUOTE) return i + 1
  }
  return -1
}

/** Removes the quotes and backslashes of a quoted string; other text is returned unchanged. */
export function unquote(text: string): string {
  if (text.length < 2 || text.charCodeAt(0) !== QUOTE || text.charCodeAt(text.length - 1) !== QUOTE) return text
  const inner = text.slice(1, -1)
  return inner.includes('\\') ? inner.replace(/\\([\s\S])/g, '$1') : inner
}

export const quote = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&')}"`

export const isToken = (text: string): boolean => TOKEN.test(text)

/** The end of the parameter that starts at `start`: the next `;` outside quotes, or the end of the text. */
function endOfParam(params: string, start: number): number {
  for (let i = start; i < params.length; i++) {
    const c = params.charCodeAt(i)
    if (c === SEMICOLON) return i
    if (c === QUOTE) {
      const after = endOfQuoted(params, i)
      if (after < 0) return params.length
      i = after - 1
    }
  }
  return params.length
}

/**
 * The value of one parameter in `;a=1;b;c="x"` as written: null if absent, empty for a flag. Names are compared without
 * regard to case.
 */
export function paramValue(params: string, name: string): string | null {
  let start = params.indexOf(';') + 1
  while (start > 0 && start <= params.length) {
    const end = endOfParam(params, start)
    const equals = params.indexOf('=', start)
    const nameEnd = equals < 0 || equals > end ? end : equals
    const key = params.slice(start, nameEnd).trim()
    if (key.length === name.length && key.toLowerCase() === name) {
      return nameEnd === end ? '' : params.slice(nameEnd + 1, end).trim()
    }
    start = end + 1
  }
  return null
}

/** Whether the text is empty or a run of `;name` and `;name=value` with no empty parameter and every quote closed. */
export function validParams(params: string): boolean {
  const text = params.trim()
  if (text === '') return true
  if (text.charCodeAt(0) !== SEMICOLON) return false
  let start = 1
  while (start <= text.length) {
    const end = endOfParam(text, start)
    const param = text.slice(start, end)
    const equals = param.indexOf('=')
    const name = (equals < 0 ? param : param.slice(0, equals)).trim()
    if (!isToken(name) || (equals >= 0 && !validValue(param.slice(equals + 1).trim()))) return false
    start = end + 1
  }
  return true
}

function validValue(value: string): boolean {
  if (value.charCodeAt(0) === QUOTE) return endOfQuoted(value, 0) === value.length
  return !/["\s,<>]/.test(value)
}

/** Splits a header value at the commas that stand outside quotes and angle brackets; empty elements are dropped. */
export function splitList(value: string): string[] {
  if (!value.includes(',')) {
    const only = value.trim()
    return only === '' ? [] : [only]
  }
  const out: string[] = []
  for (let start = 0; start <= value.length; ) {
    const end = endOfElement(value, start)
    const element = value.slice(start, end).trim()
    if (element !== '') out.push(element)
    start = end + 1
  }
  return out
}

/** The index of the first comma outside quotes and angle brackets from `start` on, or the end of the text. */
export function endOfElement(value: string, start: number): number {
  let angle = false
  for (let i = start; i < value.length; i++) {
    const c = value[i]
    if (c === '"' && !angle) {
      const after = endOfQuoted(value, i)
      if (after < 0) return value.length
      i = after - 1
    } else if (c === '<') angle = true
    else if (c === '>') angle = false
    else if (c === ',' && !angle) return i
  }
  return value.length
}
