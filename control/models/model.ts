/** A line of a call, as a model gets to see it. */
export interface ModelLine {
  role: 'assistant' | 'customer'
  text: string
}

/** Why a model has not answered. */
export interface ModelFailure {
  failure: 'unavailable' | 'timeout' | 'bad_answer'
  message: string
}

export const isModelFailure = (value: object): value is ModelFailure => 'failure' in value
