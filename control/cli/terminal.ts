/** A command's interface to its environment. */
export interface Terminal {
  out(text: string | Uint8Array): void
  err(line: string): void
  env: Readonly<Record<string, string | undefined>>
  /** Ctrl-C. */
  signal: AbortSignal
  /** Reads standard input to its end. */
  input(): Promise<string>
}

/** Why a command was not carried out, in a line that says what to change. */
export interface Failed {
  error: string
}

export const failed = (error: string): Failed => ({ error })

export const isFailed = (value: unknown): value is Failed =>
  typeof value === 'object' && value !== null && 'error' in value && typeof value.error === 'string'

/** Prints the error; returns the exit code. */
export function refuse(terminal: Terminal, { error }: Failed): number {
  terminal.err(error)
  return 1
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** Text from strangers, such as a caller's name, without control characters for the terminal, or such that turn around the rest of the line. */
export const plain = (text: string): string => text.replace(CONTROLS, '·')

/** Prints a text; returns the exit code. */
export function print({ out }: Terminal, text: string): number {
  out(text)
  return 0
}
