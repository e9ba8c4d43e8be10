/** A sentence and the labels that the profile calls for: `KIND:KEY`, or for a field `field:KEY=VALUE`. */
type Line = string | readonly [text: string, ...labels: string[]]

/** Successive sentences of one party. `over`: begins while the other party still speaks. */
interface Turn {
  party: 'agent' | 'customer'
  lines: readonly Line[]
  over?: boolean
}

/** How a recorded call sounds. */
export interface Sound {
  /** Voices of flite or eSpeak NG. */
  voices: { agent: string; customer: string }
  /** Active speech levels [dBov]. */
  levels: { agent: number; customer: number }
  /** Noise on the customer's line [dBov]. */
  noise: { kind: 'white' | 'car' | 'fan' | 'babble'; levelDb: number }
}

export interface LabelledCall {
  name: string
  /** Name of one of the half's `profiles`. */
  profile: string
  turns: readonly Turn[]
  /** Absent: the call exists only as text. */
  sound?: Sound
}

/** One half of the labelled calls, with profiles as teams may have them. */
export interface Half {
  name: 'seen' | 'held'
  profiles: Readonly<Record<string, object>>
  calls: readonly LabelledCall[]
}

export const agent = (...lines: Line[]): Turn => ({ party: 'agent', lines })
export const customer = (...lines: Line[]): Turn => ({ party: 'customer', lines })
export const over = (turn: Turn): Turn => ({ ...turn, over: true })

export const textOf = (line: Line): string => (typeof line === 'string' ? line : line[0])
/** The labels of a line, with `{year}` and `{tomorrow}` replaced for the day of the call. */
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
