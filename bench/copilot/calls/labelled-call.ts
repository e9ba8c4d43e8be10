/** A sentence and what an attentive listener makes of it by the profile: nothing, or labels, `KIND:KEY`, of a field `field:KEY=VALUE`. */
export type Line = string | readonly [text: string, ...labels: string[]]

/** A few sentences of one party, one after the other. `over`: begins while the other one still speaks. */
export interface Turn {
  party: 'agent' | 'customer'
  lines: readonly Line[]
  over?: boolean
}

/** How a recorded call sounds. */
export interface Sound {
  /** Of flite, or of eSpeak NG. */
  voices: { agent: string; customer: string }
  /** Active levels [dBov]. */
  levels: { agent: number; customer: number }
  /** On the customer's line [dBov]. */
  noise: { kind: 'white' | 'car' | 'fan' | 'babble'; levelDb: number }
}

export interface LabelledCall {
  name: string
  /** Of `PROFILES`. */
  profile: string
  turns: readonly Turn[]
  /** Absent: text alone. */
  sound?: Sound
}

/** One half of what the copilot is measured by: profiles as teams may have them, and calls. */
export interface Half {
  name: 'seen' | 'held'
  profiles: Readonly<Record<string, object>>
  calls: readonly LabelledCall[]
}

export const agent = (...lines: Line[]): Turn => ({ party: 'agent', lines })
export const customer = (...lines: Line[]): Turn => ({ party: 'customer', lines })
export const over = (turn: Turn): Turn => ({ ...turn, over: true })

export const textOf = (line: Line): string => (typeof line === 'string' ? line : line[0])
/** `{year}` and `{tomorrow}` stand for what they are on the day of the call. */
export const labelsOf = (line: Line, today: Date): string[] =>
  typeof line === 'string'
    ? []
    : line
        .slice(1)
        .map(label =>
          label
            .replace('{year}', String(today.getUTCFullYear()))
            .replace('{tomorrow}', new Date(today.getTime() + 86_400_000).toISOString().slice(0, 10)),
        )
